/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits for a late one costs next to no processor time, whichever call it waits in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define LATE_US 1000000
/* In each second of waiting, begun or whole. */
#define CPU_US_MAX 10000 /* spinning, yielding, and looking after the peers every 50 ms */
#define SLEEPS_MAX 100   /* 20 of 50 ms each, and some that end early */
/* Other work on the machine adds to both, but not in each try; a rank that does not sleep fails all. */
#define TRIES    5
#define REPEATED 20

enum way { BLOCKING, WITH_TIMEOUT, REQUEST, PERSISTENT, ALL, ANY, SOME, WAYS };

/* Forked along. */
static struct {
    enum way way;
    int before; /* calls of the same kind */
} plan;

static int64_t in[4], out[4], other_out[4];

/* Waits for requests on two groups, together. */
static int call_both(struct rank *r, ncoll_group *other)
{
    ncoll_request *requests[2];
    size_t indices[2], n;
    int rc;

    if ((rc = ncoll_allreduce_start(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM, &requests[0])) !=
            NCOLL_OK ||
        (rc = ncoll_allreduce_start(other, in, other_out, 4, NCOLL_INT64, NCOLL_SUM,
                                    &requests[1])) != NCOLL_OK)
        return rc;
    if (plan.way == ANY)
        rc = ncoll_wait_any(requests, 2, indices, NCOLL_BLOCK);
    else if (plan.way == SOME)
        rc = ncoll_wait_some(requests, 2, indices, &n, NCOLL_BLOCK);
    return rc == NCOLL_OK ? ncoll_wait_all(requests, 2, NULL, NCOLL_BLOCK) : rc;
}

static int call_once(struct rank *r, ncoll_request *persistent, ncoll_group *other)
{
    ncoll_request *request;
    int rc;

    switch (plan.way) {
    case BLOCKING:
        return ncoll_allreduce(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    case WITH_TIMEOUT:
        return ncoll_allreduce(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM,
                               HANG_FACTOR * INT64_C(20000000000));
    case REQUEST:
        rc = ncoll_allreduce_start(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM, &request);
        return rc == NCOLL_OK ? ncoll_wait(&request, NCOLL_BLOCK) : rc;
    case PERSISTENT:
        rc = ncoll_start(persistent);
        return rc == NCOLL_OK ? ncoll_wait(&persistent, NCOLL_BLOCK) : rc;
    default:
        return call_both(r, other);
    }
}

static uint64_t sleeps(struct rank *r)
{
    struct ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.sleeps : 0;
}

static int wait_for_the_late(struct rank *r)
{
    ncoll_request *persistent = NULL;
    ncoll_group *other;
    bool late = r->rank == r->ranks - 1;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    if (plan.way == PERSISTENT)
        CHECK_STATUS(
            ncoll_allreduce_init(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM, &persistent),
            NCOLL_OK);
    for (int i = 0; i < plan.before; i++)
        CHECK_STATUS(call_once(r, persistent, other), NCOLL_OK);
    if (late)
        usleep(LATE_US);
    uint64_t cpu = crew_cpu_us();
    uint64_t slept = sleeps(r), at = crew_now_ns();
    CHECK_STATUS(call_once(r, persistent, other), NCOLL_OK);
    if (!late) {
        cpu = crew_cpu_us() - cpu;
        slept = sleeps(r) - slept;
        uint64_t seconds = 1 + (crew_now_ns() - at) / 1000000000;
        if (cpu > seconds * CPU_US_MAX || slept == 0 || slept > seconds * SLEEPS_MAX)
            fprintf(stderr, "way %d after %d calls: %llu us of %.0f, %llu sleeps\n", plan.way,
                    plan.before, (unsigned long long)cpu, (double)(crew_now_ns() - at) / 1e3,
                    (unsigned long long)slept);
        CHECK(cpu <= seconds * CPU_US_MAX && slept > 0 && slept <= seconds * SLEEPS_MAX);
    }
    if (persistent != NULL)
        CHECK_STATUS(ncoll_request_free(&persistent), NCOLL_OK);
    return 0;
}

static void expect_idle(int ranks)
{
    int failed = 1;

    for (int i = 0; i < TRIES && failed != 0; i++)
        failed = crew_run(CREW_PROCESSES, ranks, NULL, 60, wait_for_the_late, NULL);
    assert_int_equal(failed, 0);
}

static void test_ways(void **state)
{
    (void)state;
    for (plan.way = BLOCKING; plan.way < WAYS; plan.way++) {
        plan.before = plan.way == BLOCKING ? 0 : REPEATED;
        expect_idle(2);
    }
}

/* Ranks that outnumber the cores, and repeat what they call. */
static void test_many(void **state)
{
    (void)state;
    plan.way = BLOCKING;
    plan.before = REPEATED;
    expect_idle(2);
    expect_idle(2 * (int)sysconf(_SC_NPROCESSORS_ONLN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ways), cmocka_unit_test(test_many)};

    return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
