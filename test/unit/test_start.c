/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that fail while contexts are being created over verbs, and ranks that destroy theirs in the
 * middle of a first call. The others hear of it at once, whichever bootstrap they have, and of
 * whom. Ranks are threads of this process and their device is made of memory, so what fails is
 * chosen.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/inspect.h"
#include "test/support/blackboard.h"
#include "test/support/crew.h"
#include "test/support/hang.h"
#include "test/support/port.h"
#include "test/support/soft_device.h"

#define RANKS_MAX 8
#define PATIENT   (HANG_FACTOR * INT64_C(30000000000)) /* the bootstrap's time-out */
#define LIMIT_NS  UINT64_C(3000000000)

struct member {
    pthread_t thread;
    ncoll_params params;
    enum soft_fault fault;
    int victim;
    int rc;
    ncoll_error error;
    uint64_t ended_ns;
    ncoll_context *ctx;
    int64_t number;
};

static struct member members[RANKS_MAX];

/* Runs body on so many threads; the victim's device has the fault. */
static void run(int ranks, bool tcp, int victim, enum soft_fault fault, void *(*body)(void *))
{
    struct blackboard *board = blackboard_create(ranks);
    char root[32];

    soft_reset();
    snprintf(root, sizeof root, "localhost:%d", free_port());
    hang_after(120);
    for (int r = 0; r < ranks; r++) {
        struct member *m = &members[r];
        *m = (struct member){.victim = victim, .fault = r == victim ? fault : SOFT_WELL};
        ncoll_params_init(&m->params, sizeof m->params);
        blackboard_join(board, r, &m->params);
        m->params.transport = "verbs";
        m->params.bootstrap_timeout_ns = PATIENT;
        m->params.log_level = 0;
        if (tcp) {
            m->params.bootstrap = NCOLL_BOOTSTRAP_TCP;
            m->params.root = root;
        }
        assert_int_equal(pthread_create(&m->thread, NULL, body, m), 0);
    }
    for (int i = 0; i < ranks; i++) { /* the victim may wait for its burial */
        int r = (victim + 1 + i) % ranks;
        if (r == victim)
            soft_bury();
        pthread_join(members[r].thread, NULL);
    }
    hang_after(0);
    blackboard_destroy(board);
}

/* ------------------------------------------------------------------ failing ------------------- */

static void *create(void *arg)
{
    struct member *m = arg;

    soft_fault = m->fault;
    m->rc = ncoll_context_create(&m->params, &m->ctx, &m->error);
    m->ended_ns = crew_now_ns();
    if (m->rc == NCOLL_OK)
        ncoll_context_destroy(m->ctx);
    return NULL;
}

static void lose_one(int ranks, bool tcp, int victim, enum soft_fault fault)
{
    uint64_t start_ns = crew_now_ns();
    char who[32];

    snprintf(who, sizeof who, "rank %d failed", victim);
    run(ranks, tcp, victim, fault, create);
    for (int r = 0; r < ranks; r++) {
        const struct member *m = &members[r];
        bool well = r == victim ? m->rc < 0 && m->rc != NCOLL_ERR_PEER
                                : m->rc == NCOLL_ERR_PEER && m->error.peer == victim &&
                                      strstr(m->error.cause, who) != NULL &&
                                      m->ended_ns - start_ns < HANG_FACTOR * LIMIT_NS;
        if (!well && !(fault == SOFT_DIES && r == victim))
            fail_msg("rank %d of %d, fault %d of rank %d, %s: %d after %.3f s, %s", r, ranks, fault,
                     victim, tcp ? "tcp" : "callbacks", m->rc,
                     (double)(m->ended_ns - start_ns) / 1e9, m->error.text);
    }
    assert_int_equal(soft.objects, 0);
}

static void lose_each(bool tcp)
{
    for (enum soft_fault fault = SOFT_NO_CONTEXT; fault <= SOFT_DIES; fault++)
        for (int ranks = 2; ranks <= RANKS_MAX; ranks += ranks < 4 ? 1 : 2)
            for (int victim = 0; victim < ranks; victim += ranks < 4 ? 1 : 3)
                lose_one(ranks, tcp, victim, fault);
}

/* Callbacks cannot tell who is gone. */
static void test_failure_with_callbacks(void **state)
{
    (void)state;
    lose_each(false);
}

/* The connections of the bootstrap tell that a rank has left, not why. */
static void test_failure_with_tcp(void **state)
{
    (void)state;
    lose_each(true);
}

/* ------------------------------------------------------------------ leaving ------------------- */

/* In a job of six all ranks but those at distance 3 are connected from the start. In this bcast
 * nobody needs rank 3 but rank 0, whose children all others are. */
