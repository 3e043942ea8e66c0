/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeded randomness for tests: every run draws a new seed, says it, and can be told it. */
#ifndef NCOLL_TEST_SEED_H
#define NCOLL_TEST_SEED_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* splitmix64 (Steele, Lea, Flood 2014): any state is a good one. */
static inline uint64_t random_next(struct random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns the state after n calls of random_next(). */
static inline struct random random_after(struct random r, uint64_t n)
{
    return (struct random){r.state + n * UINT64_C(0x9e3779b97f4a7c15)};
}

/* 0..limit-1 */
static inline uint64_t random_below(struct random *r, uint64_t limit)
{
    return random_next(r) % limit;
}

/* A generator of its own for each (seed, stream). */
static inline struct random random_stream(uint64_t seed, uint64_t stream)
{
    struct random r = {seed ^ stream * UINT64_C(0xd1b54a32d192ed03)};
    return (struct random){random_next(&r)};
}

/* The seed of this run: NCOLL_TEST_SEED, else a new one. Printed at the first call. */
uint64_t test_seed(void);

#endif
