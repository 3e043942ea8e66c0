/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll_describe() writes what a rank is doing. A debugger may call it in a process that was
 * stopped at any instruction, perhaps in the middle of an update. So it reads only state that the
 * executor itself depends on, and checks what it finds before it follows a pointer (is_whole()); it
 * follows lists for a bounded number of steps; and it formats integers and strings with
 * vsnprintf(), which then neither locks nor allocates.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/signature.h"
#include "lib/base/names.h"
#include "lib/base/system.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/watch/failure.h"

#define LINE_BYTES   1024
#define GROUPS_READ  (2 * WINDOWS_MAX)
#define CALLS_SHOWN  8u
#define CALLS_READ   100000u
#define RANKS_SHOWN  16u
#define NS_PER_TENTH 100000000u

/* The destination of the text. */
struct sink {
    char *at; /* the end of the text in the caller's buffer; NULL: there is no buffer */
    size_t room;
    size_t length; /* length of the whole text */
    bool prints;   /* the text goes to standard error, in place of a buffer */
};

__attribute__((format(printf, 2, 3))) static void say(struct sink *s, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    s->length += len;
    if (s->prints && write(STDERR_FILENO, line, len) < 0)
        s->prints = false; /* there is nowhere to report this */
    if (s->at == NULL || s->room <= 1)
        return;
    size_t fits = len < s->room ? len : s->room - 1;
    memcpy(s->at, line, fits);
    s->at[fits] = '\0';
    s->at += fits;
    s->room -= fits;
}

/* ------------------------------------------------------------------ the job ------------------- */

static unsigned connected(const struct ncoll_context *ctx)
{
    unsigned n = 0;

    for (int r = 0; r < ctx->ranks; r++)
        n += r != ctx->rank && ctx->transport->ops->endpoint(ctx->transport, r) != NULL;
    return n;
}

static void describe_waiting(struct sink *s, const struct waiting_mode *w)
{
    say(s, "waiting: %s",
        !w->blocks ? w->spins ? "spins" : "yields its core"
        : w->spins ? "spins shortly, then blocks"
                   : "blocks at once");
    if (w->times > 0)
        say(s, "; it has begun to block %u times, last after %" PRIu64 " us away from its core",
            w->times, w->away_ns / 1000);
    say(s, "\n");
}

static void describe_job(struct sink *s, const struct ncoll_context *ctx)
{
    const struct transport *t = ctx->transport;

    say(s, "ncoll %s, process %d", ncoll_version(), (int)ctx->pid);
    if (ctx->bootstrap != NULL)
        say(s, ": rank %d of %d, bootstrap %s", ctx->rank, ctx->ranks, ctx->bootstrap->ops->name);
    if (t != NULL)
        say(s, ", transport %s (%s)%s%s, peers connected: %u", t->ops->name,
            t->wiring != NULL ? t->wiring : "", t->device[0] != '\0' ? ", device " : "", t->device,
            connected(ctx));
    say(s, "\n");
    if (t != NULL)
        describe_waiting(s, &ctx->waiting);
    if (ctx->magic == CONTEXT_NEW)
        say(s, "the context is being created: %s\n",
            ctx->bootstrap == NULL ? "the ranks have not found each other yet"
            : t == NULL            ? "the ranks exchange their places"
            : ctx->world == NULL   ? "the ranks exchange their addresses"
                                   : "the ranks are being connected");
}

/* The latest error may be that of a call which has been repeated successfully since. */
static void describe_failure(struct sink *s, const struct ncoll_context *ctx)
{
    ncoll_error words;

    if (ctx->failure.kind != CONTROL_NONE) {
        ncoll__failure_in_words(ctx, &words);
        say(s, "the job has failed: %s: %s; %s\n", ncoll_status_text(words.status), words.cause,
            words.remedy);
    } else {
        say(s, "the job has not failed\n");
    }
    if (ctx->suspect.pending)
        say(s, "rank %d seems to be gone: %s\n", ctx->suspect.rank, ctx->suspect.why);
    if (ctx->error.status != NCOLL_OK)
        say(s, "latest error: %s\n", ctx->error.text);
}

/* ------------------------------------------------------------------ runs ---------------------- */

static const char *name_of(const struct call *c, char *text, size_t size)
{
    return c->plan != NULL ? ncoll__signature_text(c->plan->signature, text, size)
                           : ncoll__collective_name(c->args.collective);
}

