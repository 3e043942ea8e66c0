/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_VERIFY_SWEEP_H
#define NCOLL_TEST_VERIFY_SWEEP_H

#include "test/verify/check.h"

/* The schedules to go through. */
struct sweep {
    const struct algorithm *only; /* NULL: the registry */
    enum collective collective;   /* 0: all */
    unsigned min_p, max_p;
    bool sampled;   /* of more than a few ranks only some roots and numbers of places, drawn */
    unsigned radix; /* 0: 1..8, and 9..16 up to RADIX_WIDE_P ranks, one of them above; lists */
};

/* One large size drawn from the seed: each algorithm and collective with some radix and root, if
 * its ranks have O(log P) steps. */
void sweep_large(const struct sweep *sweep, uint64_t *seed, struct checker *checker);

/* All splits of ranks on nodes (test/verify/splits.h), of which this is share j of J: each
 * algorithm that needs to know of nodes, with n = 1..8 and a list; a rooted one for each root, with
 * one n after another. And some larger ones, which are drawn. If n > 0, of the splits of more than 8
 * ranks only n, drawn from the seed, and of the larger ones a share like that. */
void sweep_splits(const struct sweep *sweep, unsigned j, unsigned J, unsigned n, uint64_t seed,
                  struct checker *checker);

/* What is chosen by default in large jobs (test/verify/chosen.h), in all of them or in one that is
 * drawn from the seed: share j of J. */
void sweep_chosen(const struct sweep *sweep, unsigned j, unsigned J, bool all_jobs, uint64_t seed,
                  struct checker *checker);

/* Everything for P ranks, and some lists of radices drawn from the seed; what is wrong is
 * printed. */
void sweep_size(const struct sweep *sweep, unsigned P, uint64_t seed, struct checker *checker);

#endif
