/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Closed forms of times under LogGP without contention, which do not depend on schedules.
 *
 *   s, s'  what a put of b bytes takes: o + b G, and next + b G if it follows on another put
 *   L, r   latency, and what a wait takes the receiver: receive + b R
 */
#ifndef NCOLL_TEST_LOGGP_CLOSED_FORMS_H
#define NCOLL_TEST_LOGGP_CLOSED_FORMS_H

#include "loggp/loggp.h"

#define P_MAX 1000

double least(double a, double b);
double greatest(double a, double b);
size_t to_the(size_t base, unsigned k);
/* ceil(log_f P) */
unsigned log_up(unsigned P, unsigned f);

/* ------------------------------------------------------------------ all ranks alike ----------- */

/* A rank of a schedule in which all do the same: its clock, and when its card is free. */
struct symmetric {
    const struct loggp_cost *c;
    double now, card;
};

/* A round of m messages of so many bytes each: all are sent, then awaited in the same order. */
void symmetric_round(struct symmetric *t, unsigned m, const double *bytes);
void equal_round(struct symmetric *t, unsigned m, double bytes);
/* k - 1 rounds of n messages, and one of those that are left: ceil(P / (n+1)^(k-1)) - 1. */
double rounds_of(unsigned k, unsigned n, unsigned last, double bytes, const struct loggp_cost *c);
double dissemination(unsigned P, unsigned n, double bytes, const struct loggp_cost *c);

/* ------------------------------------------------------------------ trees --------------------- */

/* Where child i of m ranks begins, counted from their root; m: there is no child i. */
typedef size_t child_begin(unsigned n, size_t m, unsigned i);

child_begin knomial_begin, fork_begin, kary_begin;

struct tree {
    child_begin *begin;
    unsigned n;
    double s, s_next, L, r;
    double known[P_MAX + 1]; /* times of subtrees; below 0: not known yet */
};

struct tree tree_of(child_begin *begin, unsigned n, double bytes, const struct loggp_cost *c);
/* From when the root of m ranks has the data until the last of them has it. The last child is
 * served first. */
double down(struct tree *t, size_t m);
/* Until the root of m ranks has the data of all, which it takes from one child after the other. */
double up(struct tree *t, size_t m);

#endif
