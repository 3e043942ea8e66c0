/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases: a schedule that consists of other schedules, one after the other, each on some of the
 * ranks.
 *
 * A phase is an algorithm of its own on a subgroup. Its ranks, slots, IN, OUT and scratch are
 * translated into those of the whole schedule: its ranks become those of the subgroup's members;
 * its slots and its scratch begin where those of other phases end, so that no message overwrites
 * one that is still needed; and its OUT is the place where the next phase has its IN.
 *
 *   P = 5, nodes {0 1 2} {3 4}, an allreduce (algos/hierarchical.c):
 *
 *                 subgroups        a schedule of   IN        OUT       slots   scratch
 *   up            {0 1 2} {3 4}    reduce          IN        sum       0..     after sum
 *   across        {0 3}            allreduce       sum       OUT       next    next
 *   down          {0 1 2} {3 4}    bcast           OUT       OUT       next    -
 *
 * A rank may FOLLOW a neighbour that takes part in a phase: it looks at the slots of that rank,
 * puts nothing, and computes the same results for itself, from the same IN.
 *
 * A step of a phase that copies something onto itself is left out. Data that a phase puts from its
 * IN must not be written later. If the IN of a phase is not the IN of the whole and does not stay
 * as it is, give it a place in scratch.
 */
#ifndef NCOLL_ALGOS_PHASES_H
#define NCOLL_ALGOS_PHASES_H

#include "algos/schedule.h"

/* Returns a rank of the whole schedule: member number `place` of the subgroup; or, in phase.block,
 * the rank whose block this member contributes. */
typedef unsigned member_of(const struct shape *whole, unsigned subgroup, unsigned place);

/* Radix of trees on a node, where messages are cheap: n + 1 ranks take one round. */
#define NODE_RADIX 3

struct phase {
    const struct algorithm *algorithm;
    struct shape g; /* the shape of the subgroup */
    /* false: this rank is not a member; g is then the shape of a member, to count the rounds */
    bool takes_part;
    const struct shape *whole;
    member_of *member;
    unsigned subgroup;
    struct ref in, out; /* the phase's IN and OUT in the whole schedule */
    /* if OUT has blocks, in place of `out`: the rank of the whole schedule that owns each block */
    member_of *block;
    unsigned slot;    /* the first slot of the phase */
    size_t scratch;   /* start of the phase's scratch, in elements */
    bool shared_wait; /* neighbours look at the messages to this member */
    bool follows;     /* this rank looks at the messages to member g.rank, and puts nothing */
};

/* Makes a phase on the ranks of this rank's node. The caller fills in `in`, `out`, `slot`,
 * `scratch` and g.root. */
struct phase ncoll__phase_on_node(const struct shape *whole, const struct algorithm *algorithm,
                                  enum collective collective, unsigned radix);
/* Makes a phase on one rank of each node, which member() returns. The caller fills in the same
 * fields. */
struct phase ncoll__phase_across(const struct shape *whole, const struct algorithm *algorithm,
                                 member_of *member, unsigned subgroup);

/* Returns the largest footprint that a phase on the ranks of a node has on any node. */
struct footprint ncoll__phase_footprint_on_nodes(const struct phase *on_node);
/* Returns the footprint of a phase on its subgroup. */
static inline struct footprint ncoll__phase_footprint(const struct phase *phase)
{
    return phase->algorithm->footprint(&phase->g);
}

/* Emits round r of a phase; returns false past the last. */
bool ncoll__phase_round(const struct phase *phase, unsigned r, struct round *out);
unsigned ncoll__phase_rounds(const struct phase *phase);
/* Emits round r of n phases, whose rounds follow each other; returns false past the last. */
bool ncoll__phases_round(const struct phase *phases, unsigned n, unsigned r, struct round *out);

#endif
