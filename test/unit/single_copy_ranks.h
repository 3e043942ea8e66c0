/* SPDX-License-Identifier: BSD-3-Clause */
/* This header has what tests of single copies (NCOLL_SINGLE_COPY) share. */
#ifndef NCOLL_TEST_SINGLE_COPY_RANKS_H
#define NCOLL_TEST_SINGLE_COPY_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))
#define COUNT    ((size_t)1 << 16) /* of int64: several segments */
#define BYTES    (COUNT * sizeof(int64_t))
#define FEW      ((size_t)4096) /* one segment */
#define RANKS    4

static inline ncoll_params with_single_copies(void)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.single_copy_bytes = 1;
    return params;
}

static inline uint64_t single_copied_bytes(const struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.lent_bytes : UINT64_MAX;
}

static inline int64_t value(int rank, int round, size_t i)
{
    return (int64_t)(i * 7919 + (size_t)round * 104729 + (size_t)rank);
}

static inline void fill(int64_t *vector, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        vector[i] = value(rank, round, i);
}

static inline bool is_filled(const int64_t *vector, size_t count, int rank, int round)
{
    for (size_t i = 0; i < count; i++)
        if (vector[i] != value(rank, round, i))
            return false;
    return true;
}

#endif
