/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_EXPLAIN_EXPLAIN_H
#define NCOLL_TOOLS_EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include "algos/schedule.h"
#include "transport/transport.h"

/* 0 if there is none of this name; - does for _ in it. */
enum collective collective_named(const char *name);

/* The allreduce, or else the first that it serves. */
enum collective first_collective(const struct algorithm *a);

/* All that it serves, with a blank before each. */
void print_collectives(FILE *out, const struct algorithm *a);

/* Elements of a vector or block that show everything: one, or one a slice where vectors are cut
 * into a slice for each rank. */
size_t explained_count(const struct algorithm *a, struct shape g);

/* Round r of one rank; false past the last. The caller frees out->steps, also past the last. */
bool write_round(const struct algorithm *a, const struct shape *g, unsigned r, struct round *out);

/* The steps of one rank, round by round. */
void explain_rank(const struct algorithm *a, const struct shape *g);

/* What each rank has combined by the end of each round, as the papers' tables show it; g->rank does
 * not matter. */
void explain_table(const struct algorithm *a, const struct shape *g);

/* What messages cost, between any two ranks and between those of a node, and the bytes of the
 * vector or of each block. */
struct costs {
    struct transport_cost far, near;
    size_t bytes;
};
/* When the rounds of a call end, by that; g->rank does not matter. */
void explain_costs(const struct algorithm *a, const struct shape *g, const struct costs *costs);

/* Ranks on nodes, of a list of how many each has, or of the node of each; return how many ranks
 * there are, 0: the list is none, or has more than ranks_max. */
unsigned nodes_of_sizes(const char *list, unsigned ranks_max);
unsigned nodes_of_ranks(const char *list, unsigned ranks_max);
/* What has been given; NULL: nothing. */
const struct nodes *nodes_given(void);
void nodes_print(void);
/* P ranks on two nodes, until forget_all(). */
const struct nodes *nodes_of_halves(unsigned P);

/* The 5-tuple for P ranks and n messages a round, and the case of the theorem that gave it. */
void explain_tuple(unsigned P, unsigned n);

/* For how many P in 2..max there is a tuple, or none needed. */
void count_tuples(unsigned max, unsigned n);

#endif
