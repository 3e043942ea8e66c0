/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared notifications: ranks that look at what comes to a neighbour. On pretended nodes, where
 * what comes from other nodes goes through shared memory as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(10000000000))
#define SCANS    8 /* as many as there are sets of slots */

struct meeting {
    _Atomic int started, stopped, ended, go_on;
};

/* Goes on with its calls until somebody says so. */
static int progress_until(struct rank *r, const _Atomic int *word, int value)
{
    while (atomic_load(word) < value) {
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
        usleep(100);
    }
    return 0;
}

static void sit_until(const _Atomic int *word, int value)
{
    while (atomic_load(word) < value)
        usleep(100);
}

/*
 * Nodes {0 1 2} {3 4}. Rank 0, to which the message from the other node comes, does nothing from
 * before that is sent until its neighbours have the result.
 */
static int late_receiver(struct rank *r)
{
    struct meeting *m = r->shared;
    int64_t in = 1 << r->rank, out = 0;
    ncoll_request *request;

    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK); /* connects all that are needed */
    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    out = 0;
    if (r->rank >= 3)
        sit_until(&m->stopped, 1);
    CHECK_STATUS(ncoll_allreduce_start(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank == 1 || r->rank == 2)
        atomic_fetch_add(&m->started, 1);
    if (r->rank == 0) {
        /* what its node brings has come, and has been put */
        for (int i = 0; i < 2000; i += atomic_load(&m->started) == 2) {
            CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
            usleep(100);
        }
        atomic_store(&m->stopped, 1);
        sit_until(&m->ended, 2);
    }
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK(out == 31);
    if (r->rank == 1 || r->rank == 2)
        atomic_fetch_add(&m->ended, 1);
    return 0;
}

/* Blocks are gathered here: those of the other node have come as one. */
static int late_receiver_of_blocks(struct rank *r)
{
    struct meeting *m = r->shared;
    int64_t in = 1 << r->rank, out[5] = {0};
    ncoll_request *request;

    CHECK_STATUS(ncoll_allgather(r->world, &in, out, 1, NCOLL_INT64, LIMIT_NS), NCOLL_OK);
    memset(out, 0, sizeof out);
    if (r->rank >= 3)
        sit_until(&m->stopped, 1);
    CHECK_STATUS(ncoll_allgather_start(r->world, &in, out, 1, NCOLL_INT64, &request), NCOLL_OK);
    if (r->rank == 1 || r->rank == 2)
        atomic_fetch_add(&m->started, 1);
    if (r->rank == 0) {
        for (int i = 0; i < 2000; i += atomic_load(&m->started) == 2) {
            CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
            usleep(100);
        }
        atomic_store(&m->stopped, 1);
        sit_until(&m->ended, 2);
    }
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    for (int q = 0; q < 5; q++)
        CHECK(out[q] == 1 << q);
    if (r->rank == 1 || r->rank == 2)
        atomic_fetch_add(&m->ended, 1);
    return 0;
}

/*
 * Nodes {0 1} {2 3}. Rank 3 comes to a halt in a call in which it looks at slot 1 of rank 2, where
 * the leader of the other node, rank 0, has put. Rank 0 puts to the same slot in each of the scans
 * that follow, in which rank 2 needs nobody above it; the set of slots comes round, but may not be
 * used again.
 */
static int slow_neighbour(struct rank *r)
{
    struct meeting *m = r->shared;
    int64_t in = 1 + r->rank, sum = 0, sums[SCANS];
    ncoll_request *request, *scans[SCANS];

    CHECK_STATUS(ncoll_scan(r->world, &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    if (r->rank < 2)
        sit_until(&m->stopped, 1);
    CHECK_STATUS(ncoll_allreduce_start(r->world, &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank == 3) {
        usleep(100000);
        atomic_store(&m->stopped, 1);
        sit_until(&m->go_on, 1);
    }
    for (int i = 0; i < SCANS; i++)
        CHECK_STATUS(
            ncoll_scan_start(r->world, &in, &sums[i], 1, NCOLL_INT64, NCOLL_SUM, &scans[i]),
            NCOLL_OK);
    if (r->rank == 2) {
        uint64_t until = crew_now_ns() + 300000000;
        while (crew_now_ns() < until)
            CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
        atomic_store(&m->go_on, 1);
    } else if (r->rank < 2 && progress_until(r, &m->go_on, 1) != 0) {
        return 1;
    }
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK(sum == 10);
    for (int i = 0; i < SCANS; i++) {
        CHECK_STATUS(ncoll_wait(&scans[i], LIMIT_NS), NCOLL_OK);
        CHECK(sums[i] == (r->rank + 1) * (r->rank + 2) / 2);
    }
    return 0;
}

/* Rank 1 looks at slots of rank 0, but calls something else: whoever sees it says so. */
static int other_call(struct rank *r)
{
    int64_t in = 1, out[2];
    size_t count = r->rank == 1 ? 2 : 1;
    int rc = ncoll_allreduce(r->world, (int64_t[]){in, in}, out, count, NCOLL_INT64, NCOLL_SUM,
                             LIMIT_NS);

    CHECK(rc == NCOLL_ERR_MISMATCH || rc == NCOLL_ERR_PEER);
    return 0;
}

/* The receiver ends its context at once, and its neighbour finds what has come there all the
 * same. */
static int receiver_leaves(struct rank *r)
{
    struct meeting *m = r->shared;
    ncoll_group *group, *other; /* whose windows lie in one segment */
    ncoll_request *request;

    CHECK_STATUS(ncoll_group_dup(r->world, &group, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(group, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(group, &request), NCOLL_OK);
    if (r->rank == 3) {
        atomic_store(&m->stopped, 1);
        sit_until(&m->ended, 1);
    } else if (r->rank == 2) {
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        atomic_store(&m->ended, 1);
        return 0;
    }
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    return 0;
}

static void run(const char *nodes, int ranks, crew_body body)
{
    struct meeting *m = crew_share(sizeof *m);
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = "shm";
    params.nodes = nodes;
    params.log_level = 0;
    params.barrier_algorithm = params.allreduce_algorithm = "hierarchical-shared";
    params.allgather_algorithm = "hierarchical-packed";
    params.scan_algorithm = "doubling";
    for (int repeat = 0; repeat < 5; repeat++) {
        *m = (struct meeting){0};
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 60, body, m), 0);
    }
    crew_unshare(m, sizeof *m);
}

static void test_late_receiver(void **state)
{
    (void)state;
    run("0,0,0,1,1", 5, late_receiver);
    run("0,0,0,1,1", 5, late_receiver_of_blocks);
}

static void test_slow_neighbour(void **state)
{
    (void)state;
    run("0,0,1,1", 4, slow_neighbour);
}

static void test_other_call(void **state)
{
    (void)state;
    run("0,0,1,1", 4, other_call);
}

static void test_receiver_leaves(void **state)
{
    (void)state;
    run("0,0,1,1", 4, receiver_leaves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_receiver),
        cmocka_unit_test(test_slow_neighbour),
        cmocka_unit_test(test_other_call),
        cmocka_unit_test(test_receiver_leaves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
