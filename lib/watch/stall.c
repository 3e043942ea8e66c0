/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds calls without progress, and describes in words for how long there was none and what they
 * wait for.
 *
 * A waiting rank checks for progress whenever it looks after its peers (ncoll__check()), about once
 * a millisecond. So short calls pay nothing. A rank that has waited for ASK_NS asks the ranks that
 * it waits for what they wait for themselves; it does so with the position that it tells them every
 * 40 ms (mismatch.c). A rank that waits as well answers with the rank that it waits for, and with
 * the last rank of the chain of waiting ranks, as far as it knows that chain. So after a few rounds
 * every rank of a chain knows the last rank of the chain: one that does not answer, since it is in
 * no call or is stopped.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/names.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/watch/failure.h"

#define ASK_NS 400000000u
/* Older answers than this are ignored: a rank that still waits has told anew what it waits for. */
#define FRESH_NS 2000000000u
/* A rank that has waited for this long for an answer says that the other rank does not answer. */
#define SILENT_NS (ASK_NS + 400000000u)

#define RANKS_NAMED 4u
/* The number of groups about which one check logs warnings. */
#define WARNINGS 4u

/* The events and ranks that the unfinished calls of a group wait for. */
struct waits {
    const struct call *call; /* the first of these calls; NULL: there is none */
    struct awaits first;     /* event that this call waits for; rank -1: it waits for no rank */
    bool connecting;         /* the first call waits for connections with `ranks` */
    int ranks[RANKS_NAMED];  /* world ranks, each once */
    unsigned n, more;        /* number of ranks in `ranks`, and of further ranks */
};

/* ------------------------------------------------------------------ finding ------------------- */

static void note_rank(struct waits *w, int rank)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->ranks[i] == rank)
            return;
    if (w->n < RANKS_NAMED)
        w->ranks[w->n++] = rank;
    else
        w->more++;
}

/* For a call that connects its peers: notes the ranks that are not connected yet. */
static void find_connecting(const struct ncoll_group *g, struct waits *w)
{
    const struct wiring *wiring = &g->wiring;
    struct transport *t = g->ctx->transport;

    w->connecting = wiring->state == WIRING_CONNECT && wiring->ranks != NULL;
    for (unsigned i = 0; w->connecting && i < wiring->n_peers; i++)
        if (t->ops->endpoint(t, wiring->ranks[i]) == NULL)
            note_rank(w, wiring->ranks[i]);
    if (w->n > 0)
        w->first.rank = w->ranks[0];
}

static struct waits find_waits(struct ncoll_group *g)
{
    struct waits w = {.call = g->starting != NULL ? g->starting : g->first, .first.rank = -1};
    bool any = false;

    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        struct run *run = run_of(g, e);
        struct awaits awaits;
        if (run->call == NULL)
            continue;
        w.call = any ? w.call : run->call;
        any = true;
        if (!ncoll__run_awaits(g, run, &awaits))
            continue;
        w.first = w.n == 0 ? awaits : w.first;
        note_rank(&w, awaits.rank);
    }
    if (!any)
        find_connecting(g, &w);
    return w;
}

/* ------------------------------------------------------------------ in words ------------------ */

static const char *thing(const struct waits *w)
{
    static const char *const things[] = {[AWAITS_MESSAGE] = "a message of",
                                         [AWAITS_CREDIT] = "permission to send to",
                                         [AWAITS_SHARED] = "a message to",
                                         [AWAITS_RETURN] = "its message to be read by"};

    return w->connecting ? "a connection with" : things[w->first.what];
}

/* Writes "rank 3", or "ranks 3, 5 and 2 more". */
static void name_ranks(const struct waits *w, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "rank%s", w->n + w->more > 1 ? "s" : "");

    for (unsigned i = 0; i < w->n && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s %d", i > 0 ? "," : "", w->ranks[i]);
    if (w->more > 0 && at < size)
        snprintf(text + at, size - at, " and %u more", w->more);
}

/* Writes the latest answer of a rank that the group waits for, as in ", which waits for rank 5"; or
 * an empty text. */
