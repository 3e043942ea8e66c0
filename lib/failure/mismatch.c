/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that call different things: how that is seen, and who is named.
 *
 * A message says what its sender called (card.h), and its receiver compares. Three things are left.
 *
 * A message in a slot that the running call does not use: a rank that waits looks for such. One
 * that does not wait does not see it; but from then on the pasts of the two ranks differ. Who sees
 * that tells it, and a rank that has long been waiting in a run before gives up, too: there may be
 * no message that it could see (an empty block, for one rank, that is none for another).
 *
 * No message at all: two ranks wait for each other, each in its own call. So a rank that waits long
 * tells the peer that it waits for its *position*, the card of the run that it is in, and the peer
 * compares that with the card of its own run of the same epoch. That makes every deadlock of a
 * group's calls known: take a rank that waits for ever, in its first run that is not over; let that
 * be epoch e. The peer that it waits for
 *   - has started epoch e, with another card, and all before it are over: it tells the mismatch;
 *   - has started epoch e with the same card, so that by their schedule it will put, or give its
 *     credit: it has not got so far, because it waits itself, in epoch e or one before;
 *   - has not come to epoch e: it waits in one before, or not in this group at all.
 * So on from peer to peer, and epochs only fall. The chain ends in a mismatch that is told, at a
 * rank that is not in a call of the group, which is no deadlock of these calls (see deadlock.c), or
 * in a ring of ranks in one run of one schedule, which the verifier excludes.
 *
 * A peer that is past epoch e still knows what it called there. It gets ahead of a rank that waits
 * by few runs: credits hold up whoever puts to a rank that is not done with EPOCHS runs before, and
 * the others are held up by those in turn.
 *
 * A position is a fact: it needs no answer, and no harm comes of one that is late, stale or lost.
 * Nor is anything read that may change meanwhile, such as a slot of an epoch that is over: a set is
 * written again as soon as this rank is known not to need it.
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/internal.h"
#include "lib/plan/compile.h"

/* How long a rank waits in the same run before it tells, and from then on how often. */
#define TELL_NS 40000000u

static void tell_mismatch(struct ncoll_group *g, uint64_t epoch, struct card mine, int rank,
                          struct card theirs)
{
    struct failure failure = {.kind = CONTROL_MISMATCH,
                              .rank = {g->ctx->rank, rank},
                              .card = {mine, theirs},
                              .epoch = (uint32_t)epoch,
                              .group = g->name};

    ncoll__broken(g->ctx, &failure);
}

int ncoll__mismatch(struct ncoll_group *g, struct card mine, int rank, struct card theirs)
{
    tell_mismatch(g, g->credits.finished + 1, mine, rank, theirs);
    return NCOLL_ERR_MISMATCH;
}

/* ------------------------------------------------------------------ messages ------------------ */

/* The schedule that a message belongs to: its algorithm, NULL if there is no such, and its shape.
 */
static const struct algorithm *schedule_of(struct ncoll_group *g, const struct card_fields *f,
                                           struct shape *shape)
{
    static const enum collective errands[] = {[ERRAND_GATHER] = COLL_ALLGATHER,
                                              [ERRAND_WIRE] = COLL_ALLTOALL,
                                              [ERRAND_AGREE] = COLL_ALLREDUCE,
                                              [ERRAND_LEAVE] = COLL_BARRIER};
    struct call_args args = {.collective = f->collective,
                             .count = f->collective == COLL_BARRIER ? 0
                                      : f->irregular                ? 1
                                                                    : f->amount,
                             .root = (int)f->root};

    if (f->collective == COLL_ALLTOALL && f->errand == ERRAND_AGREE) {
        struct card_fields agreement = {.collective = COLL_ALLREDUCE,
                                        .algorithm = f->algorithm,
                                        .radix = f->radix,
                                        .amount = 1};
        return schedule_of(g, &agreement, shape);
    }
    if (f->errand != ERRAND_NONE && f->errand < sizeof errands / sizeof errands[0]) {
        args = ncoll__base_call(errands[f->errand], NULL, NULL, 1, (struct card){0});
        *shape = ncoll__shape(g, &args, args.radix, false);
        return args.algorithm;
    }
    *shape = ncoll__shape(g, &args, f->radix, false);
    bool known = f->errand == ERRAND_NONE && f->collective < COLLECTIVES && f->algorithm != NULL &&
                 ncoll__radix_is_valid(f->radix) && f->root < shape->size;
    return known && algorithm_exists(f->algorithm, shape) ? f->algorithm : NULL;
}

/*
 * Who put what lies in a slot of a rank of the group: the rank that the other call's own schedule
 * makes write there, or -1.
 */
