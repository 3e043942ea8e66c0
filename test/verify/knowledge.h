/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header keeps what a rank knows of the others in a run of lanes that synchronise: up to which
 * run each of them has ended. Chains of puts and waits lead from the beginning of run e on one rank
 * to a step of run e on another, and at its beginning a rank knows of itself that it has ended e -
 * S, its TOP, and of all others what the end of e - S has taught it, the FLOOR. So a floor and a
 * bit for each rank, of whom more is known than that, are all there is to know. What could be known
 * besides, if the end of e - S had taught nothing of some rank, is left out: the floor is then too
 * low for all, which may raise an alarm and cannot suppress one.
 */
#ifndef NCOLL_TEST_VERIFY_KNOWLEDGE_H
#define NCOLL_TEST_VERIFY_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t run_number;

struct knowledge {
    run_number floor, top;
    uint64_t bits[]; /* of each rank: all up to top */
};

#define KNOWLEDGE_BITS 64u

static inline size_t knowledge_words(unsigned P)
{
    return (P + KNOWLEDGE_BITS - 1) / KNOWLEDGE_BITS;
}

static inline size_t knowledge_bytes(unsigned P)
{
    return sizeof(struct knowledge) + knowledge_words(P) * sizeof(uint64_t);
}

static inline bool knowledge_has(const struct knowledge *k, unsigned q)
{
    return k->bits[q / KNOWLEDGE_BITS] >> q % KNOWLEDGE_BITS & 1;
}

/* The run up to which q is known to have ended. */
static inline unsigned knowledge_of(const struct knowledge *k, unsigned q)
{
    return knowledge_has(k, q) ? k->top : k->floor;
}

/* Sets what a rank knows when it begins a run. */
void knowledge_begin(struct knowledge *k, unsigned P, unsigned rank, run_number floor,
                     run_number top);

/* Learns what another rank knew in the same run, which counts ranks from `by`. */
void knowledge_merge(struct knowledge *k, const struct knowledge *other, unsigned P, unsigned by);

/* Returns the latest run that all ranks are known to have ended. */
run_number knowledge_floor(const struct knowledge *k, unsigned P);

#endif