static void tell_of_rank(struct ncoll_group *g, int rank, char *text, size_t size)
{
    struct ncoll_context *ctx = g->ctx;
    const struct heard *heard = ncoll__last_heard(ctx, rank);
    uint64_t now_ns = ncoll__now_ns(ctx);
    char theirs[192];

    text[0] = '\0';
    if (heard == NULL || now_ns - heard->ns > FRESH_NS) {
        if (ctx->transport->ops->endpoint(ctx->transport, rank) != NULL &&
            g->stall.reminder.since_ns != 0 && now_ns - g->stall.reminder.since_ns > SILENT_NS)
            snprintf(text, size,
                     ", which does not answer: it waits in no call of ncoll, or is "
                     "stopped");
        return;
    }
    const struct question *q = &heard->position.question;
    if (heard->position.kind != POSITION_ANSWERS)
        snprintf(text, size, ", which waits for this rank in %s%s",
                 ncoll__signature_text(heard->position.signature, theirs, sizeof theirs),
                 heard->position.group == g->name ? "" : ", on another group");
    else if (q->rank < 0)
        snprintf(text, size, ", which waits for no other rank");
    else if (q->other < 0 || q->other == q->rank)
        snprintf(text, size, ", which waits for rank %d", q->rank);
    else
        snprintf(text, size,
                 ", which waits for rank %d; this chain of waiting ranks ends at rank %d", q->rank,
                 (int)q->other);
}

/* Writes the call, as in "allreduce of 8 double, sum (dissemination, n = 1)". */
static void name_call(const struct ncoll_group *g, const struct call *c, char *text, size_t size)
{
    bool connects = c == &g->wiring.exchange || c == &g->wiring.agree;
    const char *purpose = connects ? "connecting peers for " : "";
    char name[192];

    if (c->plan != NULL)
        snprintf(text, size, "%s%s", purpose,
                 ncoll__signature_text(c->plan->signature, name, sizeof name));
    else
        snprintf(text, size, "%s", ncoll__collective_name(c->args.collective));
}

int ncoll__stall_text(struct ncoll_group *g, char *text, size_t size)
{
    struct waits w = find_waits(g);
    uint64_t now_ns = ncoll__now_ns(g->ctx), since_ns = g->stall.reminder.since_ns;
    unsigned tenths = since_ns != 0 ? (unsigned)((now_ns - since_ns) / 100000000) : 0;
    char call[256] = "a call", ranks[96] = "", more[288] = "";

    if (w.call != NULL)
        name_call(g, w.call, call, sizeof call);
    if (w.n > 0) {
        name_ranks(&w, ranks, sizeof ranks);
        tell_of_rank(g, w.ranks[0], more, sizeof more);
    }
    snprintf(text, size, "%s, on %s %d ranks, has waited %u.%u s for %s %s%s", call,
             g->name == 0 ? "all" : "a group of", g->size, tenths / 10, tenths % 10,
             w.n > 0          ? thing(&w)
             : w.connecting   ? "its connections"
             : w.call != NULL ? "its own device, or for peers to answer"
                              : "nothing",
             ranks, more);
    return w.first.rank;
}

/* ------------------------------------------------------------------ questions ----------------- */

bool ncoll__is_stalled(const struct ncoll_group *g)
{
    const struct reminder *r = &g->stall.reminder;

    return r->since_ns != 0 && ncoll__now_ns(g->ctx) - r->since_ns >= ASK_NS;
}

/* Stores a position in place of an earlier one of the same rank, or else in place of the oldest
 * one. */
void ncoll__heard(struct ncoll_context *ctx, int rank, const struct position *position)
{
    struct heard *place = &ctx->heard[0];

    for (struct heard *h = ctx->heard; h < ctx->heard + HEARD; h++) {
        if (h->ns != 0 && h->rank == rank) {
            place = h;
            break;
        }
        place = h->ns < place->ns ? h : place;
    }
    *place = (struct heard){rank, ncoll__now_ns(ctx), *position};
}

const struct heard *ncoll__last_heard(const struct ncoll_context *ctx, int rank)
{
    for (const struct heard *h = ctx->heard; h < ctx->heard + HEARD; h++)
        if (h->ns != 0 && h->rank == rank)
            return h;
    return NULL;
}

