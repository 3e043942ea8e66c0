/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that block in calls on different groups, each of which waits for another one to come out of
 * its own: "edge chasing" (Chandy, Misra, Haas: Distributed Deadlock Detection, ACM TOCS 1983, the
 * resource model).
 *
 * A run waits for one thing at a time: a message, or a credit, of one rank. So whatever a rank
 * needs in order to get on is a path of runs,
 *
 *     a run of this rank - what it waits for, a run of that rank has to do
 *                          or a call has to, which the rank cannot make before another run is over
 *                        - what that waits for ..
 *
 * A rank that waits long asks along the path: it tells its position, and each rank that finds that
 * it cannot do what the teller waits for before a run of its own gets on tells that one's position
 * in its turn, on behalf of the first. If the question comes back to the run where it began, and
 * that is still at the same step, nobody on the path can ever get on.
 *
 * No rank is blamed wrongly, however late a question comes. When a rank looks, the teller is still
 * where it said, since it needs something that this rank has yet to do; this rank itself cannot
 * move before the next one does. So all that has been found on the way round holds when the first
 * rank sees that it has not moved, and holds for ever.
 *
 * A rank that looks at a neighbour's slot waits for whoever puts there, to whom it may not be
 * connected. It asks the neighbour, which waits for the same message: that asks the sender, as if
 * it stood there itself. If the neighbour has not come to the call, it holds up the teller as any
 * rank does, since schedules that share synchronise.
 *
 * A rank that waits until what it has lent has been fetched (lib/memory/lend.c) waits for its
 * receiver to come to the wait for that message.
 *
 * Of a ring of ranks it is enough that one finds it: each passes on questions of higher ranks only.
 * Those of ranks that wait for the ring, but are not in it, go round as well. A peer takes one
 * position at a time; so that these leave room for others a question is passed on once in a while
 * that is long enough for one of every rank.
 */
#include "lib/failure/failure.h"
#include "lib/internal.h"
#include "lib/memory/memory.h"

#define TURN_NS UINT64_C(100000000) /* how long a question may keep others waiting at one rank */

/* A run, of this rank, and what it waits for. */
struct waiting {
    struct ncoll_group *group;
    struct run *run;
};
static const struct waiting nobody;

/* In place of a slot of the teller's: that one of the told, at which the teller looks. */
#define LOOKS 0x80000000u
/* The same: that one of the told, from whose message the teller wants its memory back. */
#define LENDS_TO 0x40000000u
_Static_assert(SLOTS_MAX <= LENDS_TO && NO_SLOT > (LOOKS | SLOTS_MAX),
               "a slot, and bits of their own");

static struct ncoll_group *find_group(const struct ncoll_context *ctx, uint64_t name)
{
    struct ncoll_group *g = ctx->groups;

    while (g != NULL && g->name != name)
        g = g->next;
    return g;
}

/* The first run that is not over, of a call or of any: NULL. */
static struct waiting first_run(struct ncoll_group *g, const struct call *of)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        struct run *run = run_of(g, e);
        if (run->call != NULL && (of == NULL || run->call == of))
            return (struct waiting){g, run};
    }
    return nobody;
}

/* ------------------------------------------------------------------ what a run waits for ------ */

/* The peer (rank of the group) that has to put or to give a credit, and which. */
static bool waits_for(const struct waiting *w, unsigned *peer, uint32_t *slot)
{
    const struct ncoll_group *g = w->group;
    const struct run *run = w->run;
    const _Atomic uint64_t *word;

    if (run->credits < run->call->plan->n_senders)
        return false; /* for its device, which will do it */
    if (run->next == run->program->count) {
        const struct instruction *lent = ncoll__lent_out(w->group, w->run, &word);
        *peer = lent != NULL ? lent->peer : 0;
        *slot = lent != NULL ? LENDS_TO | lent->slot : NO_SLOT;
        return lent != NULL; /* else for its device */
    }
    if (run->next == 0 && ncoll__shown_keeps(g, run->epoch, peer)) {
        *slot = NO_SLOT;
        return true;
    }
    const struct instruction *i = &run->program->instructions[run->next];
    *peer = i->peer;
    *slot = i->kind == STEP_WAIT ? i->slot : NO_SLOT;
    if (i->kind == STEP_LOOK) {
        *peer = run->call->plan->neighbours[i->near].rank;
        *slot = LOOKS | i->slot;
        return !ncoll__run_has_come(g, run);
    }
    if (i->kind == STEP_WAIT)
        return !window_raised(g->window, run->epoch, i->slot);
    return i->kind == STEP_PUT && ncoll__lacks_credit(g, i->peer, run->epoch);
}

bool ncoll__tell(struct ncoll_group *g, struct run *run, const struct question *question)
{
    struct transport *t = g->ctx->transport;
    struct waiting w = {g, run};
    struct position position = {.group = g->name, .epoch = run->epoch};
    unsigned peer;

    if (!waits_for(&w, &peer, &position.slot))
        return false;
    struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, peer));
    position.card = run->call->plan->card;
    position.question = *question;
    return to != NULL && t->ops->tell(t, to, &position);
}

/* ------------------------------------------------------------------ what it takes ------------- */

/* Whether the run has yet to come to the teller's message: to put it, or to wait for it. */
static bool will_do(const struct waiting *w, int teller, uint32_t slot)
{
    bool fetch = (slot & LENDS_TO) != 0;

    for (unsigned n = w->run->next; n < w->run->program->count; n++) {
        const struct instruction *i = &w->run->program->instructions[n];
        if (i->kind == (fetch ? STEP_WAIT : STEP_PUT) && i->slot == (slot & ~LENDS_TO) &&
            ncoll__world_rank(w->group, i->peer) == teller)
            return true;
    }
    return false;
}