static int sender_of(struct ncoll_group *g, struct card card, unsigned rank, unsigned slot)
{
    struct card_fields f = ncoll__card_fields(card);
    struct shape shape;
    const struct algorithm *algorithm = schedule_of(g, &f, &shape);
    unsigned n_steps;
    int sender = -1;

    if (algorithm == NULL)
        return -1;
    shape.rank = rank;
    struct step *steps = ncoll__steps(g, algorithm, &shape, &n_steps);
    for (unsigned i = 0; steps != NULL && i < n_steps; i++)
        if (steps[i].kind == STEP_WAIT && steps[i].slot == slot)
            sender = ncoll__world_rank(g, steps[i].peer);
    ncoll__release(g->ctx, steps);
    return sender;
}

int ncoll__mismatch_in_slot(struct ncoll_group *g, struct card mine, unsigned rank, unsigned slot,
                            struct card theirs)
{
    return ncoll__mismatch(g, mine, sender_of(g, theirs, rank, slot), theirs);
}

static bool is_of(const struct run *run, struct card card)
{
    const struct plan *plan = run->call->plan;
    uint64_t past = ncoll__past_of_messages(card.amount);
    bool amounts_differ = plan->key.sends != NULL;

    return (amounts_differ ? card.what == plan->card.what
                           : ncoll__card_same_call(card, plan->card)) &&
           (past == 0 || past == run->past);
}

/* A message in a slot that the run does not use: somebody called something else. */
static void look_for_strangers(struct ncoll_group *g, const struct run *run)
{
    const struct window *w = g->window;
    struct card mine = run->call->plan->card;

    mine.amount |= run->past;
    for (unsigned s = 0; s < w->shape.n_slots; s++) {
        if (!window_raised(w, run->epoch, s))
            continue; /* the card is still an old one */
        struct card card = card_read(&window_slot(w, run->epoch, s)->card);
        if (!is_of(run, card))
            ncoll__mismatch_in_slot(g, mine, (unsigned)g->rank, s, card);
    }
}

static void check_group(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call != NULL)
            look_for_strangers(g, run_of(g, e));
}

/* ------------------------------------------------------------------ positions ----------------- */

/* Others have found, in a later run, that pasts differ: it may be this run in which they do. Those
 * that have given up would not come back to it, and this rank has waited for long. */
static void give_up_past(struct ncoll_group *g, uint64_t epoch)
{
    struct failure failure = g->ctx->failure;

    if (failure.kind != CONTROL_MISMATCH || failure.group != g->name ||
        !ncoll__card_same_call(failure.card[0], failure.card[1]))
        return;
    failure.epoch = (uint32_t)epoch;
    ncoll__broken(g->ctx, &failure);
}

/* One run after the other, if the first has not got on since the last time. */
static void tell_position(struct ncoll_group *g)
{
    uint64_t first = g->credits.finished + 1, n = g->next_epoch - first;
    bool long_since = g->waited_in == first;

    g->waited_in = n > 0 ? first : 0;
    if (long_since)
        give_up_past(g, first);
    for (uint64_t i = 0; long_since && i < n; i++) {
        struct run *run = run_of(g, first + (g->ctx->tells + i) % n);
        struct question question = {
            .group = g->name,
            .epoch = run->epoch,
            .step = run->next,
            .rank = g->ctx->rank,
            .other = -1,
        };
        if (run->call != NULL && ncoll__tell(g, run, &question))
            return;
    }
}

/* A peer takes one position at a time, so that every group comes first in turn. */
static void tell_positions(struct ncoll_context *ctx)
{
    struct ncoll_group *first = ctx->busy, *g;
    unsigned n = 0;

    for (g = ctx->busy; g != NULL; g = g->next_busy)
        n++;
    ctx->tells++;
    for (unsigned i = n > 0 ? ctx->tells % n : 0; i > 0; i--)
        first = first->next_busy;
    for (g = first; g != NULL; g = g->next_busy)
        tell_position(g);
    for (g = ctx->busy; g != first; g = g->next_busy)
        tell_position(g);
}

void ncoll__on_position(void *arg, int from_rank, const struct position *p)
{
    struct ncoll_context *ctx = arg;
    struct ncoll_group *g = ctx->groups;

    ncoll__ask_on(ctx, from_rank, p);
    while (g != NULL && g->name != p->group)
        g = g->next;
    /* Not while something before is unfinished, which may be what is wrong: it is told again. */
    if (g == NULL || p->epoch >= g->next_epoch || p->epoch > g->credits.finished + 1 ||
        p->epoch + HISTORY < g->next_epoch)
        return;
    struct card mine = g->history[p->epoch % HISTORY];
    if (!card_equal(mine, p->card))
        tell_mismatch(g, p->epoch, mine, from_rank, p->card);
}

void ncoll__look_for_mismatches(struct ncoll_context *ctx, uint64_t now_ns)
{
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy)
        check_group(g);
    if (now_ns < ctx->next_tell_ns)
        return;
    ctx->next_tell_ns = now_ns + TELL_NS;
    tell_positions(ctx);
}
