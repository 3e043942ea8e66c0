/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds ranks that wait for each other in a circle, each blocked in a call on another group, by
 * "edge chasing" (Chandy, Misra, Haas: Distributed Deadlock Detection, ACM TOCS 1983, the resource
 * model).
 *
 * A run waits for one event at a time: a message or a credit from one rank. So the events that a
 * rank needs in order to go on form a path of runs:
 *
 *     a run of this rank waits for an event, which another rank has to cause, in a run or a call;
 *       that run, or a run that must end before that rank can begin that call, waits for an event;
 *         and so on
 *
 * A rank that waits for long sends a question along the path: it tells its position to the rank
 * that it waits for. If that rank cannot do what the teller waits for before one of its own runs
 * advances, it passes the question on with the position of that run. If the question comes back to
 * the run where it began, and this run is still at the same step, no rank on the path can ever go
 * on.
 *
 * No deadlock is reported wrongly, even if a question comes late. When a rank handles a question,
 * the teller is still at its position, since it needs something that this rank has not done yet;
 * and this rank cannot go on before the next rank does. So everything found along the circle is
 * still true when the first rank sees that it has not moved, and stays true for ever.
 *
 * A rank that looks at a neighbour's slot waits for the sender of that message, and may not be
 * connected to it. It asks the neighbour, which waits for the same message, and the neighbour asks
 * the sender as if the question were its own. If the neighbour has not reached the call, it blocks
 * the teller like any other rank, since schedules with shared waits synchronise.
 *
 * A rank whose single copies have not been acknowledged (lib/deliver/single_copy.c) waits for its
 * receiver to reach the wait for that message.
 *
 * One rank of a circle is enough to find it, so each rank passes on only questions of higher ranks.
 * Questions of ranks that wait for the circle but are not part of it go round as well. A peer takes
 * one position at a time. So that every rank's question gets its turn, a rank passes the same
 * question on again only after a time that grows with the number of ranks. A rank keeps a question
 * that it cannot pass on yet, and tells the peer nothing of its own until it has passed the
 * question on. It keeps one question for each of a few peers: that of the highest rank. A peer that
 * is in no call of ncoll takes no questions; it must not hold up those for other peers.
 */
#include <string.h>

#include "lib/base/signature.h"
#include "lib/stale/stale.h"
#include "lib/watch/failure.h"
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/deliver/memory.h"

/* Time in ns after which a rank may pass on the same question again, for each rank of the job. */
#define TURN_NS UINT64_C(100000000)

/* An unfinished run of this rank. */
struct waiting {
    struct ncoll_group *group;
    struct run *run;
};
static const struct waiting nobody;

static struct ncoll_group *find_group(const struct ncoll_context *ctx, uint64_t name)
{
    struct ncoll_group *g = ctx->groups;

    while (g != NULL && g->name != name)
        g = g->next;
    return g;
}

/* Returns the first unfinished run, of the given call or of any call; `nobody` if there is none. */
static struct waiting first_run(struct ncoll_group *g, const struct call *of)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
        struct run *run = run_of(g, e);
        if (run->call != NULL && (of == NULL || run->call == of))
            return (struct waiting){g, run};
    }
    return nobody;
}

/* ------------------------------------------------------------------ telling ------------------- */

bool ncoll__tell(struct ncoll_group *g, struct run *run, const struct question *question)
{
    struct transport *t = g->ctx->transport;
    struct position position = {.group = g->name,
                                .epoch = run->epoch,
                                .kind = ncoll__is_stalled(g) ? POSITION_ASKS : POSITION_WAITS};
    unsigned peer;

    if (!ncoll__waits_for(g, run, &peer, &position.slot))
        return false;
    struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, peer));
    position.signature = run->call->plan->signature;
    position.question = *question;
    return to != NULL && to->by->ops->tell(to->by, to, &position);
}

/* ------------------------------------------------------------------ who holds up whom --------- */

/* True if the run has yet to execute the step that the teller waits for: a put, or the wait of a
 * single copy. */
