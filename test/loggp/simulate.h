/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the simulator in tests. */
#ifndef NCOLL_TEST_LOGGP_SIMULATE_H
#define NCOLL_TEST_LOGGP_SIMULATE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* after those */
#include <cmocka.h>

#include "loggp/loggp.h"

/* Costs in whole nanoseconds, so that sums of them are exact. */
static inline struct sim_cost cost(double L, double o, double G, double next, double receive,
                                   double gap, bool copies)
{
    return (struct sim_cost){.message = {L, o, G},
                             .next_ns = next,
                             .receive_ns = receive,
                             .gap_ns = gap,
                             .copies = copies};
}

static inline struct sim_job job_of(const char *name, enum collective collective, unsigned P,
                                    unsigned n, size_t count, const struct sim_cost *c)
{
    return (struct sim_job){
        .algorithm = ncoll__algorithm_find(name),
        .shape = {.collective = collective, .size = P, .radix = n, .count = count, .inverse = true},
        .element_bytes = 1,
        .costs = {.far = *c, .near = *c},
    };
}

static inline struct sim_result run_job(const struct sim_job *job)
{
    struct sim_result result = {0};

    assert_true(algorithm_exists(job->algorithm, &job->shape));
    assert_int_equal(sim_run(job, &result), SIM_OK);
    return result;
}

static inline double last_ns(const struct sim_job *job)
{
    return run_job(job).last_ns;
}

#endif
