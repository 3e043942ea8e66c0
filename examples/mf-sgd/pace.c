/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long iterations take. On a machine with fewer cores than ranks, ranks that compute slow each
 * other down, and a straggler would be one among several. So the time of an iteration can be given: the
 * rank does its work, and sleeps for the rest of that time.
 */
#include <errno.h>
#include <time.h>

#include "mf.h"
#include "random.h"

#define NS 1000000000

static uint64_t now_real(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static void sleep_real(uint64_t at_ns)
{
    struct timespec t = {.tv_sec = (time_t)(at_ns / NS), .tv_nsec = (long)(at_ns % NS)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

const struct mf_clock mf_clock_real = {.now_ns = now_real, .sleep_until = sleep_real};

double pace_factor(const struct pace *p, int rank, uint64_t iteration)
{
    double factor =
        1 + p->jitter * (2 * random_uniform(p->seed, RANDOM_PACE, (uint64_t)rank, iteration) - 1);

    for (unsigned i = 0; i < p->n_stragglers; i++) {
        const struct straggler *s = &p->stragglers[i];
        uint64_t one = (uint64_t)i << 32 | (uint64_t)rank;
        if (s->rank == rank ||
            (s->rank < 0 && random_uniform(p->seed, RANDOM_LATE, one, iteration) < s->chance))
            factor *= s->factor;
    }
    return factor;
}

bool pace_wait(const struct pace *p, const struct mf_clock *clock, int rank, uint64_t iteration,
               uint64_t start_ns)
{
    uint64_t worked = clock->now_ns() - start_ns;
    uint64_t base = p->compute_ns > 0 ? p->compute_ns : worked;
    uint64_t whole = (uint64_t)((double)base * pace_factor(p, rank, iteration));

    if (whole > worked)
        clock->sleep_until(start_ns + whole);
    return p->compute_ns == 0 || whole >= worked;
}
