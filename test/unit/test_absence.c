/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that are not there: never came, left, stopped. (Killed: test/survive.) */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/blackboard.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS    INT64_C(3000000000)
#define RANKS_MAX   6
#define PATIENCE_NS INT64_C(300000000)

/* Forked along. */
static struct {
    int absent;
    unsigned calls; /* before it goes */
    bool barriers;
} plan;

/* Shared. */
struct scene {
    _Atomic pid_t pids[RANKS_MAX];
    _Atomic int here, waiting, gone;
};

static int call(struct rank *r, int64_t timeout_ns)
{
    static int64_t in[2], out[2];

    if (plan.barriers)
        return ncoll_barrier(r->world, timeout_ns);
    in[0] = 1, in[1] = r->rank;
    int rc = ncoll_allreduce(r->world, in, out, 2, NCOLL_INT64, NCOLL_SUM, timeout_ns);
    if (rc == NCOLL_OK)
        CHECK(out[0] == r->ranks && out[1] == r->ranks * (r->ranks - 1) / 2);
    return rc;
}

static int call_until_done(struct rank *r, int64_t timeout_ns)
{
    int rc;

    do
        rc = call(r, timeout_ns);
    while (rc == NCOLL_TIMEOUT);
    return rc;
}

/* ------------------------------------------------------------------ never there -------------- */

static void await(const _Atomic int *word, int value)
{
    while (atomic_load(word) < value)
        usleep(1000);
}

struct absence {
    bool sleeps;
    struct scene *scene;
};

/* Rank 1 ends, or sleeps, instead of creating a context. */
static int miss_rank_1(const ncoll_params *given, void *arg)
{
    const struct absence *absence = arg;
    bool sleeps = absence->sleeps;
    ncoll_params params = *given;
    ncoll_context *ctx = NULL;
    ncoll_error error;

    hang_after(20);
    if (given->rank == 1) {
        if (sleeps)
            await(&absence->scene->gone, given->ranks - 1);
        return 0;
    }
    params.bootstrap_timeout_ns = sleeps ? PATIENCE_NS : HANG_FACTOR * LIMIT_NS;
    int rc = ncoll_context_create(&params, &ctx, &error);
    atomic_fetch_add(&absence->scene->gone, 1);
    if (rc == (sleeps ? NCOLL_ERR_BOOTSTRAP : NCOLL_ERR_PEER) && error.peer == 1 &&
        strstr(error.cause, sleeps ? "rank 1 did not come within 0.3 s" : "rank 1 ended") != NULL &&
        strlen(error.remedy) > 0)
        return 0;
    fprintf(stderr, "rank %d: %s\n", given->rank, rc != NCOLL_OK ? error.text : "no error");
    return 1;
}

static void test_a_rank_never_comes(void **state)
{
    struct absence absence = {.scene = *state};

    for (int sleeps = 0; sleeps < 2; sleeps++) {
        memset(absence.scene, 0, sizeof *absence.scene);
        absence.sleeps = sleeps;
        assert_int_equal(ncoll_fork_ranks(3, NULL, miss_rank_1, &absence, NULL), NCOLL_OK);
    }
}

/* Rank 1 has no patience for the last one, which comes when rank 1 has given up, and which the
 * others would wait for. They miss rank 1; none takes the one that is late for one that has
 * failed. */
static int be_late(const ncoll_params *given, void *arg)
{
    struct scene *scene = arg;
    const int last = given->ranks - 1;
    ncoll_params params = *given;
    ncoll_context *ctx = NULL;
    ncoll_error error;

    hang_after(20);
    params.bootstrap_timeout_ns = given->rank == 1 ? PATIENCE_NS : HANG_FACTOR * LIMIT_NS;
    if (given->rank == 1)
        await(&scene->here, given->ranks - 2); /* all but the last are about to come */
    else if (given->rank == last)
        await(&scene->gone, 1);
    else
        atomic_fetch_add(&scene->here, 1);
    int rc = ncoll_context_create(&params, &ctx, &error);
    if (given->rank == 1)
        atomic_store(&scene->gone, 1);
    if (given->rank == 1 ? rc == NCOLL_ERR_BOOTSTRAP && error.peer != 1
                         : rc == NCOLL_ERR_PEER && error.peer == 1)
        return 0;
    fprintf(stderr, "rank %d: %s\n", given->rank, rc != NCOLL_OK ? error.text : "no error");
    return 1;
}

