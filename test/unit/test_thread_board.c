/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are threads, on a board of the library: several contexts on one board, and all that may
 * go wrong there. Nobody waits for a rank that does not come, and the error names it.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/hang.h"

#define RANKS_MOST 5
#define SECOND     INT64_C(1000000000)
#define HANGS_S    20

struct job;
struct rank {
    pthread_t thread;
    struct job *job;
    int (*body)(struct rank *r); /* returns 0, or the number of a line */
    int rank, wrong;
    ncoll_params params;
};

struct job {
    ncoll_thread_board *board;
    int ranks;
    struct rank of[RANKS_MOST];
    _Atomic int came; /* counts what the test wants to know */
    pthread_barrier_t all;
};

#define WANT(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__;                                                                       \
    } while (0)

static void *run_rank(void *arg)
{
    struct rank *r = arg;

    r->wrong = r->body(r);
    return NULL;
}

/* Runs a rank in each thread that is not left out. */
static void run(int ranks, int left_out, int (*body)(struct rank *r))
{
    struct job job = {.ranks = ranks};
    ncoll_error error;

    assert_int_equal(ncoll_thread_board_create(ranks, &job.board, &error), NCOLL_OK);
    assert_int_equal(pthread_barrier_init(&job.all, NULL, (unsigned)ranks), 0);
    hang_after(HANGS_S);
    for (int r = 0; r < ranks; r++) {
        struct rank *rank = &job.of[r];
        *rank = (struct rank){.job = &job, .body = body, .rank = r};
        ncoll_params_init(&rank->params, sizeof rank->params);
        rank->params.thread_board = job.board;
        rank->params.rank = r;
        if (r != left_out)
            assert_int_equal(pthread_create(&rank->thread, NULL, run_rank, rank), 0);
    }
    for (int r = 0; r < ranks; r++) {
        if (r != left_out)
            assert_int_equal(pthread_join(job.of[r].thread, NULL), 0);
        if (job.of[r].wrong != 0)
            fail_msg("rank %d of %d, line %d", r, ranks, job.of[r].wrong);
    }
    hang_after(0);
    pthread_barrier_destroy(&job.all);
    ncoll_thread_board_destroy(job.board);
}

static bool sums_up(ncoll_context *ctx, int rank, int ranks)
{
    int64_t in = rank + 1, out = 0;

    return ncoll_allreduce(ncoll_world(ctx), &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) ==
               NCOLL_OK &&
           out == ranks * (ranks + 1) / 2;
}

/* ------------------------------------------------------------------ contexts ------------------ */

static int make_several(struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};
    ncoll_context *ctx[3];

    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 3; i++)
            WANT(ncoll_context_create(&r->params, &ctx[i], NULL) == NCOLL_OK);
        WANT(ncoll_context_stats(ctx[0], &stats) == NCOLL_OK);
        WANT(strcmp(stats.bootstrap, "threads") == 0 && stats.ranks == r->job->ranks);
        for (int i = 0; i < 3; i++)
            WANT(sums_up(ctx[(i + 1) % 3], r->rank, r->job->ranks));
        for (int i = 0; i < 3; i++)
            ncoll_context_destroy(ctx[(i + r->rank) % 3]);
    }
    return 0;
}

static void test_several_contexts(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS_MOST; ranks++)
        run(ranks, -1, make_several);
}

