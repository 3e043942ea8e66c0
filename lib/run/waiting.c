/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/run/waiting.h"

#include "lib/base/group.h"
#include "lib/base/system.h"
#include "lib/base/trace.h"

/* It blocks for so many times what it was away for, and each time that it has tried too early for so
 * many times longer, up to a limit. */
#define HOLD        8u
#define HOLD_GROWS  4u
#define HOLD_MAX_NS UINT64_C(2000000000)
/* It has tried too early if it is away again within so many times what it was away for. */
#define TOO_EARLY 8u

/* A rank with a core of its own spins so long at most, before it yields and sleeps. */
#define SPIN_NS 100000
/* The same if it finds that its core is not its own alone: as long as blocking and being woken take.
 * A peer that has its core answers sooner; for another one the core is better left to the neighbour. */
#define SPIN_SHARED_NS 20000u

#define NS_PER_MS 1e6

/* One yield in so many is timed: to read the clock takes a tenth of a yield. */
#define TIMED_YIELD 8u
/* The longest a transport may give up the core between two looks. */
#define LOOK_NS 1000000

static void set(struct ncoll_context *ctx, bool blocks)
{
    struct waiting_mode *w = &ctx->waiting;

    w->blocks = blocks;
    w->looks = w->spins ? LOOKS_SPINS : blocks ? LOOKS_BLOCKS : LOOKS_YIELDS;
    w->passes = w->spins ? PASSES_SPINS : 1;
    w->spin_ns = (uint64_t)ctx->settings.spin_ns;
    if (blocks && w->spin_ns > SPIN_SHARED_NS)
        w->spin_ns = SPIN_SHARED_NS;
    if (ctx->transport->ops->blocks != NULL)
        ctx->transport->ops->blocks(ctx->transport, blocks);
}

void ncoll__waiting_begin(struct ncoll_context *ctx)
{
    struct waiting_mode *w = &ctx->waiting;

    w->adapts = ctx->settings.spin_ns < 0;
    if (w->adapts)
        ctx->settings.spin_ns = ctx->places.oversubscribed ? 0 : SPIN_NS;
    w->spins = ctx->settings.spin_ns > 0;
    set(ctx, false);
}

/* Says why the rank blocks from now on; the first time to those who want to know what the job runs
 * on. */
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

void ncoll__waiting_away(struct ncoll_context *ctx, uint64_t now_ns, uint64_t away_ns)
{
    struct waiting_mode *w = &ctx->waiting;

    if (!w->adapts || away_ns < ctx->transport->away_ns || ctx->transport->away_ns == 0)
        return;
    if (w->blocks) { /* the neighbour is still there */
        w->until_ns = now_ns + w->hold_ns;
        return;
    }
    bool early = w->tried_ns != 0 && now_ns - w->tried_ns < TOO_EARLY * (w->away_ns + away_ns);
    w->hold_ns = early ? HOLD_GROWS * w->hold_ns : HOLD * away_ns;
    w->hold_ns = w->hold_ns < HOLD_MAX_NS ? w->hold_ns : HOLD_MAX_NS;
    w->away_ns = away_ns;
    w->until_ns = now_ns + w->hold_ns;
    say_away(ctx, now_ns, away_ns);
    w->times++;
    set(ctx, true);
}

void ncoll__waiting_try(struct ncoll_context *ctx, uint64_t now_ns)
{
    struct waiting_mode *w = &ctx->waiting;

    if (!w->blocks || now_ns < w->until_ns)
        return;
    w->tried_ns = now_ns;
    w->yields = TIMED_YIELD - 1; /* the next one is timed */
    set(ctx, false);
}

bool ncoll__waiting_yield(struct ncoll_group *g, const struct awaited *awaited)
{
    struct ncoll_context *ctx = g->ctx;
    struct waiting_mode *w = &ctx->waiting;
    bool timed = w->adapts && ++w->yields % TIMED_YIELD == 0;
    uint64_t since_ns = timed ? ncoll__now_ns(ctx) : 0;

    ctx->transport->ops->wait(ctx->transport, g->window, awaited, 1, 0, LOOK_NS);
    if (timed) {
        uint64_t now_ns = ncoll__now_ns(ctx);
        ncoll__waiting_away(ctx, now_ns, now_ns - since_ns);
    }
    return !w->blocks;
}
