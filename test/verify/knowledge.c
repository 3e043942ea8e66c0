/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/knowledge.h"

#include <string.h>

void knowledge_begin(struct knowledge *k, unsigned P, unsigned rank, run_number floor,
                     run_number top)
{
    k->floor = floor;
    k->top = top;
    memset(k->bits, 0, knowledge_words(P) * sizeof *k->bits);
    k->bits[rank / KNOWLEDGE_BITS] |= UINT64_C(1) << rank % KNOWLEDGE_BITS;
}

/* Bits 0.. of `from` to bits `by`.. */
static void or_up(uint64_t *restrict into, const uint64_t *restrict from, size_t words, unsigned by)
{
    size_t whole = by / KNOWLEDGE_BITS, part = by % KNOWLEDGE_BITS;

    for (size_t w = whole; w < words; w++) {
        into[w] |= from[w - whole] << part;
        if (part > 0 && w > whole)
            into[w] |= from[w - whole - 1] >> (KNOWLEDGE_BITS - part);
    }
}

/* Bits `by`.. of `from` to bits 0.. */
static void or_down(uint64_t *restrict into, const uint64_t *restrict from, size_t words,
                    unsigned by)
{
    size_t whole = by / KNOWLEDGE_BITS, part = by % KNOWLEDGE_BITS;

    for (size_t w = whole; w < words; w++) {
        into[w - whole] |= from[w] >> part;
        if (part > 0 && w + 1 < words)
            into[w - whole] |= from[w + 1] << (KNOWLEDGE_BITS - part);
    }
}

/* The bits beyond P of the last word. */
static void clear_rest(uint64_t *bits, unsigned P)
{
    if (P % KNOWLEDGE_BITS > 0)
        bits[P / KNOWLEDGE_BITS] &= (UINT64_C(1) << P % KNOWLEDGE_BITS) - 1;
}

void knowledge_merge(struct knowledge *k, const struct knowledge *other, unsigned P, unsigned by)
{
    size_t words = knowledge_words(P);

    k->floor = other->floor > k->floor ? other->floor : k->floor;
    if (other->top != k->top) /* a message of another run: a mistake that shows elsewhere */
        return;
    or_up(k->bits, other->bits, words, by);
    if (by == 0)
        return;
    clear_rest(k->bits, P);
    or_down(k->bits, other->bits, words, P - by);
}

run_number knowledge_floor(const struct knowledge *k, unsigned P)
{
    for (unsigned q = 0; q < P; q += KNOWLEDGE_BITS) {
        unsigned n = P - q < KNOWLEDGE_BITS ? P - q : KNOWLEDGE_BITS;
        if (k->bits[q / KNOWLEDGE_BITS] != UINT64_MAX >> (KNOWLEDGE_BITS - n))
            return k->floor;
    }
    return k->top > k->floor ? k->top : k->floor;
}
