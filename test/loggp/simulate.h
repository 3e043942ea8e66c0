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
static inline struct loggp_cost cost(double L, double o, double G, double next, double receive,
                                     double gap, bool copies)
{
    return (struct loggp_cost){.message = {L, o, G},
                               .next_ns = next,
                               .receive_ns = receive,
                               .gap_ns = gap,
                               .copies = copies};
}

static inline struct loggp_job job_of(const char *name, enum collective collective, unsigned P,
                                      unsigned n, size_t count, const struct loggp_cost *c)
{
    return (struct loggp_job){
        .algorithm = ncoll__algorithm_find(name),
        .shape = {.collective = collective, .size = P, .radix = n, .count = count, .inverse = true},
        .element_bytes = 1,
        .costs = {.far = *c, .near = *c},
    };
}

static inline struct loggp_result run_job(const struct loggp_job *job)
{
    struct loggp_result result = {0};

    assert_true(algorithm_exists(job->algorithm, &job->shape));
    assert_int_equal(loggp_run(job, &result), LOGGP_OK);
    return result;
}

static inline double last_ns(const struct loggp_job *job)
{
    return run_job(job).last_ns;
}

#endif
