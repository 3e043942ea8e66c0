/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/measure/distribution.h"

#include <limits.h>
#include <stdlib.h>

/* m_i */
static size_t block_elements(enum distribution distribution, size_t c, size_t i, size_t ranks)
{
    size_t others = ranks - 1;

    if (distribution == DISTRIBUTION_BROADCAST)
        return i == 0 ? ranks * c : 0;
    if (distribution == DISTRIBUTION_REGULAR || 2 * i == others)
        return c;
    if (2 * i > others)
        return 2 * c - block_elements(distribution, c, others - i, ranks);
    return (2 * c * (others - i) + others / 2) / others;
}

bool blocks_make(enum distribution distribution, size_t count, int ranks, struct blocks *out)
{
    size_t n = (size_t)ranks, at = 0;

    *out = (struct blocks){
        .counts = calloc(n, sizeof *out->counts),
        .displs = calloc(n, sizeof *out->displs),
        .int_counts = calloc(n, sizeof *out->int_counts),
        .int_displs = calloc(n, sizeof *out->int_displs),
    };
    if (out->counts == NULL || out->displs == NULL || out->int_counts == NULL ||
        out->int_displs == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        out->counts[i] = block_elements(distribution, count, i, n);
        out->displs[i] = at;
        if (at + out->counts[i] <= INT_MAX) {
            out->int_counts[i] = (int)out->counts[i];
            out->int_displs[i] = (int)at;
        }
        out->some_empty |= out->counts[i] == 0;
        at += out->counts[i];
    }
    return true;
}

void blocks_free(struct blocks *blocks)
{
    free(blocks->int_displs);
    free(blocks->int_counts);
    free(blocks->displs);
    free(blocks->counts);
    *blocks = (struct blocks){0};
}
