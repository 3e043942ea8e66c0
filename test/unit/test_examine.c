/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices are examined once a node, and each rank opens one. Ranks are processes, or threads, of one
 * node; their devices are made of memory. What ranks see of the devices may differ.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "test/support/blackboard.h"
#include "test/support/crew.h"
#include "test/support/hang.h"
#include "test/support/soft_device.h"

#define RANKS_MAX 8
#define LIMIT_NS  UINT64_C(4000000000)

/* A rank of the job: its devices, and its report. */
struct member {
    const char *device;
    unsigned hidden, locked, down;
    bool killed;

    pthread_t thread;
    ncoll_params params;
    int rc;
    char used[96];
    ncoll_error error;
    uint64_t took_ns;
};

static struct member *members; /* shared with the ranks */
static const char *transport;

static int take_part(struct member *m)
{
    uint64_t start_ns = crew_now_ns();
    ncoll_context *ctx;
    int64_t one = 1, sum = 0;

    m->params.transport = transport;
    m->params.log_level = 0;
    m->params.device = m->device;
    m->rc = ncoll_context_create(&m->params, &ctx, &m->error);
    m->took_ns = crew_now_ns() - start_ns;
    if (m->rc != NCOLL_OK)
        return 0;
    memcpy(m->used, ctx->transport->device, sizeof m->used);
    m->rc = ncoll_allreduce(ncoll_world(ctx), &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (m->rc == NCOLL_OK && sum != ctx->ranks)
        m->rc = 1;
    ncoll_context_destroy(ctx);
    return 0;
}

static int process(const ncoll_params *params, void *arg)
{
    struct member *m = &members[params->rank];

    (void)arg;
    soft.hidden = m->hidden;
    soft.locked = m->locked;
    soft.down = m->down;
    soft_fault = m->killed ? SOFT_KILLED : SOFT_WELL;
    m->params = *params;
    return take_part(m);
}

static void *thread(void *arg)
{
    take_part(arg);
    return NULL;
}

/* Runs a job of processes, which reach each other through memory. */
static void fork_job(int ranks)
{
    int codes[RANKS_MAX];
    ncoll_params params;

    transport = "shm+verbs";
    ncoll_params_init(&params, sizeof params);
    hang_after(120);
    ncoll_fork_ranks(ranks, &params, process, NULL, codes);
    hang_after(0);
}

static void expect_used(int ranks, const char *const *devices)
{
    for (int r = 0; r < ranks; r++)
        if (members[r].rc != NCOLL_OK ||
            strncmp(members[r].used, devices[r], strlen(devices[r])) != 0)
            fail_msg("rank %d: %d, uses %s, not %s: %s", r, members[r].rc, members[r].used,
                     devices[r], members[r].error.text);
}

static int fresh(void **state)
{
    (void)state;
    soft_reset();
    memset(members, 0, RANKS_MAX * sizeof *members);
    return 0;
}

/* ------------------------------------------------------------------ once a node --------------- */

static void test_processes(void **state)
{
    static const char *const first[RANKS_MAX] = {[0 ... RANKS_MAX - 1] = "soft0 "};

    (void)state;
    soft.devices = 5;
    fork_job(6);
    expect_used(6, first);
    assert_int_equal(soft_opens(), 5 + 6);
}

static void run_threads(int ranks, const char *over)
{
    struct blackboard *board = blackboard_create(ranks);

    transport = over;
    hang_after(120);
    for (int r = 0; r < ranks; r++) {
        ncoll_params_init(&members[r].params, sizeof members[r].params);
        blackboard_join(board, r, &members[r].params);
        assert_int_equal(pthread_create(&members[r].thread, NULL, thread, &members[r]), 0);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(members[r].thread, NULL);
    hang_after(0);
    blackboard_destroy(board);
    for (int r = 0; r < ranks; r++)
        if (members[r].rc != NCOLL_OK)
            fail_msg("rank %d over %s: %d, %s", r, over, members[r].rc, members[r].error.text);
}

/* A rank that is alone examines for itself. Without devices nothing is opened. */
static void test_threads(void **state)
{
    (void)state;
    soft.devices = 4;
    run_threads(5, "verbs");
    assert_int_equal(soft_opens(), 4 + 5);
    fresh(NULL);
    soft.devices = 4;
    run_threads(1, "verbs");
    assert_int_equal(soft_opens(), 4 + 1);
    fresh(NULL);
    run_threads(5, "shm");
    assert_int_equal(soft_opens(), 0);
    assert_int_equal(soft.objects, 0);
}

/* Each rank chooses among all devices. */
static void test_wishes(void **state)
{
    static const char *const devices[] = {"soft2 ", "soft0 ", "soft1 ", "soft2 "};

    (void)state;
    soft.devices = 3;
    members[0].device = members[3].device = "soft2";
    members[2].device = "soft1";
    fork_job(4);
    expect_used(4, devices);
    assert_int_equal(soft_opens(), 3 + 4);
}

/* ------------------------------------------------------------------ ranks that see others ----- */

/* Devices that a rank cannot open, or does not see, although the leader does. */
static void test_fewer_devices(void **state)
{
    static const char *const devices[] = {"soft0 ", "soft1 ", "soft1 ", "soft2 ", "soft1 "};

    (void)state;
    soft.devices = 3;
    members[1].locked = members[2].hidden = 1;
    members[3].locked = 1;
    members[3].hidden = 2;
    members[4].down = 1;
    fork_job(5);
    expect_used(5, devices);
}

/* Devices that the leader cannot open, or does not see. */
static void test_more_devices(void **state)
{
    static const char *const devices[] = {"soft2 ", "soft0 ", "soft1 ", "soft0 "};

    (void)state;
    soft.devices = 3;
    members[0].locked = 1;
    members[0].hidden = 2;
    members[2].device = "soft1";
    fork_job(4);
    expect_used(4, devices);
}

/* The rank that is asked for what it cannot have says so, and the others say which rank it was. */
static void expect_failure(int ranks, int victim, const char *cause)
{
    for (int r = 0; r < ranks; r++) {
        const struct member *m = &members[r];
        bool well = r == victim ? m->rc == NCOLL_ERR_DEVICE && strstr(m->error.cause, cause) != NULL
                                : m->rc == NCOLL_ERR_PEER && m->error.peer == victim;
        if (!well || m->took_ns > HANG_FACTOR * LIMIT_NS)
            fail_msg("rank %d of %d: %d after %.3f s, %s", r, ranks, m->rc,
                     (double)m->took_ns / 1e9, m->error.text);
    }
}

static void test_errors(void **state)
{
    static const char text[] = "what was asked for cannot be used: soft0 port 1: device soft7 was "
                               "asked for";

    for (int victim = 0; victim < 3; victim++) {
        fresh(state);
        soft.devices = 2;
        members[victim].device = "soft7";
        fork_job(3);
        expect_failure(3, victim, text);

        fresh(state);
        soft.devices = 2;
        members[victim].locked = 3;
        fork_job(3);
        expect_failure(3, victim, "soft1 port 0: cannot open it: Permission denied");

        fresh(state);
        soft.devices = 2;
        members[victim].down = 3;
        fork_job(3);
        expect_failure(3, victim, "no RDMA port is ACTIVE: soft0 port 1: the port is down");

        fresh(state);
        members[victim].hidden = 1;
        fork_job(3);
        expect_failure(3, victim, "this machine has no RDMA device");
    }
}

/* All have the same trouble, and each tells it. */
static void test_no_port(void **state)
{
    (void)state;
    soft.devices = 2;
    soft.port = IBV_PORT_INIT;
    fork_job(3);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(members[r].rc, NCOLL_ERR_DEVICE);
        assert_non_null(strstr(members[r].error.cause, "the port is init"));
    }
}

/* ------------------------------------------------------------------ the leader fails ---------- */

/* The others end at once, and know which rank it was. */
static void test_leader_killed(void **state)
{
    (void)state;
    soft.devices = 2;
    members[0].killed = true;
    fork_job(4);
    for (int r = 1; r < 4; r++)
        if (members[r].rc != NCOLL_ERR_PEER || members[r].error.peer != 0 ||
            members[r].took_ns > HANG_FACTOR * LIMIT_NS)
            fail_msg("rank %d: %d after %.3f s, %s", r, members[r].rc,
                     (double)members[r].took_ns / 1e9, members[r].error.text);
    assert_int_equal(soft_opens(), 1 + 3 * (2 + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_processes, fresh),
        cmocka_unit_test_setup(test_threads, fresh),
        cmocka_unit_test_setup(test_wishes, fresh),
        cmocka_unit_test_setup(test_fewer_devices, fresh),
        cmocka_unit_test_setup(test_more_devices, fresh),
        cmocka_unit_test_setup(test_errors, fresh),
        cmocka_unit_test_setup(test_no_port, fresh),
        cmocka_unit_test_setup(test_leader_killed, fresh),
    };

    members = mmap(NULL, RANKS_MAX * sizeof *members, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (members == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests_name("examine", tests, NULL, NULL);
}
