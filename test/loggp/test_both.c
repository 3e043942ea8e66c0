/* SPDX-License-Identifier: BSD-3-Clause */
/* Both simulators in one program: the schedule of a barrier by itself, and contexts that run it. */
#include "test/loggp/simulate.h"
#include "loggp/queue.h"
#include "transport/sim/engine.h"

static int make_barrier(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    ncoll_error error;

    (void)arg;
    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK)
        return 1;
    int status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status != NCOLL_OK;
}

static void both_run(void **state)
{
    struct loggp_cost c = cost(1000, 200, 1, 200, 100, 0, false);
    struct loggp_job schedule = job_of("dissemination", COLL_BARRIER, 8, 1, 0, &c);
    struct sim_config contexts = {.ranks = 8, .seed = 1};
    struct sim_report report;

    (void)state;
    assert_true(last_ns(&schedule) == 3900);
    assert_true(sim_run(&contexts, NULL, make_barrier, NULL, &report));
    assert_true(report.messages > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_run)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
