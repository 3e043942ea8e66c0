/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/cpu_time.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZER_SLOWER 20
#else
#define SANITIZER_SLOWER 1
#endif

double cpu_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ------------------------------------------------------------------ fixed piece of work ------- */

#define NUMBERS    ((size_t)1 << 20)
#define REPEATS    4
#define NOMINAL_MS 18.0

/* A table of numbers is copied, and each is mixed into the sum of those before. */
static uint64_t work(uint64_t *from, uint64_t *to)
{
    uint64_t sum = 1;

    for (unsigned r = 0; r < REPEATS; r++) {
        memcpy(to, from, NUMBERS * sizeof *to);
        for (size_t i = 0; i < NUMBERS; i++) {
            sum = (sum ^ to[i]) * UINT64_C(0x9e3779b97f4a7c15);
            sum ^= sum >> 29;
        }
        from[r] = sum;
    }
    return sum;
}

/* How many times longer it takes now than it may. */
static double slowness(void)
{
    uint64_t *from = calloc(NUMBERS, sizeof *from), *to = calloc(NUMBERS, sizeof *to);
    double factor = 1;

    if (from != NULL && to != NULL) {
        double start = cpu_ms();
        volatile uint64_t sum = work(from, to);
        (void)sum;
        factor = (cpu_ms() - start) / NOMINAL_MS;
    }
    free(from);
    free(to);
    return factor > 1 ? factor : 1;
}

bool cpu_is_within(double ms, double limit_ms)
{
    limit_ms *= SANITIZER_SLOWER;
    return ms <= limit_ms || ms <= limit_ms * slowness();
}
