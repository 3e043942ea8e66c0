/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context that goes from thread to thread under a lock of the program's: every call by another
 * thread than the one before it, requests that one thread starts and another one waits for, and the
 * end of a context in a thread that did not create it. Meant for TSan: the lock has to be enough.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/entry.h"
#include "test/support/hang.h"

#define RANKS   2
#define HANDS   3 /* threads of a rank, which take turns */
#define TURNS   199
#define LENGTH  3000 /* elements of a long vector */
#define HANGS_S 20

/* A rank: its threads hand its context to each other. */
struct rank {
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_group *group; /* a copy of the world */
    ncoll_request *persistent, *request;
    int64_t in[LENGTH], out[LENGTH], sum, sum_of_request;
    bool without_membarrier;
    pthread_mutex_t lock;
    pthread_cond_t turned;
    int turn, wrong;
};

struct hand {
    pthread_t thread;
    struct rank *rank;
    int number;
};

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static int create(struct rank *r)
{
    WANT(ncoll_context_create(&r->params, &r->ctx, NULL) == NCOLL_OK);
    if (r->without_membarrier)
        r->ctx->has_membarrier = false;
    return 0;
}

static int prepare(struct rank *r)
{
    WANT(ncoll_group_dup(ncoll_world(r->ctx), &r->group, NCOLL_BLOCK) == NCOLL_OK);
    WANT(ncoll_allreduce_init(r->group, r->in, r->out, LENGTH, NCOLL_INT64, NCOLL_SUM,
                              &r->persistent) == NCOLL_OK);
    return 0;
}

static int start(struct rank *r, int turn)
{
    for (int i = 0; i < LENGTH; i++)
        r->in[i] = i + turn;
    WANT(ncoll_start(r->persistent) == NCOLL_OK);
    r->sum = turn;
    WANT(ncoll_allreduce_start(ncoll_world(r->ctx), &r->sum, &r->sum_of_request, 1, NCOLL_INT64,
                               NCOLL_SUM, &r->request) == NCOLL_OK);
    return 0;
}

static int wait(struct rank *r, int turn)
{
    WANT(ncoll_wait(&r->request, NCOLL_BLOCK) == NCOLL_OK);
    WANT(r->sum_of_request == RANKS * (turn - 1));
    WANT(ncoll_wait(&r->persistent, NCOLL_BLOCK) == NCOLL_OK);
    for (int i = 0; i < LENGTH; i++)
        WANT(r->out[i] == RANKS * (i + turn - 1));
    return 0;
}

/* A call that is refused leaves a record, which the thread after this one reads. */
static int call_wrongly(struct rank *r)
{
    WANT(ncoll_bcast(r->group, r->out, 1, NCOLL_INT64, RANKS, NCOLL_BLOCK) == NCOLL_ERR_ARGUMENT);
    return 0;
}

