/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix: every operation on every type, for every number of ranks, radix and count, by every
 * algorithm that serves it, in place and not, against the serial reference.
 *
 * A combination is (ranks, operation and type, count, radix). It is run with the algorithm that the
 * library chooses and with those of the registry that exist for it.
 */
#ifndef NCOLL_TEST_MATRIX_H
#define NCOLL_TEST_MATRIX_H

#include <stdatomic.h>

#include "user_ops.h"

#define RANKS_MAX      9
#define MATRIX_RADIX   8
#define MATRIX_COUNTS  6
#define OPERATIONS_MAX 160
#define TYPES_LIMIT    16u /* types that the card of a message can tell apart */
#define RUNS_MAX       256 /* of one operation and count */

extern const size_t matrix_counts[MATRIX_COUNTS];

/* Shared by the ranks. */
struct tally {
    _Atomic uint64_t combinations, runs, wrong;
    /* Hashes of results that must have the same bits on all ranks. Two sets, used in turn: a rank
     * is at most one barrier ahead of one that still compares. */
    uint64_t hashes[2][RUNS_MAX][RANKS_MAX];
};

struct matrix {
    struct operation operations[OPERATIONS_MAX];
    unsigned n_operations;
    unsigned n_builtin; /* the user-defined ones come after these */
    uint64_t seed;
    const unsigned char *picked; /* a byte for each combination; NULL: all */
    struct tally *tally;
};

/* The number of a combination, from 0. */
size_t matrix_index(const struct matrix *m, int ranks, unsigned operation, unsigned count,
                    unsigned radix);

/* What one rank does; arg is the struct matrix. */
int matrix_rank(const ncoll_params *params, void *arg);

#endif
