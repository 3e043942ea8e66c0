/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls from where they may not come: from a user operation, a signal handler, a second thread, a
 * forked child, and with the handle of a request that is over. Each is refused with a sentence, and
 * the call that is going on ends as if nothing had been asked.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/context.h"
#include "test/support/crew.h"

#define RANKS   3
#define LIMIT_S 30

static void run(int ranks, crew_body body, void *shared)
{
    assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, LIMIT_S, body, shared), 0);
}

/* The sum over all ranks of what each of them gives. */
static int check_sum(struct rank *r)
{
    int64_t in = r->rank + 1, out = 0;

    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK(out == r->ranks * (r->ranks + 1) / 2);
    return 0;
}

static bool says(struct rank *r, const char *what)
{
    const char *text = ncoll_last_error(r->ctx)->text;
    char rank[16];

    snprintf(rank, sizeof rank, "rank %d:", r->rank);
    if (strstr(text, rank) == NULL) {
        fprintf(stderr, "\"%s\" does not name the rank\n", text);
        return false;
    }
    if (strstr(text, what) == NULL)
        fprintf(stderr, "\"%s\" does not say \"%s\"\n", text, what);
    return strstr(text, what) != NULL;
}

/* ------------------------------------------------------------------ in an operation ----------- */

struct inner {
    struct rank *rank;
    unsigned calls, wrong;
    ncoll_request *request; /* one that has been started before */
};

static void refuse(struct inner *i, int rc)
{
    i->wrong += rc != NCOLL_ERR_BUSY || !says(i->rank, "user operation");
}

static void add_and_call(void *out, const void *left, const void *right, size_t count,
                         ncoll_type type, void *arg)
{
    struct inner *i = arg;
    ncoll_context *ctx = i->rank->ctx;
    ncoll_group *world = i->rank->world, *group = NULL;
    ncoll_request *request = NULL;
    int64_t one = 1, sum;
    ncoll_type t;
    void *memory;

    (void)type;
    for (size_t k = 0; k < count; k++)
        ((int64_t *)out)[k] = ((const int64_t *)left)[k] + ((const int64_t *)right)[k];
    i->calls++;
    refuse(i, ncoll_barrier(world, NCOLL_BLOCK));
    refuse(i, ncoll_allreduce(world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK));
    refuse(i, ncoll_barrier_start(world, &request));
    refuse(i, ncoll_barrier_init(world, &request));
    refuse(i, ncoll_progress(ctx));
    refuse(i, ncoll_test(&i->request));
    refuse(i, ncoll_start(i->request));
    refuse(i, ncoll_request_free(&i->request));
    refuse(i, ncoll_group_dup(world, &group, NCOLL_BLOCK));
    refuse(i, ncoll_group_set_sync(world, NCOLL_STRICT));
    refuse(i, ncoll_type_create(ctx, 8, &t));
    refuse(i, ncoll_alloc(ctx, 4096, &memory));
    i->wrong += request != NULL || group != NULL || ncoll_context_type_size(ctx, type) != 8;
    ncoll_context_destroy(ctx);
}

static int call_in_operation(struct rank *r)
{
    struct inner inner = {.rank = r};
    const ncoll_op_def def = {.size = sizeof def, .combine = add_and_call, .arg = &inner};
    int64_t in[2] = {r->rank, 1}, out[2];
    ncoll_op op;

    CHECK_STATUS(ncoll_op_create(r->ctx, &def, &op), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_init(r->world, &inner.request), NCOLL_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, 2, NCOLL_INT64, op, NCOLL_BLOCK), NCOLL_OK);
        CHECK(out[0] == r->ranks * (r->ranks - 1) / 2 && out[1] == r->ranks);
    }
    CHECK(inner.calls > 0 && inner.wrong == 0);
    CHECK_STATUS(ncoll_start(inner.request), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&inner.request, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_request_free(&inner.request), NCOLL_OK);
    return check_sum(r);
}

static void test_in_operation(void **state)
{
    (void)state;
    run(RANKS, call_in_operation, NULL);
}

/* ------------------------------------------------------------------ a second thread ----------- */

/* Forked ranks share it. */
struct scene {
    _Atomic bool refused;
};

/* Calls until the other thread is inside, which makes this one too many. */
static void *call_beside(void *arg)
{
    struct rank *r = arg;
    struct scene *scene = r->shared;
    void *wrong = arg;
    int rc;

    while ((rc = ncoll_progress(r->ctx)) == NCOLL_OK)
        usleep(100);
    if (rc == NCOLL_ERR_BUSY && says(r, "another thread"))
        wrong = NULL;
    atomic_store(&scene->refused, true);
    return wrong;
}

/* Rank 0 waits for the others in one thread, and calls in another. It may be the first that is
 * refused: it has come when the second was inside. */
static int call_in_two_threads(struct rank *r)
{
    struct scene *scene = r->shared;
    int64_t in = 1, out = 0;
    pthread_t thread;
    void *wrong;
    int rc;

    if (r->rank == 0)
        CHECK(pthread_create(&thread, NULL, call_beside, r) == 0);
    while (r->rank != 0 && !atomic_load(&scene->refused))
        usleep(1000);
    do
        rc = ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    while (r->rank == 0 && rc == NCOLL_ERR_BUSY);
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(out == r->ranks);
    if (r->rank == 0)
        CHECK(pthread_join(thread, &wrong) == 0 && wrong == NULL);
    return check_sum(r);
}

static void test_two_threads(void **state)
{
    struct scene *scene = crew_share(sizeof *scene);

    (void)state;
    run(RANKS, call_in_two_threads, scene);
    crew_unshare(scene, sizeof *scene);
}

static void *call_in_turn(void *arg)
{
    return check_sum(arg) == 0 ? NULL : arg;
}