#define QUITTER 3
static struct quitting {
    _Atomic int at_once, has_quit; /* ranks 0 and 3 have accepted each other's offers */
    _Atomic int in_time; /* those of the two that were not connected yet when rank 3 left */
} quitting;

static int bcast(struct member *m, int64_t timeout_ns)
{
    return ncoll_bcast(ncoll_world(m->ctx), &m->number, 1, NCOLL_INT64, 0, timeout_ns);
}

/* Until the offers have been accepted, and no further, unless all others have just done the same. */
static int begin_to_connect(struct member *m)
{
    const struct wiring *wiring = &ncoll_world(m->ctx)->wiring;
    int rc = NCOLL_TIMEOUT;
    bool begun = false;

    while (rc == NCOLL_TIMEOUT && wiring->state != WIRING_MEET &&
           !(begun && wiring->state == WIRING_IDLE)) {
        rc = bcast(m, NCOLL_TEST);
        begun |= wiring->state != WIRING_IDLE;
    }
    if (rc == NCOLL_TIMEOUT && wiring->state == WIRING_MEET)
        atomic_fetch_add(&quitting.in_time, 1);
    atomic_fetch_add(&quitting.at_once, 1);
    while (rc == NCOLL_TIMEOUT && quitting.at_once < 2)
        sched_yield();
    return rc;
}

static void *call(void *arg)
{
    struct member *m = arg;
    int rank = m->params.rank;

    if ((m->rc = ncoll_context_create(&m->params, &m->ctx, &m->error)) != NCOLL_OK)
        return NULL;
    if (rank == 0 || rank == QUITTER)
        m->rc = begin_to_connect(m);
    uint64_t start_ns = crew_now_ns();
    if (rank != QUITTER) {
        while (rank == 0 && !quitting.has_quit)
            sched_yield();
        usleep(rank == 0 ? 50000 : 0); /* the others pass on what rank 3 has told them */
        do
            m->rc = bcast(m, 50000000);
        while (m->rc == NCOLL_TIMEOUT && crew_now_ns() - start_ns < HANG_FACTOR * LIMIT_NS);
        m->error = *ncoll_last_error(m->ctx);
    }
    ncoll_context_destroy(m->ctx);
    if (rank == QUITTER)
        quitting.has_quit = 1;
    return NULL;
}

static void leave_while_connecting(bool tcp)
{
    setenv("NCOLL_BCAST_ALGORITHM", "knomial", 1);
    setenv("NCOLL_RADIX", "4", 1);
    for (int tries = 0; tries == 0 || (quitting.in_time < 2 && tries < 100); tries++) {
        quitting = (struct quitting){0};
        run(6, tcp, QUITTER, SOFT_WELL, call);
    }
    unsetenv("NCOLL_BCAST_ALGORITHM");
    unsetenv("NCOLL_RADIX");
    assert_int_equal(members[QUITTER].rc, NCOLL_TIMEOUT);
    for (int r = 0; r < 6; r++) {
        const struct member *m = &members[r];
        if (r != QUITTER && (m->rc != NCOLL_ERR_PEER || m->error.peer != QUITTER ||
                             strstr(m->error.cause, "rank 3 has left") == NULL))
            fail_msg("rank %d, %s: %d, %s", r, tcp ? "tcp" : "callbacks", m->rc, m->error.text);
    }
    assert_int_equal(soft.objects, 0);
}

static void test_leaving_while_connecting(void **state)
{
    (void)state;
    leave_while_connecting(false);
    leave_while_connecting(true);
}

/* ------------------------------------------------------------------ no room ------------------- */

#define BLOCK_BYTES ((size_t)4 << 10)

static int alltoall(ncoll_context *ctx, bool with_counts)
{
    static const size_t counts[RANKS_MAX] = {[0 ... RANKS_MAX - 1] = BLOCK_BYTES};
    unsigned char *in = calloc(RANKS_MAX, BLOCK_BYTES), *out = calloc(RANKS_MAX, BLOCK_BYTES);
    size_t displs[RANKS_MAX];
    ncoll_group *world = ncoll_world(ctx);
    int own = ncoll_group_rank(world), rc;

    for (size_t q = 0; q < RANKS_MAX; q++) {
        displs[q] = q * BLOCK_BYTES;
        memset(in + displs[q], 16 * own + (int)q, BLOCK_BYTES);
    }
    if (with_counts)
        rc = ncoll_alltoallv(world, in, counts, displs, out, counts, displs, NCOLL_UINT8,
                             NCOLL_BLOCK);
    else
        rc = ncoll_alltoall(world, in, out, BLOCK_BYTES, NCOLL_UINT8, NCOLL_BLOCK);
    for (size_t q = 0; rc == NCOLL_OK && q < RANKS_MAX; q++)
        for (size_t i = 0; i < BLOCK_BYTES; i++)
            if (out[displs[q] + i] != 16 * q + (size_t)own)
                rc = 1;
    free(in);
    free(out);
    return rc;
}

