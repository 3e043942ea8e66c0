/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix: every collective by every algorithm that serves it, for every number of ranks; to
 * each of these pairs the seed draws type, operation, radix, counts, root, places and how the call
 * is driven. What comes out is compared with a serial reference.
 *
 * A combination is one number of ranks and an index: the index takes turns in the pairs, and seeds
 * the rest. Or, for allreduce, it stands for one of every type x operation x radix 1..8 x count of
 * a list, and takes turns in the algorithms that serve that.
 */
#ifndef NCOLL_TEST_MATRIX_H
#define NCOLL_TEST_MATRIX_H

#include <stdatomic.h>

#include "test/support/exercise.h"

#define RANKS_MAX 17
#define PAIRS_MAX 256

struct pair {
    enum collective collective;
    const struct algorithm *algorithm; /* NULL: the library's choice */
    bool compressed, stale;
};

/* Shared by forked ranks; each rank of a launched job has its own. */
struct tally {
    _Atomic uint64_t combinations, wrong;
    _Atomic uint64_t refused; /* rightly: no such radix, or not for the operation or counts */
    _Atomic uint64_t runs[PAIRS_MAX];
};

struct matrix {
    uint64_t seed, sample; /* combinations of each number of ranks; 0: every one */
    uint64_t only;         /* UINT64_MAX: all of them */
    bool every;            /* of the allreduces, in place of a sample of everything */
    bool alone;            /* each in a context of its own, which ends with it */
    bool late;             /* with the transport of test/support/late.h */
    struct pair pairs[PAIRS_MAX];
    unsigned n_pairs;
    struct tally *tally;
    void *boards[2]; /* of every allreduce, in turn: shared by forked ranks; NULL: there are none */
};

/* The largest reference of an allreduce. */
size_t matrix_board_bytes(void);

/* Runs one rank; arg is the struct matrix. */
int matrix_rank(const ncoll_params *params, void *arg);

/* Runs one rank of a launched job; the tally then has what all ranks found wrong, and *rank is
 * set. */
int matrix_launched_rank(const ncoll_params *params, struct matrix *m, int *rank);

#endif
