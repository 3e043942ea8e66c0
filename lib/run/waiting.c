/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/run/waiting.h"

#include "lib/base/system.h"
#include "lib/base/trace.h"

/* A rank blocks for HOLD times as long as it was away. Each time that it has tried its usual way
 * too early, it blocks HOLD_GROWS times longer than before, but at most for HOLD_MAX_NS. */
#define HOLD        8u
#define HOLD_GROWS  4u
#define HOLD_MAX_NS UINT64_C(2000000000)
/* A rank has tried its usual way too early if it has to block again within TOO_EARLY times the sum
 * of its absences then and now. */
#define TOO_EARLY 8u

/* The longest time for which a rank with a core of its own spins, before it yields and sleeps. */
#define SPIN_NS 100000
/* The longest time for which a rank that shares its core with a foreign process spins: as long as
 * blocking and being woken take. A peer that runs answers sooner. If the peer does not run, the
 * core is better left to the foreign process. */
#define SPIN_SHARED_NS 20000u

#define NS_PER_MS 1e6

/* After a long absence a rank measures each absence for this time. It blocks only if further long
 * absences take a good part of the time since the first one (WAITING_LOST_PART). */
#define SUSPECTS_FOR_NS UINT64_C(20000000)

/* The number of yields that are not timed, between two that are. Reading the clock twice takes a
 * tenth of the time of a yield. */
#define UNTIMED_YIELDS 31u

uint64_t ncoll__waiting_spin_ns(int64_t setting_ns, bool oversubscribed, bool blocks)
{
    uint64_t usual_ns = setting_ns >= 0 ? (uint64_t)setting_ns : oversubscribed ? 0 : SPIN_NS;

    return blocks && usual_ns > SPIN_SHARED_NS ? SPIN_SHARED_NS : usual_ns;
}

static void set(struct ncoll_context *ctx, bool blocks)
{
    struct waiting_mode *w = &ctx->waiting;

    w->blocks = blocks;
    w->looks = w->spins ? LOOKS_SPINS : blocks ? LOOKS_BLOCKS : LOOKS_YIELDS;
    w->passes = w->spins ? PASSES_SPINS : 1;
    w->spin_ns = ncoll__waiting_spin_ns(ctx->settings.spin_ns, ctx->places.oversubscribed, blocks);
    if (ctx->transport->ops->blocks != NULL)
        ctx->transport->ops->blocks(ctx->transport, blocks);
}

void ncoll__waiting_begin(struct ncoll_context *ctx)
{
    struct waiting_mode *w = &ctx->waiting;

    /* a clock of the user's may be too coarse to measure absences */
    w->adapts = ctx->settings.spin_ns < 0 && ctx->settings.clock_ns == NULL;
    ctx->settings.spin_ns =
        (int64_t)ncoll__waiting_spin_ns(ctx->settings.spin_ns, ctx->places.oversubscribed, false);
    w->spins = ctx->settings.spin_ns > 0;
    w->is_crowded = w->adapts && ctx->places.here >= WAITING_CROWDED;
    w->yields = w->adapts && ctx->places.here >= RANKS_MANY ? FEW_YIELDS : ROUND_BLOCKS;
    set(ctx, w->is_crowded);
}

/* Says in the log, and in the trace, why the rank blocks from now on. The first time is logged at
 * level INFO, for those who want to know what the job shares its cores with; later ones at
 * DEBUG. */
static void say_away(struct ncoll_context *ctx, uint64_t now_ns, uint64_t away_ns)
{
    const struct waiting_mode *w = &ctx->waiting;

    ncoll__log(
        ctx, w->times == 0 ? NCOLL_LOG_INFO : NCOLL_LOG_DEBUG,
        "this rank was away from its core for %.1f ms while it waited, as if another process "
        "computed there: it %s for %.0f ms",
        (double)away_ns / NS_PER_MS, w->spins ? "spins only shortly" : "blocks at once",
        (double)w->hold_ns / NS_PER_MS);
    if (ctx->trace != NULL)
        *ncoll__trace_add(ctx->trace) = (struct trace_event){
            .begin_ns = now_ns - away_ns, .end_ns = now_ns, .peer = -1, .kind = TRACE_AWAY};
}

