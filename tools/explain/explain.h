/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TOOLS_EXPLAIN_EXPLAIN_H
#define NCOLL_TOOLS_EXPLAIN_EXPLAIN_H

#include <stdio.h>

#include "algos/choice.h"

/* Prints the steps of one rank, round by round. */
void explain_rank(const struct algorithm *a, const struct shape *g);

/* Prints what each rank has combined by the end of each round, as the papers' tables show it;
 * g->rank does not matter. */
void explain_table(const struct algorithm *a, const struct shape *g);

/* The cost of messages between nodes and within a node, and the size in bytes of the vector or of
 * each block. */
struct costs {
    struct message_cost far, near;
    size_t bytes;
};
/* Prints when the rounds of a call end by these costs; g->rank does not matter. */
void explain_costs(const struct algorithm *a, const struct shape *g, const struct costs *costs);

/* Reads from a list which ranks share a node. With of_sizes the list has the number of ranks on
 * each node, otherwise the node of each rank. Returns the number of ranks; 0: it is not such a
 * list, or has more than ranks_max ranks. */
unsigned nodes_take(const char *list, bool of_sizes, unsigned ranks_max);
/* Returns the nodes that the command line gives; NULL: none. */
const struct nodes *nodes_given(void);
void nodes_print(void);
/* Returns two nodes with half of P ranks each. */
const struct nodes *nodes_of_halves(unsigned P);

/* Prints the 5-tuple for P ranks and n messages a round, and the case of the theorem that it comes
 * from. */
void explain_tuple(unsigned P, unsigned n);

/* Prints for how many P in 2..max there is a tuple, or no tuple is needed. */
void count_tuples(unsigned max, unsigned n);

/* Draw a schedule for at most PICTURE_RANKS ranks as SVG: its messages by rounds, and the data that
 * each rank has after each round. g->rank does not matter. */
void draw_rounds(const struct algorithm *a, const struct shape *g, FILE *out);
void draw_data(const struct algorithm *a, const struct shape *g, FILE *out);

/* Reads the files of NCOLL_TRACE, and merges them into a time-line. What is wrong with them ends the
 * program. */
struct merged *timeline_read(const char *const *paths, unsigned n_paths);
/* Writes the time-line, and says what it has; summary NULL: nothing is said. */
void timeline_write(struct merged *all, FILE *out, FILE *summary);

/* ------------------------------------------------------------------ command line -------------- */

enum command {
    COMMAND_NONE,
    COMMAND_SCHEDULE,
    COMMAND_TUPLE,
    COMMAND_LIST,
    COMMAND_TIMELINE,
    COMMAND_DRAW
};

struct options {
    enum command command;
    const struct algorithm *algorithm;
    unsigned size, radix, count;
    unsigned slots;             /* that a part may use; 0: all */
    int rank;                   /* -1: all */
    enum collective collective; /* 0: the algorithm's first */
    unsigned root;
    unsigned places;             /* 0: all ranks */
    const char *nodes, *node_of; /* as given */
    bool no_inverse, data;
    const char *far, *near; /* costs, as given */
    struct costs costs;
    const char *output; /* NULL: standard output */
    const char **files; /* of timeline */
    unsigned n_files;
    uint64_t given; /* options, see tools/arguments.h */
};

/* Reads the command line. A mistake is printed on stderr, and ends the program with EXIT_USAGE. */
void options_parse(int argc, char **argv, struct options *out);

#endif
