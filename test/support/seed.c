/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

uint64_t test_seed(void)
{
    static uint64_t seed;
    const char *given = getenv("NCOLL_TEST_SEED");

    if (seed != 0)
        return seed;
    if (given != NULL)
        seed = strtoull(given, NULL, 0);
    else if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        abort();
    seed |= 1; /* 0 means: not drawn yet */
    fprintf(stderr, "NCOLL_TEST_SEED=%" PRIu64 "\n", seed);
    return seed;
}