static bool will_do(const struct waiting *w, int teller, uint32_t slot)
{
    bool get = (slot & SLOT_SINGLE_COPY) != 0;

    for (unsigned n = w->run->next; n < w->run->program->count; n++) {
        const struct instruction *i = &w->run->program->instructions[n];
        if (i->kind == (get ? STEP_WAIT : STEP_PUT) && i->slot == (slot & ~SLOT_SINGLE_COPY) &&
            ncoll__world_rank(w->group, i->peer) == teller)
            return true;
    }
    return false;
}

/* Returns the run that must end before the next call of the group starts. */
static struct waiting holds_up_next_call(struct ncoll_group *g)
{
    const struct call *next = g->starting;
    bool turn = next == g->first || !next->alone || next->started > 0;

    if (next->state == CALL_WIRING)
        return first_run(g,
                         g->wiring.state == WIRING_AGREE ? &g->wiring.agree : &g->wiring.exchange);
    if (turn && ncoll__credit_may_start(&g->credits, g->next_epoch))
        return nobody;
    return first_run(g, NULL);
}

/* Returns the run that must end before the user can make another call. */
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

/* True if this rank has given a rank the credit that it needs to put in the run of this epoch. This
 * rank may have finished enough runs and not have given the credit yet, since it may do that only
 * when it starts that run (credit.h). */
static bool has_told(const struct ncoll_group *g, int world, uint64_t epoch)
{
    for (unsigned q = 0; q < (unsigned)g->size; q++)
        if (ncoll__world_rank(g, q) == world)
            return ncoll__credit_of(&g->credits, q)->told + EPOCHS >= epoch;
    return false;
}

static bool is_of_mailboxes(const struct position *p)
{
    struct signature_fields fields = ncoll__signature_fields(p->signature);

    return fields.collective == COLL_ALLREDUCE && fields.purpose == PURPOSE_NONE &&
           !radix_is_list(fields.radix) && fields.root > 0;
}

/* Returns the run of this rank that must advance before this rank does what the teller waits for;
 * `nobody` if that is already on its way, or does not depend on such a run. */
static struct waiting holds_up(struct ncoll_group *g, int teller, const struct position *p)
{
    bool credit = p->slot == NO_SLOT;