/* A call that is found to be impossible only when it begins ends on all ranks, and nothing else does:
 * not the call behind it, which one rank starts before and the others after that. */
static int refused_alone(ncoll_group *world)
{
    static const unsigned modes[] = {NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT,
                                     NCOLL_STRICT};
    static const size_t ones[RANKS_MAX] = {[0 ... RANKS_MAX - 1] = 1};
    unsigned char in[RANKS_MAX] = {0}, out[RANKS_MAX];
    ncoll_request *refused, *behind;
    int rc = NCOLL_OK;

    for (size_t m = 0; rc == NCOLL_OK && m < sizeof modes / sizeof modes[0]; m++) {
        int64_t x = ncoll_group_rank(world) == 0 ? 7 : 0;
        rc = ncoll_group_set_sync(world, modes[m]);
        if (rc == NCOLL_OK && ncoll_group_rank(world) == 0) {
            rc = ncoll_alltoallv_start(world, in, ones, NULL, out, ones, NULL, NCOLL_UINT8,
                                       &refused);
            if (rc == NCOLL_OK)
                rc = ncoll_bcast_start(world, &x, 1, NCOLL_INT64, 0, &behind);
            if (rc == NCOLL_OK)
                rc = ncoll_wait(&refused, NCOLL_BLOCK) == NCOLL_ERR_UNSUPPORTED ? NCOLL_OK : 5;
            if (rc == NCOLL_OK)
                rc = ncoll_wait(&behind, NCOLL_BLOCK);
        } else if (rc == NCOLL_OK) {
            rc = ncoll_alltoallv(world, in, ones, NULL, out, ones, NULL, NCOLL_UINT8, NCOLL_BLOCK);
            rc = rc == NCOLL_ERR_UNSUPPORTED ? NCOLL_OK : 5;
            if (rc == NCOLL_OK)
                rc = ncoll_bcast(world, &x, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
        }
        if (rc == NCOLL_OK && x != 7)
            rc = 6;
    }
    return rc;
}

/* A call whose algorithm nobody asked for is made by another one; a call for which the user asked
 * for one is refused. Both times the group goes on. */
static void *mesh(void *arg)
{
    struct member *m = arg;
    struct choice choice;

    soft_fault = m->fault;
    m->rc = ncoll_context_create(&m->params, &m->ctx, &m->error);
    if (m->rc != NCOLL_OK)
        return NULL;
    ncoll_group *world = ncoll_world(m->ctx);
    m->rc = ncoll__choose(world, COLL_ALLTOALL, BLOCK_BYTES, NCOLL_UINT8, 0, &choice);
    bool is_direct = m->rc == NCOLL_OK && strcmp(choice.algorithm->name, "direct") == 0;
    if (m->rc == NCOLL_OK && is_direct != (getenv("NCOLL_PEERS") != NULL))
        m->rc = 2;
    for (int i = 0; m->rc == NCOLL_OK && i < 4; i++)
        m->rc = alltoall(m->ctx, i % 2 == 1);
    if (m->rc == NCOLL_OK)
        m->rc = ncoll_barrier(world, NCOLL_BLOCK);
    if (m->rc == NCOLL_OK && ncoll__group_force(world, COLL_ALLTOALL, "direct", 0) == NCOLL_OK)
        m->rc = alltoall(m->ctx, false) == NCOLL_ERR_UNSUPPORTED ? NCOLL_OK : 3;
    if (m->rc == NCOLL_OK)
        m->rc = refused_alone(world);
    m->error = *ncoll_last_error(m->ctx);
    if (m->rc == NCOLL_OK)
        m->rc = ncoll_barrier(world, NCOLL_BLOCK);
    ncoll_context_destroy(m->ctx);
    return NULL;
}

static void no_room(void)
{
    run(RANKS_MAX, false, 3, SOFT_NARROW, mesh);
    for (int r = 0; r < RANKS_MAX; r++) {
        if (members[r].rc != NCOLL_OK)
            fail_msg("rank %d: %d (%s)", r, members[r].rc, members[r].error.text);
        assert_non_null(strstr(members[r].error.text, "no room"));
    }
}

/* The device of one rank takes its base peers, five of seven, and no more. All ranks know it, and
 * leave out algorithms that need more peers; or a user asks for more, and what is chosen fails. */
static void test_no_room(void **state)
{
    (void)state;
    no_room();
    setenv("NCOLL_PEERS", "7", 1);
    no_room();
    unsetenv("NCOLL_PEERS");
}

/* A group in whose order the neighbours are ranks at distance 3 of the world: two of its base peers
 * are new to each rank. It is refused on all ranks; its parent, and groups that take no further
 * connections, go on. */
static void *groups(void *arg)
{
    struct member *m = arg;
    ncoll_group *group;
    int64_t sum;

    soft_fault = m->fault;
    m->rc = ncoll_context_create(&m->params, &m->ctx, &m->error);
    if (m->rc != NCOLL_OK)
        return NULL;
    ncoll_group *world = ncoll_world(m->ctx);
    int rank = ncoll_group_rank(world);
    for (int i = 0; m->rc == NCOLL_OK && i < 3; i++) {
        int rc = ncoll_group_split(world, 0, rank * 3 % RANKS_MAX, &group, NCOLL_BLOCK);
        m->error = *ncoll_last_error(m->ctx);
        m->rc = rc == NCOLL_ERR_RESOURCE ? NCOLL_OK : 1000 + rc;
        if (m->rc == NCOLL_OK)
            m->rc = ncoll_group_dup(world, &group, NCOLL_BLOCK);
        if (m->rc == NCOLL_OK)
            m->rc =
                ncoll_allreduce(group, &m->number, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
        if (m->rc == NCOLL_OK)
            m->rc = ncoll_group_free(&group, NCOLL_BLOCK);
        if (m->rc == NCOLL_OK)
            m->rc = alltoall(m->ctx, false);
    }
    ncoll_context_destroy(m->ctx);
    return NULL;
}

static void test_no_room_for_group(void **state)
{
    (void)state;
    run(RANKS_MAX, false, 3, SOFT_NARROW, groups);
    for (int r = 0; r < RANKS_MAX; r++) {
        if (members[r].rc != NCOLL_OK)
            fail_msg("rank %d: %d (%s)", r, members[r].rc, members[r].error.text);
        assert_non_null(strstr(members[r].error.text, "no room"));
        assert_non_null(strstr(members[r].error.text, "rank 3"));
    }
}

/* ------------------------------------------------------------------ unreachable -------------- */

/* A connection made after the contexts have been created never carries anything. */
static void *reach_nobody(void *arg)
{
    struct member *m = arg;
    int64_t in[6] = {0}, out[6];

    if ((m->rc = ncoll_context_create(&m->params, &m->ctx, &m->error)) != NCOLL_OK)
        return NULL;
    m->rc = ncoll_barrier(ncoll_world(m->ctx), NCOLL_BLOCK); /* all have made their queue pairs */
    if (m->params.rank == 0)
        soft.cut_from = soft.last_qp + 1;
    if (m->rc == NCOLL_OK && (m->rc = ncoll_barrier(ncoll_world(m->ctx), NCOLL_BLOCK)) == NCOLL_OK)
        m->rc = ncoll_alltoall(ncoll_world(m->ctx), in, out, 1, NCOLL_INT64, NCOLL_BLOCK);
    m->error = *ncoll_last_error(m->ctx);
    ncoll_context_destroy(m->ctx);
    return NULL;
}

/* Ranks at distance 3 of 6 are connected by the first alltoall, and cannot reach each other. That is
 * an error within seconds that has the addresses of both. */
static void test_unreachable_pairs(void **state)
{
    unsigned told = 0;

    (void)state;
    setenv("NCOLL_ALLTOALL_ALGORITHM", "direct", 1);
    setenv("NCOLL_BARRIER_ALGORITHM", "dissemination", 1);
    setenv("NCOLL_RADIX", "1", 1); /* so that barriers connect nobody */
    run(6, false, 0, SOFT_WELL, reach_nobody);
    unsetenv("NCOLL_ALLTOALL_ALGORITHM");
    unsetenv("NCOLL_BARRIER_ALGORITHM");
    unsetenv("NCOLL_RADIX");
    for (int r = 0; r < 6; r++) {
        const struct member *m = &members[r];
        if (m->rc != NCOLL_ERR_PEER || m->error.peer < 0)
            fail_msg("rank %d: %d, %s", r, m->rc, m->error.text);
        told += strstr(m->error.cause, "or cannot be reached (transport retry counter exceeded, "
                                       "and it has never answered: soft0 port 1, "
                                       "10.0.0.1, to 10.0.0.1)") != NULL &&
                strstr(m->error.remedy, "NCOLL_PORT, NCOLL_GID") != NULL;
    }
    assert_true(told > 0);
    assert_int_equal(soft.objects, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_with_callbacks),   cmocka_unit_test(test_failure_with_tcp),
        cmocka_unit_test(test_leaving_while_connecting), cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_no_room_for_group),        cmocka_unit_test(test_unreachable_pairs),
    };

    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
