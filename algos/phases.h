/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases: a schedule made of others, one after the other, each on some of the ranks.
 *
 * A phase is an algorithm of its own on a subgroup. What it says of ranks, slots, IN, OUT and
 * scratch is put in terms of the whole: its ranks become those of the subgroup's members; its slots
 * and its scratch begin where those of other phases end, so that nothing that is under way is
 * written again; and its OUT is where the next phase has its IN.
 *
 *   P = 5, nodes {0 1 2} {3 4}, an allreduce (algos/hierarchical.c):
 *
 *                 subgroups        a schedule of   IN        OUT       slots   scratch
 *   up            {0 1 2} {3 4}    reduce          IN        sum       0..     after sum
 *   across        {0 3}            allreduce       sum       OUT       next    next
 *   down          {0 1 2} {3 4}    bcast           OUT       OUT       next    -
 *
 * A rank may FOLLOW a neighbour that takes part in a phase: it looks at the slots of that rank,
 * puts nothing, and computes what that computes for itself, from the same IN.
 *
 * A step of a phase that copies something onto itself is left out. What a phase puts from its IN
 * must not be written later: where its IN is neither the whole's IN nor what stays as it is, give
 * it a place in scratch.
 */
#ifndef NCOLL_ALGOS_PHASES_H
#define NCOLL_ALGOS_PHASES_H

#include "algos/schedule.h"

/* A rank of the whole: a member, by its place in the subgroup; or whose block a member brings. */
typedef unsigned member_of(const struct shape *whole, unsigned subgroup, unsigned place);

/* Messages of a rank at once in trees on a node, where they are cheap: n + 1 ranks take one step.
 */
#define NODE_RADIX 3

struct phase {
    const struct algorithm *algorithm;
    struct shape g;  /* of the subgroup */
    bool takes_part; /* else g is that of a member, for the number of rounds */
    const struct shape *whole;
    member_of *member;
    unsigned subgroup;
    struct ref in, out; /* of the phase, in the whole; */
    member_of *block;   /* out: in place of OUT, if that is blocks, which have to have counts */
    unsigned slot;      /* its slots begin here, */
    size_t scratch;     /* and its scratch here */
    bool watched;       /* neighbours look at what comes to the member, */
    bool follows;       /* or this rank does: it goes by what has come to member g.rank */
};

/* On the ranks of this rank's node; in, out, slot, scratch and the root are left to be filled in.
 */
struct phase ncoll__phase_on_node(const struct shape *whole, const struct algorithm *algorithm,
                                  enum collective collective, unsigned radix);
/* On one rank of each node; the subgroup says which. The same. */
struct phase ncoll__phase_across(const struct shape *whole, const struct algorithm *algorithm,
                                 member_of *member, unsigned subgroup);

/* What any node needs for such a phase. */
struct footprint ncoll__phase_footprint_on_nodes(const struct phase *on_node);
/* What this phase needs. */
static inline struct footprint ncoll__phase_footprint(const struct phase *phase)
{
    return phase->algorithm->footprint(&phase->g);
}

/* Round r of a phase; false past the last. */
bool ncoll__phase_round(const struct phase *phase, unsigned r, struct round *out);
unsigned ncoll__phase_rounds(const struct phase *phase);
/* Round r of n phases, one after the other; false past the last. */
bool ncoll__phases_round(const struct phase *phases, unsigned n, unsigned r, struct round *out);

#endif
