/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that differ from block to block: the patterns that schedules are tried with.
 */
#ifndef NCOLL_TEST_VERIFY_PATTERNS_H
#define NCOLL_TEST_VERIFY_PATTERNS_H

#include "algos/schedule.h"

#define PATTERNS           7
#define PATTERNS_REGULAR   2 /* the first ones; all others differ from block to block, with zeros */
#define PATTERNS_IRREGULAR (PATTERNS - PATTERNS_REGULAR)

static inline bool takes_counts(enum collective c)
{
    return in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS;
}

/* Writes the counts of a pattern (0..PATTERNS - 1) for g->size ranks to counts and, in an alltoall,
 * to sends, [size * size] each, else [size], and makes them those of *g, see shape_on_rank(). */
void pattern_set(struct shape *g, unsigned pattern, size_t *counts, size_t *sends);

#endif