/* Counts of a run's messages. */
struct progress {
    unsigned sent, sends, received, receives;
};

static struct progress progress_of(const struct run *run)
{
    const struct program *p = run->program;
    struct progress progress = {0};

    for (unsigned n = 0; n < p->count; n++) {
        bool done = n < run->next;
        enum step_kind kind = p->instructions[n].kind;
        progress.sends += kind == STEP_PUT;
        progress.sent += kind == STEP_PUT && done;
        progress.receives += kind == STEP_WAIT;
        progress.received += kind == STEP_WAIT && done;
    }
    return progress;
}

/* Returns false if the process was stopped while the executor was starting the run. The fields of
 * the run then still belong to an earlier one, whose plan may have been freed. */
static bool is_whole(const struct run *run, const struct plan *plan, uint64_t epoch)
{
    const struct program *p = run->program;

    return run->epoch == epoch && p >= plan->programs && p < plan->programs + plan->n_programs &&
           run->next <= p->count && run->credits <= plan->n_senders;
}

static void describe_rank(struct sink *s, struct ncoll_context *ctx, int rank)
{
    const struct heard *heard = ncoll__last_heard(ctx, rank);
    char theirs[192];

    if (ctx->peers[rank].left)
        say(s, "        rank %d has destroyed its context\n", rank);
    if (heard == NULL) {
        say(s, "        rank %d has not told what it waits for\n", rank);
        return;
    }
    const struct position *p = &heard->position;
    unsigned tenths = (unsigned)((ncoll__now_ns(ctx) - heard->ns) / NS_PER_TENTH);
    say(s, "        rank %d said %u.%u s ago: ", rank, tenths / 10, tenths % 10);
    if (p->kind == POSITION_ANSWERS && p->question.rank < 0) {
        say(s, "it waits for no rank\n");
        return;
    }
    say(s, "it waits in epoch %llu", (unsigned long long)p->epoch);
    if (p->signature.what != 0)
        say(s, " (%s)", ncoll__signature_text(p->signature, theirs, sizeof theirs));
    if (p->kind != POSITION_ANSWERS)
        say(s, " for this rank\n");
    else if (p->question.other < 0 || p->question.other == p->question.rank)
        say(s, " for rank %d\n", p->question.rank);
    else
        say(s, " for rank %d, and that in the end for rank %d\n", p->question.rank,
            (int)p->question.other);
}

static void describe_run(struct sink *s, struct ncoll_group *g, struct run *run)
{
    static const char *const things[] = {
        [AWAITS_MESSAGE] = "a message of rank",
        [AWAITS_CREDIT] = "permission to send to rank",
        [AWAITS_SHARED] = "a message to rank",
        [AWAITS_RETURN] = "its message to be read by rank",
    };
    struct progress p = progress_of(run);
    struct awaits awaits;

    say(s, "      epoch %llu: step %u of %u, %u of %u messages sent, %u of %u received; ",
        (unsigned long long)run->epoch, run->next, run->program->count, p.sent, p.sends, p.received,
        p.receives);
    if (!ncoll__run_awaits(g, run, &awaits)) {
        say(s, "waits for no rank\n");
        return;
    }
    say(s, "waits for %s %d\n", things[awaits.what], awaits.rank);
    describe_rank(s, g->ctx, awaits.rank);
}

/* ------------------------------------------------------------------ groups -------------------- */

static void describe_wiring(struct sink *s, const struct ncoll_group *g)
{
    static const char *const states[] = {[WIRING_IDLE] = "",
                                         [WIRING_EXCHANGE] = "the ranks exchange their addresses",
                                         [WIRING_AGREE] =
                                             "the ranks agree on whether all have room",
                                         [WIRING_MEET] = "the ranks wait until all have accepted",
                                         [WIRING_CONNECT] = "the connections are being made",
                                         [WIRING_LOST] = "a peer was lost on the way"};
    const struct wiring *w = &g->wiring;
    struct transport *t = g->ctx->transport;
    unsigned n = 0;

    if (w->state == WIRING_IDLE)
        return;
    say(s, "      connecting %u peer%s: %s", w->n_peers, w->n_peers == 1 ? "" : "s",
        states[w->state]);
    for (unsigned i = 0; w->state == WIRING_CONNECT && w->ranks != NULL && i < w->n_peers; i++)
        if (t->ops->endpoint(t, w->ranks[i]) == NULL && n++ < RANKS_SHOWN)
            say(s, "%s %d", n == 1 ? "; not with rank" : ",", w->ranks[i]);
    if (n > RANKS_SHOWN)
        say(s, " and %u more", n - RANKS_SHOWN);
    say(s, "\n");
}