    if (g->stale != NULL && is_of_mailboxes(p) && !ncoll__stale_owes(g, teller, p))
        return nobody;
    if (g->stale != NULL && is_of_mailboxes(p)) {
        struct waiting first = first_run(g, NULL);
        if (first.run != NULL)
            return first;
        return g->starting != NULL ? holds_up_next_call(g) : holds_up_user(g->ctx);
    }
    if (p->epoch <= g->credits.finished)
        return nobody;
    if (p->epoch < g->next_epoch) {
        struct waiting w = {g, run_of(g, p->epoch)};
        bool same =
            w.run->call != NULL && signature_equal(w.run->call->plan->signature, p->signature);
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
                              .signature = {w->run->call->plan->signature, q->other_signature},
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

/* Returns the entry of ctx->passed_on for a question that may be passed on now; NULL: it was passed
 * on recently. */
static struct passed_on *entry_of(struct ncoll_context *ctx, uint64_t question)
{
    struct passed_on *last = &ctx->passed_on[question % PASSED_ON];

    return last->question == question && ncoll__now_ns(ctx) < last->until_ns ? NULL : last;
}

static void enter(struct ncoll_context *ctx, struct passed_on *entry, uint64_t question)
{
    entry->question = question;
    entry->until_ns = ncoll__now_ns(ctx) + TURN_NS * (uint64_t)ctx->ranks;
}

/* Returns the question that is kept for a rank; NULL: none. */
static const struct held_question *held_for(const struct ncoll_context *ctx, int rank)
{
    for (const struct held_question *h = ctx->held; h < ctx->held + QUESTIONS_HELD; h++)
        if (h->any && h->to == rank)
            return h;
    return NULL;
}

bool ncoll__is_held_for(const struct ncoll_context *ctx, int rank)
{
    return held_for(ctx, rank) != NULL;
}

/* Keeps a question that could not be passed on to a rank, for the next time. It takes the place of
 * the question that is kept for that rank; else a free place; else the place of the question of the
 * lowest rank. It never takes the place of a question of the same rank or of a higher one. */
static void hold(struct ncoll_context *ctx, int to, int teller, const struct position *p)
{
    struct held_question *place = (struct held_question *)held_for(ctx, to);

    for (struct held_question *h = ctx->held;
         !ncoll__is_held_for(ctx, to) && h < ctx->held + QUESTIONS_HELD; h++)
        if (place == NULL || !h->any ||
            (place->any && h->position.question.rank < place->position.question.rank))
            place = h;
    if (!place->any || place->position.question.rank < p->question.rank)
        *place = (struct held_question){true, teller, to, *p};
}

/* Passes the question on to the peer that the run waits for, unless that was done recently. Returns
 * false if the peer could not be told. */
static bool pass_on(const struct waiting *w, const struct question *q)
{
    struct ncoll_context *ctx = w->group->ctx;
    struct passed_on *entry = entry_of(ctx, hash(q));

    if (entry == NULL)
        return true;
    if (!ncoll__tell(w->group, w->run, q))
        return false;
    enter(ctx, entry, hash(q));
    return true;
}

/* Handles the position of a neighbour that looks at a slot of this rank: asks the sender of that
 * message. Returns false if this rank has not started the run of that position. */
static bool ask_sender(struct ncoll_group *g, int teller, const struct position *p)
{
    /* another number than the one by which pass_on() remembers this question */
    uint64_t question = ~hash(&p->question);
    struct transport *t = g->ctx->transport;
    unsigned slot = p->slot & ~SLOT_LOOKS;

    if (p->epoch <= g->credits.finished)
        return true;
    if (p->epoch >= g->next_epoch)
        return false;
    const struct run *run = run_of(g, p->epoch);
    if (run->call == NULL || !signature_equal(run->call->plan->signature, p->signature) ||
        window_raised(g->window, p->epoch, slot))
        return true;
    for (unsigned n = run->next; n < run->program->count; n++) {
        const struct instruction *i = &run->program->instructions[n];
        struct position mine = *p;
        if (i->kind != STEP_WAIT || i->slot != slot)
            continue;
        struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
        struct passed_on *entry = entry_of(g->ctx, question);
        mine.slot = slot;
        if (to == NULL || entry == NULL)
            continue;
        if (to->by->ops->tell(to->by, to, &mine))
            enter(g->ctx, entry, question);
        else
            hold(g->ctx, ncoll__world_rank(g, i->peer), teller, p);
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
        (p->slot != NO_SLOT && p->slot & SLOT_LOOKS && ask_sender(g, teller, p)))
        return;
    struct waiting w = holds_up(g, teller, p);
    if (w.run == NULL || !ncoll__waits_for(w.group, w.run, &peer, &slot))
        return;
    if (q.rank == ctx->rank) {
        if (w.group->name == q.group && w.run->epoch == q.epoch && w.run->next == q.step &&
            q.other >= 0)
            tell_deadlock(&w, &q);
        return;
    }
    if (q.other < 0 && w.group->name != q.group) {
        q.other = ctx->rank;
        q.other_signature = w.run->call->plan->signature;
    }
    if (!pass_on(&w, &q))
        hold(ctx, ncoll__world_rank(w.group, peer), teller, p);
}

void ncoll__ask_on_again(struct ncoll_context *ctx)
{
    struct held_question held[QUESTIONS_HELD];

    memcpy(held, ctx->held, sizeof held);
    memset(ctx->held, 0, sizeof ctx->held);
    for (unsigned i = 0; i < QUESTIONS_HELD; i++)
        if (held[i].any)
            ncoll__ask_on(ctx, held[i].teller, &held[i].position);
}
