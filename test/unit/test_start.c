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

#include "lib/internal.h"
#include "test/support/blackboard.h"
#include "test/support/crew.h"
#include "test/support/port.h"
#include "test/support/soft_device.h"

#define RANKS_MAX 8
#define PATIENT   INT64_C(30000000000) /* the bootstrap's time-out */
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
    alarm(120);
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
    alarm(0);
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
                                      m->ended_ns - start_ns < LIMIT_NS;
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

/* Of six ranks all but those at distance 3 are connected from the start. In this bcast nobody needs
 * rank 3 but rank 0, whose children all others are. */
#define QUITTER 3
static struct quitting {
    _Atomic int at_once, has_quit; /* ranks 0 and 3 have offered each other a connection */
} quitting;

static int bcast(struct member *m, int64_t timeout_ns)
{
    return ncoll_bcast(ncoll_world(m->ctx), &m->number, 1, NCOLL_INT64, 0, timeout_ns);
}

/* Until the offers have been accepted, and no further. */
static int begin_to_connect(struct member *m)
{
    int rc = NCOLL_TIMEOUT;

    while (rc == NCOLL_TIMEOUT && ncoll_world(m->ctx)->wiring.state != WIRING_CONNECT)
        rc = bcast(m, NCOLL_TEST);
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
        do
            m->rc = bcast(m, 50000000);
        while (m->rc == NCOLL_TIMEOUT && crew_now_ns() - start_ns < LIMIT_NS);
        m->error = *ncoll_last_error(m->ctx);
    }
    ncoll_context_destroy(m->ctx);
    if (rank == QUITTER)
        quitting.has_quit = 1;
    return NULL;
}

static void leave_while_connecting(bool tcp)
{
    quitting = (struct quitting){0};
    setenv("NCOLL_BCAST_ALGORITHM", "knomial", 1);
    setenv("NCOLL_RADIX", "4", 1);
    run(6, tcp, QUITTER, SOFT_WELL, call);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_with_callbacks),
        cmocka_unit_test(test_failure_with_tcp),
        cmocka_unit_test(test_leaving_while_connecting),
    };

    return cmocka_run_group_tests_name("start", tests, NULL, NULL);
}
