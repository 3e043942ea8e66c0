/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the sender of a message that belongs to another call: the rank that writes to the slot in
 * the schedule of that call. */
#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"

/* Finds the schedule that a message belongs to. Returns its algorithm (NULL: unknown) and its
 * shape. */
static const struct algorithm *schedule_of(struct ncoll_group *g, const struct signature_fields *f,
                                           struct shape *shape)
{
    static const enum collective purposes[] = {[PURPOSE_GATHER] = COLL_ALLGATHER,
                                               [PURPOSE_WIRE] = COLL_ALLREDUCE,
                                               [PURPOSE_AGREE] = COLL_ALLREDUCE,
                                               [PURPOSE_LEAVE] = COLL_BARRIER};
    struct call_args args = {.collective = f->collective,
                             .count = f->collective == COLL_BARRIER ? 0
                                      : f->irregular                ? 1
                                                                    : f->amount,
                             .root = (int)f->root};

    if (f->collective == COLL_ALLTOALL && f->purpose == PURPOSE_AGREE) {
        struct signature_fields agreement = {.collective = COLL_ALLREDUCE,
                                             .algorithm = f->algorithm,
                                             .radix = f->radix,
                                             .amount = 1};
        return schedule_of(g, &agreement, shape);
    }
    if (f->purpose != PURPOSE_NONE && f->purpose < sizeof purposes / sizeof purposes[0]) {
        args = ncoll__base_call(purposes[f->purpose], NULL, NULL, 1, (struct signature){0});
        *shape = ncoll__shape(g, &args, args.radix, false);
        return args.algorithm;
    }
    *shape = ncoll__shape(g, &args, f->radix, false);
    bool known = f->purpose == PURPOSE_NONE && f->collective < COLLECTIVES &&
                 f->algorithm != NULL && ncoll__radix_is_valid(f->radix) && f->root < shape->size;
    return known && algorithm_exists(f->algorithm, shape) ? f->algorithm : NULL;
}

/* Returns the world rank that puts to this slot of `rank`, by the schedule of the call with this
 * signature; -1: it is not known. */
static int sender_of(struct ncoll_group *g, struct signature signature, unsigned rank,
                     unsigned slot)
{
    struct signature_fields f = ncoll__signature_fields(signature);
    struct shape shape;
    const struct algorithm *algorithm = schedule_of(g, &f, &shape);
    unsigned n_steps;
    int sender = -1;

    if (algorithm == NULL)
        return -1;
    shape.rank = rank;
    struct step *steps = ncoll__steps(g, algorithm, &shape, true, &n_steps);
    for (unsigned i = 0; steps != NULL && i < n_steps; i++)
        if (steps[i].kind == STEP_WAIT && steps[i].slot == slot)
            sender = ncoll__world_rank(g, steps[i].peer);
    ncoll__release(g->ctx, steps);
    return sender;
}

int ncoll__mismatch_in_slot(struct ncoll_group *g, struct signature mine, unsigned rank,
                            unsigned slot, struct signature theirs)
{
    return ncoll__mismatch(g, mine, sender_of(g, theirs, rank, slot), theirs);
}