/* The run that has to end before the next call of the group starts. */
static struct waiting holds_up_next_call(struct ncoll_group *g)
{
    const struct call *next = g->starting;
    bool turn = next == g->first || !next->alone || next->started > 0;

    if (next->state == CALL_WIRING)
        return first_run(g, &g->wiring.exchange);
    if (turn && ncoll__credit_may_start(&g->credits, g->next_epoch))
        return nobody;
    return first_run(g, NULL);
}

/* The run that has to end before the user can make another call. */
static struct waiting holds_up_user(const struct ncoll_context *ctx)
{
    struct ncoll_group *g = ctx->blocked_in;

    if (g == NULL)
        return nobody;
    struct waiting w = first_run(g, ctx->blocked_call);
    return w.run == NULL && ctx->blocked_call->started == 0 && g->starting != NULL
               ? holds_up_next_call(g)
               : w;
}

/* Whether a rank has been told all that it needs to know in order to put in a run. What has
 * finished here may be enough, and not be told before that run starts: see credit.h. */
static bool has_told(const struct ncoll_group *g, int world, uint64_t epoch)
{
    for (unsigned q = 0; q < (unsigned)g->size; q++)
        if (ncoll__world_rank(g, q) == world)
            return g->credits.told[q] + EPOCHS >= epoch;
    return false;
}

/* The run of this rank that has to get on before it does what the teller waits for. Nobody: that is
 * on its way, or will be without. */
static struct waiting holds_up(struct ncoll_group *g, int teller, const struct position *p)
{
    bool credit = p->slot == NO_SLOT;

    if (p->epoch <= g->credits.finished)
        return nobody;
    if (p->epoch < g->next_epoch) {
        struct waiting w = {g, run_of(g, p->epoch)};
        bool same = w.run->call != NULL && card_equal(w.run->call->plan->card, p->card);
        return same && !credit && will_do(&w, teller, p->slot) ? w : nobody;
    }
    if (credit && has_told(g, teller, p->epoch))
        return nobody;
    struct waiting first = first_run(g, NULL);
    if (credit && first.run != NULL)
        return first;
    return g->starting != NULL ? holds_up_next_call(g) : holds_up_user(g->ctx);
}

/* ------------------------------------------------------------------ questions ----------------- */

static void tell_deadlock(const struct waiting *w, const struct question *q)
{
    struct failure failure = {.kind = CONTROL_DEADLOCK,
                              .rank = {w->group->ctx->rank, (int32_t)q->other},
                              .card = {w->run->call->plan->card, q->other_card},
                              .group = w->group->name};

    ncoll__broken(w->group->ctx, &failure);
}

static uint64_t hash(const struct question *q)
{
    const uint64_t words[] = {q->group, q->epoch, q->step, (uint64_t)q->rank};
    uint64_t h = 1;

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        h = (h ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 32;
    }
    return h;
}

/* Passes it on to the peer that the run waits for, unless that has been done of late. */
static void pass_on(const struct waiting *w, const struct question *q)
{
    struct ncoll_context *ctx = w->group->ctx;
    uint64_t question = hash(q), now_ns = ncoll__now_ns(ctx);
    struct passed_on *last = &ctx->passed_on[question % PASSED_ON];

    if (last->question == question && now_ns < last->until_ns)
        return;
    if (!ncoll__tell(w->group, w->run, q))
        return;
    last->question = question;
    last->until_ns = now_ns + TURN_NS * (uint64_t)ctx->ranks;
}

/* A neighbour looks at a slot here. False: this rank has not come to that call. */
static bool ask_sender(struct ncoll_group *g, const struct position *p)
{
    struct transport *t = g->ctx->transport;
    unsigned slot = p->slot & ~LOOKS;

    if (p->epoch <= g->credits.finished)
        return true;
    if (p->epoch >= g->next_epoch)
        return false;
    const struct run *run = run_of(g, p->epoch);
    if (run->call == NULL || !card_equal(run->call->plan->card, p->card) ||
        window_raised(g->window, p->epoch, slot))
        return true;
    for (unsigned n = run->next; n < run->program->count; n++) {
        const struct instruction *i = &run->program->instructions[n];
        struct position mine = *p;
        if (i->kind != STEP_WAIT || i->slot != slot)
            continue;
        struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
        mine.slot = slot;
        if (to != NULL)
            t->ops->tell(t, to, &mine);
    }
    return true;
}

void ncoll__ask_on(struct ncoll_context *ctx, int teller, const struct position *p)
{
    struct ncoll_group *g = find_group(ctx, p->group);
    struct question q = p->question;
    unsigned peer;
    uint32_t slot;

    if (g == NULL || q.rank < ctx->rank ||
        (p->slot != NO_SLOT && p->slot & LOOKS && ask_sender(g, p)))
        return;
    struct waiting w = holds_up(g, teller, p);
    if (w.run == NULL || !waits_for(&w, &peer, &slot))
        return;
    if (q.rank == ctx->rank) {
        if (w.group->name == q.group && w.run->epoch == q.epoch && w.run->next == q.step &&
            q.other >= 0)
            tell_deadlock(&w, &q);
        return;
    }
    if (q.other < 0 && w.group->name != q.group) {
        q.other = ctx->rank;
        q.other_card = w.run->call->plan->card;
    }
    pass_on(&w, &q);
}