static void describe_call(struct sink *s, struct ncoll_group *g, const struct call *c)
{
    static const char *const states[] = {[CALL_NONE] = "not started",
                                         [CALL_QUEUED] = "queued",
                                         [CALL_WIRING] = "waits until its peers are connected",
                                         [CALL_RUNNING] = "running",
                                         [CALL_ENDED] = "ended"};
    bool own = c->args.purpose.what != 0 || c->args.internal;
    char name[192];

    say(s, "    %s%s: %s", name_of(c, name, sizeof name),
        c == &g->wiring.exchange || c == &g->wiring.agree ? ", connecting the peers for it"
        : own                                             ? ", a call of the library's own"
                                                          : "",
        states[c->state]);
    if (c->plan != NULL && c->plan->runs > 1)
        say(s, ", %llu of %llu %s finished", (unsigned long long)c->finished,
            (unsigned long long)c->plan->runs, c->plan->parts > 1 ? "parts" : "segments");
    say(s, "\n");
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call == c && c->plan != NULL && is_whole(run_of(g, e), c->plan, e))
            describe_run(s, g, run_of(g, e));
    if (c->state == CALL_WIRING)
        describe_wiring(s, g);
}

static void name_group(struct sink *s, const struct ncoll_group *g)
{
    if (g->name == 0) {
        say(s, "  world, %d ranks", g->size);
        return;
    }
    say(s, "  group of %d ranks (rank %d here; in the world", g->size, g->rank);
    for (unsigned r = 0; r < (unsigned)g->size && r < RANKS_SHOWN; r++)
        say(s, " %d", ncoll__world_rank(g, r));
    say(s, "%s)", (unsigned)g->size > RANKS_SHOWN ? " .." : "");
}

static void describe_group(struct sink *s, struct ncoll_group *g)
{
    uint64_t since_ns = g->stall.reminder.since_ns;
    unsigned n = 0;

    name_group(s, g);
    say(s, ": finished up to epoch %llu", (unsigned long long)g->credits.finished);
    if (since_ns != 0) {
        unsigned tenths = (unsigned)((ncoll__now_ns(g->ctx) - since_ns) / NS_PER_TENTH);
        say(s, "; no progress for %u.%u s", tenths / 10, tenths % 10);
    }
    say(s, "\n");
    for (const struct call *c = g->first; c != NULL && n < CALLS_READ; c = c->next)
        if (n++ < CALLS_SHOWN)
            describe_call(s, g, c);
    if (n > CALLS_SHOWN)
        say(s, "    and %u more calls, queued behind them\n", n - CALLS_SHOWN);
}

static void describe_groups(struct sink *s, const struct ncoll_context *ctx)
{
    unsigned idle = 0, read = 0;

    for (struct ncoll_group *g = ctx->groups; g != NULL && read++ < GROUPS_READ; g = g->next) {
        if (g->first != NULL && g->window != NULL)
            describe_group(s, g);
        else
            idle++;
    }
    if (idle == read)
        say(s, "no unfinished calls\n");
    else if (idle > 0)
        say(s, "  %u groups without unfinished calls\n", idle);
}

size_t ncoll_describe(const ncoll_context *ctx, char *buffer, size_t bytes)
{
    struct sink s = {
        .at = bytes > 0 ? buffer : NULL, .room = bytes, .prints = buffer == NULL && bytes > 0};

    if (s.at != NULL)
        s.at[0] = '\0';
    if (ctx == NULL || (ctx->magic != CONTEXT_MAGIC && ctx->magic != CONTEXT_NEW)) {
        say(&s, "ncoll: the context is NULL or not one of this library's\n");
        return s.length;
    }
    describe_job(&s, ctx);
    describe_failure(&s, ctx);
    if (ctx->transport != NULL)
        describe_groups(&s, ctx);
    return s.length;
}