static int call(struct rank *r, int turn)
{
    int64_t in = turn, out = 0;

    WANT(ncoll_last_error(r->ctx)->status == NCOLL_ERR_ARGUMENT);
    WANT(ncoll_allreduce(ncoll_world(r->ctx), &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
         NCOLL_OK);
    WANT(out == RANKS * turn);
    WANT(ncoll_barrier(r->group, NCOLL_BLOCK) == NCOLL_OK);
    return 0;
}

static int finish(struct rank *r)
{
    WANT(ncoll_request_free(&r->persistent) == NCOLL_OK);
    WANT(ncoll_group_free(&r->group, NCOLL_BLOCK) == NCOLL_OK);
    ncoll_context_destroy(r->ctx);
    return 0;
}

/* HANDS and 4 have no common divisor, so each thread does each of these things. */
static int do_turn(struct rank *r, int turn)
{
    if (turn < 2)
        return turn == 0 ? create(r) : prepare(r);
    if (turn == TURNS - 1)
        return finish(r);
    switch (turn % 4) {
    case 2:
        return start(r, turn);
    case 3:
        return wait(r, turn);
    case 0:
        return call_wrongly(r);
    default:
        return call(r, turn);
    }
}

static void *take_turns(void *arg)
{
    struct hand *h = arg;
    struct rank *r = h->rank;

    pthread_mutex_lock(&r->lock);
    while (r->turn < TURNS && r->wrong == 0) {
        if (r->turn % HANDS == h->number) {
            r->wrong = do_turn(r, r->turn++);
            pthread_cond_broadcast(&r->turned);
        } else {
            pthread_cond_wait(&r->turned, &r->lock);
        }
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void run(bool without_membarrier)
{
    static struct rank ranks[RANKS];
    struct hand hands[RANKS][HANDS];
    ncoll_thread_board *board;

    hang_after(HANGS_S);
    assert_int_equal(ncoll_thread_board_create(RANKS, &board, NULL), NCOLL_OK);
    for (int i = 0; i < RANKS; i++) {
        struct rank *r = &ranks[i];
        *r = (struct rank){.without_membarrier = without_membarrier};
        ncoll_params_init(&r->params, sizeof r->params);
        r->params.thread_board = board;
        r->params.rank = i;
        pthread_mutex_init(&r->lock, NULL);
        pthread_cond_init(&r->turned, NULL);
        for (int h = 0; h < HANDS; h++) {
            hands[i][h] = (struct hand){.rank = r, .number = h};
            assert_int_equal(pthread_create(&hands[i][h].thread, NULL, take_turns, &hands[i][h]),
                             0);
        }
    }
    for (int i = 0; i < RANKS; i++) {
        for (int h = 0; h < HANDS; h++)
            assert_int_equal(pthread_join(hands[i][h].thread, NULL), 0);
        if (ranks[i].wrong != 0)
            fail_msg("rank %d, turn %d, line %d", i, ranks[i].turn - 1, ranks[i].wrong);
        pthread_cond_destroy(&ranks[i].turned);
        pthread_mutex_destroy(&ranks[i].lock);
    }
    ncoll_thread_board_destroy(board);
    hang_after(0);
}

static void test_under_a_lock(void **state)
{
    (void)state;
    run(false);
}

/* As if the kernel refused membarrier(). */
static void test_without_membarrier(void **state)
{
    (void)state;
    run(true);
}

/* ------------------------------------------------------------------ at any moment ------------- */

/* Threads that call when they get the lock, whoever called before. Each alone in its job. */
struct crowd {
    ncoll_context *ctx;
    pthread_mutex_t lock;
    unsigned calls, wrong;
};

static void *call_often(void *arg)
{
    struct crowd *c = arg;

    for (int i = 0; i < 2000; i++) {
        int64_t in = i, out = -1;
        pthread_mutex_lock(&c->lock);
        int rc =
            ncoll_allreduce(ncoll_world(c->ctx), &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
        c->wrong += rc != NCOLL_OK || out != i;
        c->calls++;
        pthread_mutex_unlock(&c->lock);
    }
    return NULL;
}

static void test_whoever_comes(void **state)
{
    struct crowd crowd = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[HANDS];
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    assert_int_equal(ncoll_context_create(&params, &crowd.ctx, NULL), NCOLL_OK);
    for (int i = 0; i < HANDS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &crowd), 0);
    for (int i = 0; i < HANDS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(crowd.wrong, 0);
    assert_int_equal(crowd.calls, HANDS * 2000);
    ncoll_context_destroy(crowd.ctx);
}

/* ------------------------------------------------------------------ owner --------------------- */

static void *call_once(void *arg)
{
    return ncoll_progress(arg) == NCOLL_OK ? NULL : arg;
}

static void call_in_thread(ncoll_context *ctx)
{
    pthread_t thread;
    void *wrong;

    assert_int_equal(pthread_create(&thread, NULL, call_once, ctx), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
}

/* A log line of a call that fails; the function calls again. */
static void call_inside(void *arg, ncoll_log_level level, const char *text)
{
    ncoll_context **ctx = arg;

    (void)level, (void)text;
    if (*ctx != NULL) {
        assert_int_equal(ncoll_progress(*ctx), NCOLL_ERR_BUSY);
        assert_non_null(strstr(ncoll_last_error(*ctx)->text, "has called again"));
        *ctx = NULL;
    }
}

/* After many hand-overs a context has no owner, and calls that may not come are still refused. It has
 * one again when one thread calls many times. */
static void test_owner(void **state)
{
    struct ncoll_context *ctx, *inside = NULL;
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.log = call_inside;
    params.log_arg = &inside;
    params.log_level = NCOLL_LOG_INFO;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    if (!ctx->has_membarrier) {
        ncoll_context_destroy(ctx);
        skip();
    }
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 40; i++) {
            assert_int_equal(ncoll_progress(ctx), NCOLL_OK);
            assert_true(i > 0 || atomic_load(&ctx->gate->owner) != NULL);
            call_in_thread(ctx);
        }
        assert_true(atomic_load(&ctx->gate->unowned));
        assert_null(atomic_load(&ctx->gate->owner));
        inside = ctx;
        assert_int_equal(ncoll_bcast(ncoll_world(ctx), &turn, 1, NCOLL_INT32, 9, NCOLL_BLOCK),
                         NCOLL_ERR_ARGUMENT);
        assert_null(inside);
        assert_int_equal(ncoll_last_error(ctx)->status, NCOLL_ERR_ARGUMENT);
        for (int i = 0; i < 200; i++)
            assert_int_equal(ncoll_progress(ctx), NCOLL_OK);
        assert_false(atomic_load(&ctx->gate->unowned));
        assert_non_null(atomic_load(&ctx->gate->owner));
    }
    ncoll_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_under_a_lock),
        cmocka_unit_test(test_without_membarrier),
        cmocka_unit_test(test_whoever_comes),
        cmocka_unit_test(test_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