/* The board is gone while contexts go on, which keep what they need. */
static int outlive(struct rank *r)
{
    ncoll_context *ctx;

    WANT(ncoll_context_create(&r->params, &ctx, NULL) == NCOLL_OK);
    if (pthread_barrier_wait(&r->job->all) == PTHREAD_BARRIER_SERIAL_THREAD) {
        ncoll_thread_board_destroy(r->job->board);
        r->job->board = NULL;
    }
    WANT(sums_up(ctx, r->rank, r->job->ranks));
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_early_end(void **state)
{
    (void)state;
    run(3, -1, outlive);
}

/* ------------------------------------------------------------------ ranks that do not come ---- */

#define ABSENT 2

/* The others time out. When the last has come after all, it is told that they have left; and all
 * meet in the next attempt. */
static int come_late(struct rank *r)
{
    ncoll_context *ctx = NULL;
    ncoll_error error;

    r->params.bootstrap_timeout_ns = SECOND / 5;
    if (r->rank == ABSENT)
        pthread_barrier_wait(&r->job->all);
    int rc = ncoll_context_create(&r->params, &ctx, &error);
    if (r->rank != ABSENT) {
        /* who has timed out leaves, which another rank may see before its own time is over */
        WANT(rc == NCOLL_ERR_BOOTSTRAP ? error.peer == ABSENT : rc == NCOLL_ERR_PEER);
        WANT(rc != NCOLL_ERR_BOOTSTRAP || strstr(error.text, "rank 2 did not come") != NULL);
        atomic_fetch_add(&r->job->came, rc == NCOLL_ERR_BOOTSTRAP);
        pthread_barrier_wait(&r->job->all);
        WANT(atomic_load(&r->job->came) > 0);
    } else {
        WANT(rc == NCOLL_ERR_PEER && strstr(error.text, "has left") != NULL);
    }
    r->params.bootstrap_timeout_ns = 60 * SECOND;
    WANT(ncoll_context_create(&r->params, &ctx, &error) == NCOLL_OK);
    WANT(sums_up(ctx, r->rank, r->job->ranks));
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_late_rank(void **state)
{
    (void)state;
    run(4, -1, come_late);
}

/* Without the call they would wait for ten minutes. */
static int miss_one(struct rank *r)
{
    ncoll_context *ctx;
    ncoll_error error;

    r->params.bootstrap_timeout_ns = 600 * SECOND;
    if (r->rank == 0) {
        WANT(ncoll_thread_board_give_up(r->job->board, ABSENT) == NCOLL_OK);
        WANT(ncoll_thread_board_give_up(r->job->board, ABSENT) == NCOLL_OK);
    }
    for (int attempt = 0; attempt < 2; attempt++) {
        WANT(ncoll_context_create(&r->params, &ctx, &error) == NCOLL_ERR_PEER);
        WANT(error.peer == ABSENT && error.reason == NCOLL_REASON_PEER_FAILED);
        WANT(strstr(error.text, "rank 2") != NULL);
    }
    return 0;
}

static void test_given_up(void **state)
{
    (void)state;
    run(4, ABSENT, miss_one);
}

/* A rank is given up while the others wait in a collective for it. */
static int stay_away(struct rank *r)
{
    ncoll_context *ctx;

    WANT(ncoll_context_create(&r->params, &ctx, NULL) == NCOLL_OK);
    WANT(sums_up(ctx, r->rank, r->job->ranks));
    if (r->rank == ABSENT) {
        ncoll_context *further;
        ncoll_error error;
        WANT(ncoll_thread_board_give_up(r->job->board, ABSENT) == NCOLL_OK);
        WANT(ncoll_context_create(&r->params, &further, &error) == NCOLL_ERR_BOOTSTRAP);
        WANT(strstr(error.text, "given up rank 2") != NULL);
    } else {
        WANT(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK) == NCOLL_ERR_PEER);
        WANT(ncoll_last_error(ctx)->peer == ABSENT);
    }
    pthread_barrier_wait(&r->job->all);
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_given_up_later(void **state)
{
    (void)state;
    run(4, -1, stay_away);
}

/* ------------------------------------------------------------------ failures ------------------ */

/* Memory runs out on one rank, sooner or later, also before it can look at the board. The others are
 * told at once; the next attempt is that of all ranks again. */
struct shortage {
    int left;
};

static void *allocate(void *arg, size_t bytes)
{
    struct shortage *s = arg;

    return s->left-- > 0 ? malloc(bytes) : NULL;
}

static void release(void *arg, void *memory)
{
    (void)arg;
    free(memory);
}

static int run_out(struct rank *r)
{
    ncoll_params params = r->params;
    struct shortage shortage;

    params.log_level = NCOLL_LOG_NONE;
    if (r->rank == 1) {
        params.allocate = allocate;
        params.release = release;
        params.allocate_arg = &shortage;
    }
    for (int n = 0; n < 40; n++) {
        ncoll_context *ctx;
        ncoll_error error;
        shortage.left = n;
        int rc = ncoll_context_create(&params, &ctx, &error);
        WANT(rc == NCOLL_OK || rc == (r->rank == 1 ? NCOLL_ERR_MEMORY : NCOLL_ERR_PEER));
        WANT(rc != NCOLL_ERR_PEER || error.peer == 1);
        WANT(rc == NCOLL_OK || (error.status == (ncoll_status)rc && error.cause[0] != '\0'));
        if (rc == NCOLL_OK)
            ncoll_context_destroy(ctx);
        pthread_barrier_wait(&r->job->all);
    }
    return 0;
}

static void test_shortage(void **state)
{
    (void)state;
    run(3, -1, run_out);
}

static int use_wrongly(struct rank *r)
{
    ncoll_thread_board *board = r->job->board;
    ncoll_params params = r->params;
    ncoll_context *ctx;
    ncoll_error error;

    params.rank = 1;
    WANT(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    WANT(strstr(error.text, "rank 1 on a board for 1 threads") != NULL);
    params.rank = -1;
    WANT(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    params.rank = 0;
    params.ranks = 2;
    WANT(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    WANT(strstr(error.text, "2 ranks on a board for 1 threads") != NULL);
    params.ranks = 1;
    WANT(ncoll_context_create(&params, &ctx, &error) == NCOLL_OK);
    ncoll_context_destroy(ctx);
    params.thread_board = NULL;
    params.bootstrap = NCOLL_BOOTSTRAP_THREADS;
    WANT(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_BOOTSTRAP);
    WANT(strstr(error.text, "ncoll_thread_board_create()") != NULL);

    WANT(ncoll_thread_board_give_up(NULL, 0) == NCOLL_ERR_HANDLE);
    WANT(ncoll_thread_board_give_up(board, 1) == NCOLL_ERR_ARGUMENT);
    WANT(ncoll_thread_board_give_up(board, -1) == NCOLL_ERR_ARGUMENT);
    WANT(ncoll_thread_board_create(0, &board, &error) == NCOLL_ERR_ARGUMENT);
    WANT(strstr(error.text, "the number of ranks is 0") != NULL && board == r->job->board);
    WANT(ncoll_thread_board_create(1 << 17, &board, NULL) == NCOLL_ERR_ARGUMENT);
    WANT(ncoll_thread_board_create(2, NULL, &error) == NCOLL_ERR_ARGUMENT);
    ncoll_thread_board_destroy(NULL);
    return 0;
}

static void test_wrong_use(void **state)
{
    (void)state;
    run(1, -1, use_wrongly);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_several_contexts), cmocka_unit_test(test_early_end),
        cmocka_unit_test(test_late_rank),        cmocka_unit_test(test_given_up),
        cmocka_unit_test(test_given_up_later),   cmocka_unit_test(test_shortage),
        cmocka_unit_test(test_wrong_use),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