/* Returns the time in ns for which other ranks have used this rank's processor since the last call;
 * 0 if it is not known. */
static uint64_t siblings_ns(const struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;

    return t->ops->siblings_ns != NULL ? t->ops->siblings_ns(t) : 0;
}

/* Begins to measure each absence. */
static void suspect(struct ncoll_context *ctx, uint64_t now_ns)
{
    struct waiting_mode *w = &ctx->waiting;

    w->suspects_ns = now_ns;
    w->lost_ns = w->siblings_ns = 0;
    if (!w->spins)
        siblings_ns(ctx);
    w->untimed = 0;
}

/*
 * True if the rank has been away for a good part of the time, and other ranks of the node have not
 * been the cause: they have used its processor for less than half of the absences. Ranks that share
 * cores may compute one after the other. A rank that spins has a core of its own, so it does not
 * ask.
 */
static bool is_foreign(struct ncoll_context *ctx, uint64_t now_ns)
{
    struct waiting_mode *w = &ctx->waiting;

    if (w->lost_ns < (now_ns - w->suspects_ns) / WAITING_LOST_PART)
        return false;
    w->siblings_ns += w->spins ? 0 : siblings_ns(ctx);
    return w->siblings_ns < w->lost_ns / 2;
}

static void begin_to_block(struct ncoll_context *ctx, uint64_t now_ns, uint64_t away_ns)
{
    struct waiting_mode *w = &ctx->waiting;
    bool early = w->tried_ns != 0 && now_ns - w->tried_ns < TOO_EARLY * (w->away_ns + away_ns);

    w->hold_ns = early ? HOLD_GROWS * w->hold_ns : HOLD * away_ns;
    w->hold_ns = w->hold_ns < HOLD_MAX_NS ? w->hold_ns : HOLD_MAX_NS;
    w->away_ns = away_ns;
    w->until_ns = now_ns + w->hold_ns;
    w->suspects_ns = 0;
    say_away(ctx, now_ns, away_ns);
    w->times++;
    set(ctx, true);
}

void ncoll__waiting_away(struct ncoll_context *ctx, uint64_t now_ns, uint64_t away_ns)
{
    struct waiting_mode *w = &ctx->waiting;
    bool is_long = away_ns >= ctx->transport->long_absence_ns;

    if (!w->adapts || w->is_crowded || ctx->transport->long_absence_ns == 0)
        return;
    if (w->suspects_ns != 0 && now_ns - w->suspects_ns > SUSPECTS_FOR_NS)
        w->suspects_ns = 0;
    if (!is_long)
        return;
    w->lost_ns += away_ns;
    if (w->blocks) /* the foreign process is still there */
        w->until_ns = now_ns + w->hold_ns;
    else if (w->suspects_ns != 0 && is_foreign(ctx, now_ns))
        begin_to_block(ctx, now_ns, away_ns);
    else if (w->suspects_ns == 0)
        suspect(ctx, now_ns);
}

void ncoll__waiting_try(struct ncoll_context *ctx, uint64_t now_ns)
{
    struct waiting_mode *w = &ctx->waiting;

    if (!w->blocks || w->is_crowded || now_ns < w->until_ns)
        return;
    w->tried_ns = now_ns;
    suspect(ctx, now_ns);
    set(ctx, false);
}

bool ncoll__waiting_yield_timed(struct ncoll_group *g, const struct awaited *awaited)
{
    struct ncoll_context *ctx = g->ctx;
    struct waiting_mode *w = &ctx->waiting;
    uint64_t since_ns = w->adapts ? ncoll__now_ns(ctx) : 0;

    ncoll__waiting_yield(g, awaited);
    if (w->adapts) {
        uint64_t now_ns = ncoll__now_ns(ctx);
        ncoll__waiting_away(ctx, now_ns, now_ns - since_ns);
    }
    w->untimed = w->suspects_ns != 0 ? 0 : UNTIMED_YIELDS;
    return !w->blocks;
}
