/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the blocks of a collective with counts differ. P ranks, blocks of c elements on average:
 *
 *     regular        m_i = c
 *     decreasing     m_i = 2c (P-1-i) / (P-1), rounded so that m_i + m_{P-1-i} = 2c
 *     broadcast      m_0 = P c, all others 0
 *
 * All have the same sum, P c, so that times of one size may be compared. Source: M. Al Ahad et al.,
 * "Efficient Algorithms for Collective Operations with Notified Communication in Shared Windows",
 * PAW-ATM 2018, section on allgatherv.
 */
#ifndef NCOLL_TOOLS_BENCH_MEASURE_DISTRIBUTION_H
#define NCOLL_TOOLS_BENCH_MEASURE_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>

enum distribution {
    DISTRIBUTION_NONE, /* of collectives without counts */
    DISTRIBUTION_REGULAR,
    DISTRIBUTION_DECREASING,
    DISTRIBUTION_BROADCAST,
    DISTRIBUTIONS
};

/* Block q has counts[q] elements and begins at displs[q]. */
struct blocks {
    size_t *counts, *displs;
    int *int_counts, *int_displs; /* the same as int, for MPI, if they fit */
    bool some_empty;
};

/* Returns false if there is no memory. Call blocks_free() in either case. */
bool blocks_make(enum distribution distribution, size_t count, int ranks, struct blocks *out);
void blocks_free(struct blocks *blocks);

#endif