static void test_a_rank_is_late_for_one(void **state)
{
    struct scene *scene = *state;

    for (int ranks = 3; ranks <= RANKS_MAX; ranks++) {
        memset(scene, 0, sizeof *scene);
        assert_int_equal(ncoll_fork_ranks(ranks, NULL, be_late, scene, NULL), NCOLL_OK);
    }
}

/* Callbacks cannot tell who is missing. */
static void test_nobody_comes_to_the_callbacks(void **state)
{
    struct blackboard *board = blackboard_create(2);
    ncoll_context *ctx = NULL;
    ncoll_params params;
    ncoll_error error;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap_timeout_ns = 200000000;
    blackboard_join(board, 0, &params);
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_BOOTSTRAP);
    assert_non_null(
        strstr(error.cause, "another rank did not come within 0.2 s (callbacks cannot"));
    assert_null(ctx);
    blackboard_destroy(board);
}

/* ------------------------------------------------------------------ left --------------------- */

/* The calls on which all take part, the last of which some may be late for. */
static int call_together(struct rank *r)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < plan.calls && rc == NCOLL_OK; i++) {
        if (i + 1 == plan.calls && r->rank != plan.absent)
            usleep((useconds_t)random_below(&r->own, 5000));
        rc = call(r, NCOLL_BLOCK);
    }
    return rc;
}

/* One rank leaves after some calls; the next one fails on all others. A rank that is still busy
 * with the last call may hear of it there. */
static int lose_one_that_leaves(struct rank *r)
{
    struct scene *scene = r->shared;
    /* the last: too short for a pass of looks at flags */
    static const int64_t timeouts[] = {NCOLL_BLOCK, NCOLL_TEST, 300};
    bool heard = false;
    char who[32];

    atomic_fetch_add(&scene->here, 1);
    while (scene->here < r->ranks) /* or some might have no context yet when it leaves */
        sched_yield();
    int rc = call_together(r);
    if (r->ranks > 2 && r->rank != plan.absent)
        heard = rc == NCOLL_ERR_PEER;
    CHECK_STATUS(rc, heard ? NCOLL_ERR_PEER : NCOLL_OK);
    if (r->rank == plan.absent)
        return 0;
    uint64_t start_ns = crew_now_ns();
    CHECK_STATUS(call_until_done(r, timeouts[random_below(&r->own, 3)]), NCOLL_ERR_PEER);
    CHECK(crew_now_ns() - start_ns < HANG_FACTOR * LIMIT_NS);
    snprintf(who, sizeof who, "rank %d has left", plan.absent);
    ncoll_error error = *ncoll_last_error(r->ctx);
    if (strstr(error.text, who) == NULL)
        fprintf(stderr, "%s\n", error.text);
    CHECK(error.peer == plan.absent && strstr(error.text, who) != NULL);
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_ERR_PEER);
    CHECK(strcmp(error.text, ncoll_last_error(r->ctx)->text) == 0);
    return 0;
}

static void test_a_rank_leaves(void **state)
{
    static const unsigned calls[] = {0, 1, 2, 3, 20};
    struct scene *scene = *state;

    for (int ranks = 2; ranks < RANKS_MAX; ranks++)
        for (plan.absent = 0; plan.absent < ranks; plan.absent++)
            for (unsigned i = 0; i < 2 * sizeof calls / sizeof calls[0]; i++) {
                plan.calls = calls[i / 2];
                plan.barriers = i % 2;
                memset(scene, 0, sizeof *scene);
                if (crew_run(CREW_PROCESSES, ranks, NULL, 20, lose_one_that_leaves, scene) != 0)
                    fail_msg("rank %d of %d left after %u %s", plan.absent, ranks, plan.calls,
                             plan.barriers ? "barriers" : "allreduces");
            }
}

/* A rank that is done leaves at once: those that come late to the last call lack nothing. */
static int leave_one_by_one(struct rank *r)
{
    CHECK_STATUS(call_together(r), NCOLL_OK);
    return 0;
}

