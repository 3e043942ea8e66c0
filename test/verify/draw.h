/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_VERIFY_DRAW_H
#define NCOLL_TEST_VERIFY_DRAW_H

#include <stdint.h>

#include "algos/schedule.h"

/* The next number of a sequence that its seed determines (splitmix64). */
static inline uint64_t draw(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* A sample of what comes one by one: of the `left` that are still to come, `wanted` are taken (Knuth,
 * The Art of Computer Programming, volume 2, 3.4.2, algorithm S). */
struct sample {
    unsigned left, wanted;
    uint64_t seed;
};

static inline bool sample_takes(struct sample *s)
{
    bool taken = draw(&s->seed) % s->left-- < s->wanted;

    s->wanted -= taken;
    return taken;
}

/* Two to four numbers from 1 to `most`. */
static inline unsigned draw_list(uint64_t *seed, unsigned most)
{
    unsigned n[4], k = 2 + (unsigned)(draw(seed) % 3);

    for (unsigned l = 0; l < k; l++)
        n[l] = 1 + (unsigned)(draw(seed) % most);
    return ncoll__radix_list(n, k);
}

#endif