/* Returns the last rank of the chain of waiting ranks that begins with `rank`, which this rank
 * waits for, as far as the chain is known. */
static int end_of_chain(struct ncoll_context *ctx, int rank)
{
    const struct heard *heard = ncoll__last_heard(ctx, rank);

    if (heard == NULL || heard->position.kind != POSITION_ANSWERS ||
        ncoll__now_ns(ctx) - heard->ns > FRESH_NS || heard->position.question.rank < 0)
        return rank;
    return heard->position.question.other >= 0 ? (int)heard->position.question.other
                                               : heard->position.question.rank;
}

void ncoll__answer(struct ncoll_context *ctx, int asker)
{
    struct transport *t = ctx->transport;
    struct endpoint *to = t->ops->endpoint(t, asker);
    struct position position = {.slot = NO_SLOT, .kind = POSITION_ANSWERS};
    struct ncoll_group *g = ctx->blocked_in;

    position.question = (struct question){.rank = -1, .other = -1};
    for (g = g != NULL ? g : ctx->busy; g != NULL; g = g->next_busy) {
        struct waits w = find_waits(g);
        if (w.call == NULL || w.first.rank < 0)
            continue;
        position.group = g->name;
        position.epoch = g->credits.finished + 1;
        position.signature = w.call->plan != NULL ? w.call->plan->signature : (struct signature){0};
        position.question.rank = w.first.rank;
        position.question.other = end_of_chain(ctx, w.first.rank);
        break;
    }
    if (to != NULL)
        to->by->ops->tell(to->by, to, &position);
}

/* ------------------------------------------------------------------ watching ------------------ */

/* True if `rank`, which this rank waits for, waits for a third rank. Then `rank` logs the warning
 * itself. */
static bool is_told_by_another(struct ncoll_context *ctx, int rank)
{
    const struct heard *heard = rank >= 0 ? ncoll__last_heard(ctx, rank) : NULL;

    return heard != NULL && heard->position.kind == POSITION_ANSWERS &&
           ncoll__now_ns(ctx) - heard->ns <= FRESH_NS && heard->position.question.rank >= 0 &&
           heard->position.question.rank != ctx->rank;
}

/* Logs a warning. If ranks wait for one rank through others, only rank 0 and the ranks that wait
 * for it directly warn; the others log the same as information. */
static void warn(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    char text[640];
    int rank = ncoll__stall_text(g, text, sizeof text);
    bool quiet = ctx->rank != 0 && is_told_by_another(ctx, rank);

    ncoll__log(ctx, quiet ? NCOLL_LOG_INFO : NCOLL_LOG_WARN, "%s", text);
}

void ncoll__watch_stalls(struct ncoll_context *ctx, uint64_t now_ns)
{
    unsigned stalled = 0;

    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy) {
        struct stall *s = &g->stall;
        uint64_t progress = ncoll__progress_of(g);
        if (g->first == NULL)
            s->reminder.since_ns = 0;
        else if (s->reminder.since_ns == 0 || s->progress != progress)
            *s = (struct stall){.progress = progress, .reminder.since_ns = now_ns};
        else if (ncoll__reminder_due(&s->reminder, now_ns, ctx->settings.stall_warn_ns) &&
                 ctx->failure.kind == CONTROL_NONE && stalled++ < WARNINGS)
            warn(g);
    }
    if (stalled > WARNINGS)
        ncoll__log(ctx, NCOLL_LOG_WARN, "%u more groups have waited as long", stalled - WARNINGS);
}

int ncoll__timed_out(struct ncoll_group *g, int64_t timeout_ns)
{
    struct ncoll_context *ctx = g->ctx;
    char text[sizeof ctx->error.cause];

    if (timeout_ns < LONG_WAIT_NS)
        return NCOLL_TIMEOUT;
    int rank = ncoll__stall_text(g, text, sizeof text);
    return ncoll__fail(ctx, BECAUSE(NCOLL_TIMEOUT, STALLED), rank, "ncoll_describe() tells more",
                       "%s", text);
}