static void test_all_ranks_leave(void **state)
{
    (void)state;
    plan.absent = -1;
    for (unsigned i = 0; i < 40; i++) {
        plan.calls = 1 + i / 2;
        plan.barriers = i % 2;
        assert_int_equal(crew_run(CREW_PROCESSES, RANKS_MAX - 1, NULL, 20, leave_one_by_one, NULL),
                         0);
    }
}

/* ------------------------------------------------------------------ stopped ------------------ */

#define STOPPED_TIMEOUTS 3

/* One rank is stopped: the others wait, with time-outs, until all have had some; then they wake
 * it. */
static int wait_for_one_that_is_stopped(struct rank *r)
{
    struct scene *scene = r->shared;
    int timeouts = 0, rc;

    scene->pids[r->rank] = getpid();
    for (unsigned i = 0; i < plan.calls; i++)
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == plan.absent)
        raise(SIGSTOP);
    while ((rc = call(r, 100000000)) == NCOLL_TIMEOUT) {
        if (++timeouts == STOPPED_TIMEOUTS && r->rank != plan.absent)
            atomic_fetch_add(&scene->waiting, 1);
        if (scene->waiting == r->ranks - 1)
            kill(scene->pids[plan.absent], SIGCONT);
    }
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(r->rank == plan.absent || timeouts >= STOPPED_TIMEOUTS);
    for (int i = 0; i < 100; i++)
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_a_rank_is_stopped(void **state)
{
    struct scene *scene = *state;

    for (unsigned i = 0; i < 8; i++) {
        memset(scene, 0, sizeof *scene);
        plan.calls = i / 2 % 2 * 50; /* before the ranks are connected, and after */
        plan.barriers = i % 2;
        plan.absent = i / 4 == 0 ? 0 : 2;
        assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 30, wait_for_one_that_is_stopped, scene),
                         0);
    }
}

/* ------------------------------------------------------------------ ended -------------------- */

#define MUCH ((size_t)64 << 20)

/* Rank 1 ends while rank 0 waits for it. It has so much memory that its end takes a while. */
static int end_in_the_middle(struct rank *r)
{
    void *much;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1) {
        CHECK_STATUS(ncoll_alloc(r->ctx, MUCH, &much), NCOLL_OK);
        memset(much, 1, MUCH);
        _exit(0);
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_PEER);
    const ncoll_error *error = ncoll_last_error(r->ctx);
    if (strstr(error->text, "another program") != NULL)
        fprintf(stderr, "%s\n", error->text);
    CHECK(error->peer == 1 && strstr(error->text, "another program") == NULL);
    return 0;
}

static void test_a_rank_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 20, end_in_the_middle, NULL), 0);
}

static int meet_now_and_then(struct rank *r)
{
    for (unsigned i = 0; i < 3; i++) {
        usleep(r->rank == 1 ? 100000 : 0);
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void *go_on(void *arg)
{
    struct rank *r = arg;
    int failed = meet_now_and_then(r);

    ncoll_context_destroy(r->ctx);
    _exit(failed);
}

/* The first thread of rank 1 ends; another one goes on. */
static int end_the_first_thread(struct rank *r)
{
    static struct rank copy; /* the stack of the first thread is not to be used any more */
    pthread_t thread;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank != 1)
        return meet_now_and_then(r);
    copy = *r;
    CHECK(pthread_create(&thread, NULL, go_on, &copy) == 0);
    pthread_exit(NULL);
}

static void test_the_first_thread_ends(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 20, end_the_first_thread, NULL), 0);
}

static int setup(void **state)
{
    *state = crew_share(sizeof(struct scene));
    return 0;
}

static int teardown(void **state)
{
    crew_unshare(*state, sizeof(struct scene));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_rank_never_comes),
        cmocka_unit_test(test_a_rank_is_late_for_one),
        cmocka_unit_test(test_nobody_comes_to_the_callbacks),
        cmocka_unit_test(test_a_rank_leaves),
        cmocka_unit_test(test_all_ranks_leave),
        cmocka_unit_test(test_a_rank_is_stopped),
        cmocka_unit_test(test_a_rank_ends),
        cmocka_unit_test(test_the_first_thread_ends),
    };

    return cmocka_run_group_tests_name("absence", tests, setup, teardown);
}