/* Threads that take turns are none of this. */
static int call_in_turns(struct rank *r)
{
    for (unsigned i = 0; i < 300; i++) {
        pthread_t thread;
        void *wrong;
        CHECK(pthread_create(&thread, NULL, call_in_turn, r) == 0);
        CHECK(pthread_join(thread, &wrong) == 0 && wrong == NULL);
        if (check_sum(r) != 0)
            return 1;
    }
    return 0;
}

static void test_threads_in_turn(void **state)
{
    (void)state;
    run(2, call_in_turns, NULL);
}

/* One that is alone in its job needs nobody else to get on. */
struct hammer {
    ncoll_context *ctx;
    _Atomic bool go;
    _Atomic unsigned wrong, refused, done;
};

static void *hammer(void *arg)
{
    struct hammer *h = arg;
    int64_t in[4] = {1, 2, 3, 4}, out[4];

    while (!atomic_load(&h->go))
        ;
    for (unsigned i = 0; i < 20000; i++) {
        memset(out, 0, sizeof out);
        int rc = ncoll_allreduce(ncoll_world(h->ctx), in, out, 1 + i % 4, NCOLL_INT64, NCOLL_SUM,
                                 NCOLL_BLOCK);
        if (rc == NCOLL_ERR_BUSY)
            h->refused++;
        else if (rc == NCOLL_OK)
            h->done++;
        h->wrong += (rc != NCOLL_ERR_BUSY && rc != NCOLL_OK) ||
                    (rc == NCOLL_OK && memcmp(in, out, (1 + i % 4) * sizeof *in) != 0);
    }
    return NULL;
}

static void hammer_by_threads(bool membarrier)
{
    enum { THREADS = 4 };
    struct hammer h = {.ctx = NULL};
    pthread_t threads[THREADS];
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    assert_int_equal(ncoll_context_create(&params, &h.ctx, NULL), NCOLL_OK);
    h.ctx->has_membarrier &= membarrier;
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, &h), 0);
    atomic_store(&h.go, true);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(h.wrong, 0);
    assert_true(h.done > 0);
    ncoll_context_destroy(h.ctx);
}

static void test_threads_at_once(void **state)
{
    (void)state;
    hammer_by_threads(true);
}

/* This test runs as if the kernel refused membarrier(). */
static void test_threads_without_membarrier(void **state)
{
    (void)state;
    hammer_by_threads(false);
}

/* ------------------------------------------------------------------ a signal handler ---------- */

static ncoll_context *handlers_ctx;
static volatile sig_atomic_t handled, handled_wrong, handled_refused;

static void on_alarm(int signal)
{
    int rc = ncoll_progress(handlers_ctx);

    (void)signal;
    handled++;
    handled_refused += rc == NCOLL_ERR_BUSY;
    handled_wrong += rc != NCOLL_OK && rc != NCOLL_ERR_BUSY;
}

static int call_in_handler(struct rank *r)
{
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

    handlers_ctx = r->ctx;
    CHECK(sigaction(SIGVTALRM, &action, NULL) == 0);
    CHECK(setitimer(ITIMER_VIRTUAL, &often, NULL) == 0);
    for (unsigned i = 0; i < 20000; i++)
        if (check_sum(r) != 0)
            return 1;
    CHECK(setitimer(ITIMER_VIRTUAL, &never, NULL) == 0);
    CHECK(handled_wrong == 0);
    return check_sum(r);
}

static void test_in_handler(void **state)
{
    (void)state;
    run(2, call_in_handler, NULL);
}

/* ------------------------------------------------------------------ a forked child ------------ */

/* In the child: all that could speak in the parent's name. */
static int call_in_child(struct rank *r, ncoll_request *request)
{
    int64_t in = 1000, out = 0;
    ncoll_group *group;

    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_ERR_HANDLE);
    CHECK(says(r, "forked"));
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_start(request), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_group_dup(r->world, &group, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    ncoll_context_destroy(r->ctx);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    return 0;
}

static int fork_in_job(struct rank *r)
{
    ncoll_request *request;
    int status = 0;

    CHECK_STATUS(ncoll_barrier_init(r->world, &request), NCOLL_OK);
    for (unsigned i = 0; i < 3; i++) {
        if (check_sum(r) != 0)
            return 1;
        pid_t child = r->rank == 1 ? fork() : -1;
        if (child == 0)
            _exit(call_in_child(r, request));
        if (check_sum(r) != 0)
            return 1;
        if (child > 0)
            CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    }
    return check_sum(r);
}

static void test_in_child(void **state)
{
    (void)state;
    run(RANKS, fork_in_job, NULL);
}

/* ------------------------------------------------------------------ stale requests ------------ */

#define KNOWN_STALE 16 /* requests that are over later, as ncoll.h says */

static int wait_for_what_is_over(struct rank *r)
{
    ncoll_request *request, *stale, *next;

    for (unsigned i = 0; i < 10; i++) {
        CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
        stale = request;
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
        for (unsigned over = 0; over < KNOWN_STALE; over++) {
            CHECK_STATUS(ncoll_barrier_start(r->world, &next), NCOLL_OK);
            request = stale;
            CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
            CHECK_STATUS(ncoll_wait(&next, NCOLL_BLOCK), NCOLL_OK);
        }
        CHECK_STATUS(ncoll_wait(&stale, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    }
    return check_sum(r);
}

static void test_stale_request(void **state)
{
    (void)state;
    run(RANKS, wait_for_what_is_over, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_operation),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_threads_in_turn),
        cmocka_unit_test(test_threads_at_once),
        cmocka_unit_test(test_threads_without_membarrier),
        cmocka_unit_test(test_in_handler),
        cmocka_unit_test(test_in_child),
        cmocka_unit_test(test_stale_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
