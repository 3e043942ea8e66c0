/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The n-way dissemination allgather, which algos/bruck.c and algos/gather.c build on.
 *
 * J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems, IEEE TPDS 8(11), 1997 (their concatenation
 * algorithm, with n messages a round).
 *
 *   P  ranks; p  this one; n  messages a round; k = ceil(log_{n+1} P) rounds l = 1..k
 *   w = (n+1)^(l-1)  vectors that a rank has before round l: x_p, x_{p+1}, .., x_{p+w-1}
 *   piece i of round l: all of these, from the rank i w to the right; vectors past P are left out
 *
 * P = 5, n = 1, rank 0:
 *
 *   round 1   has x0             gets x1       from 1
 *   round 2   has x0 x1          gets x2 x3    from 2
 *   round 3   has x0 x1 x2 x3    gets x4       from 4
 */
#ifndef NCOLL_ALGOS_CONCATENATION_H
#define NCOLL_ALGOS_CONCATENATION_H

#include "algos/schedule.h"

/* Piece i of round l, i = 1..n. */
struct piece {
    size_t distance; /* the sender is so far to the right; its vector is the first */
    size_t vectors;  /* 0: there is no such piece */
    size_t elements;
    unsigned slot;
};

struct footprint ncoll__concatenation_footprint(const struct shape *g);

struct piece ncoll__concatenation_piece(const struct shape *g, unsigned l, unsigned i);

/* Emits round l. Everything has arrived by the end of round k. */
void ncoll__concatenation_round(const struct shape *g, unsigned l, struct round *out);
/* Emit the two halves of a round: its puts, and its waits. */
void ncoll__concatenation_send(const struct shape *g, unsigned l, struct round *out);
void ncoll__concatenation_receive(const struct shape *g, unsigned l, struct round *out);

/* Returns the place of x_q after round k of an allreduce, which keeps all vectors. */
struct ref ncoll__concatenation_vector(const struct shape *g, unsigned q);

#endif
