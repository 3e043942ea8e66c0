/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts whose ranks find each other by one function, an allgather of the program: forked ranks and
 * threads, right and wrong. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS_MAX 5
#define BYTES_MAX 4096

/* Lies where all ranks can write. */
struct board {
    pthread_barrier_t barrier;
    unsigned char bytes[RANKS_MAX * BYTES_MAX];
};

struct seat {
    struct board *board;
    int rank, ranks;
    int calls, fails_at; /* fails_at: in this call, from 1; 0: in none */
    ncoll_params params;
    ncoll_error error;
    int status; /* of its context */
};

/* All that a program has to bring. */
static int gather(void *arg, const void *in, size_t bytes, void *out)
{
    struct seat *s = arg;

    if (++s->calls == s->fails_at || bytes < 1 || bytes > BYTES_MAX)
        return 77;
    memcpy(s->board->bytes + (size_t)s->rank * bytes, in, bytes);
    pthread_barrier_wait(&s->board->barrier);
    memcpy(out, s->board->bytes, (size_t)s->ranks * bytes);
    pthread_barrier_wait(&s->board->barrier);
    return 0;
}

static struct board *make_board(int ranks)
{
    struct board *board = crew_share(sizeof *board);
    pthread_barrierattr_t attributes;

    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&board->barrier, &attributes, (unsigned)ranks);
    pthread_barrierattr_destroy(&attributes);
    return board;
}

static void free_board(struct board *board)
{
    pthread_barrier_destroy(&board->barrier);
    crew_unshare(board, sizeof *board);
}

/* Joins the job, adds up the ranks, and leaves. */
static int join_and_add(struct seat *s)
{
    struct ncoll_stats stats = {.size = sizeof stats};
    int64_t in = s->rank, sum = 0;
    ncoll_context *ctx;

    s->params.allgather = gather;
    s->params.allgather_arg = s;
    s->params.rank = s->rank;
    s->params.ranks = s->ranks;
    s->status = ncoll_context_create(&s->params, &ctx, &s->error);
    if (s->status != NCOLL_OK)
        return 1;
    int rc = ncoll_allreduce(ncoll_world(ctx), &in, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    bool well = rc == NCOLL_OK && sum == s->ranks * (s->ranks - 1) / 2 &&
                ncoll_group_rank(ncoll_world(ctx)) == s->rank &&
                ncoll_context_stats(ctx, &stats) == NCOLL_OK &&
                strcmp(stats.bootstrap, "user") == 0 && stats.ranks == s->ranks;
    ncoll_context_destroy(ctx);
    return well ? 0 : 2;
}

/* The allgather goes before the fork board, which the parameters have as well. */
static int process_main(const ncoll_params *params, void *arg)
{
    struct seat seat = {
        .board = arg, .rank = params->rank, .ranks = params->ranks, .params = *params};

    hang_after(60);
    for (int i = 0; i < 3; i++) /* one context after the other */
        if (join_and_add(&seat) != 0) {
            fprintf(stderr, "rank %d: %s\n", seat.rank, seat.error.text);
            return 1;
        }
    return 0;
}

static void test_processes(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
        struct board *board = make_board(ranks);
        assert_int_equal(ncoll_fork_ranks(ranks, NULL, process_main, board, NULL), NCOLL_OK);
        free_board(board);
    }
}

static void *thread_main(void *arg)
{
    return join_and_add(arg) == 0 ? arg : NULL;
}

static const char *with_rules; /* those of rank 0; NULL: none */

/* Runs threads as ranks. Returns how many failed. */
static int run_threads(struct seat *seats, int ranks)
{
    struct board *board = make_board(ranks);
    pthread_t threads[RANKS_MAX];
    int failed = 0;

    hang_after(60);
    for (int r = 0; r < ranks; r++) {
        seats[r].board = board;
        seats[r].ranks = ranks;
        seats[r].rank = r;
        assert_int_equal(ncoll_params_init(&seats[r].params, sizeof seats[r].params), NCOLL_OK);
        seats[r].params.log_level = NCOLL_LOG_NONE;
        seats[r].params.allreduce_rules = r == 0 ? with_rules : NULL;
        assert_int_equal(pthread_create(&threads[r], NULL, thread_main, &seats[r]), 0);
    }
    for (int r = 0; r < ranks; r++) {
        void *well;
        pthread_join(threads[r], &well);
        failed += well == NULL;
    }
    hang_after(0);
    free_board(board);
    return failed;
}

static void test_threads(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
        struct seat seats[RANKS_MAX] = {0};
        assert_int_equal(run_threads(seats, ranks), 0);
    }
}

/* Rank 0 tells the others rules that take several calls. A sum of them shows that all bytes came. */
static void test_long(void **state)
{
    enum { RULES = 600 };
    struct seat seats[RANKS_MAX] = {0};
    char *rules = malloc(RULES * 32), *end = rules;
    int usual;

    (void)state;
    assert_non_null(rules);
    assert_int_equal(run_threads(seats, 3), 0);
    usual = seats[0].calls;
    for (int i = 0; i < RULES; i++)
        end +=
            sprintf(end, "%s%d-%d:two-window@n=%d", i > 0 ? "," : "", 8 * i, 8 * i + 8, 1 + i % 3);
    memset(seats, 0, sizeof seats);
    with_rules = rules;
    assert_int_equal(run_threads(seats, 3), 0);
    with_rules = NULL;
    assert_true(seats[0].calls >= usual + (end - rules) / BYTES_MAX);
    free(rules);
}

/* It fails on all ranks in the same call, whichever that is. */
static void test_failing(void **state)
{
    struct seat seats[RANKS_MAX] = {0};

    (void)state;
    assert_int_equal(run_threads(seats, 2), 0);
    int calls = seats[0].calls;
    assert_true(calls > 0 && calls == seats[1].calls);
    for (int fails_at = 1; fails_at <= calls; fails_at++) {
        memset(seats, 0, sizeof seats);
        seats[0].fails_at = seats[1].fails_at = fails_at;
        assert_int_equal(run_threads(seats, 2), 2);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(seats[r].status, NCOLL_ERR_BOOTSTRAP);
            assert_non_null(strstr(seats[r].error.text, "returned 77"));
            assert_int_equal(seats[r].calls, fails_at); /* it is not called again */
        }
    }
}

/* ------------------------------------------------------------------ wrong --------------------- */

static struct {
    int ranks;
    int rank; /* whose place the bytes of this rank get */
} wrong;

static int gather_wrongly(void *arg, const void *in, size_t bytes, void *out)
{
    (void)arg;
    memset(out, 0xee, (size_t)wrong.ranks * bytes);
    memcpy((unsigned char *)out + (size_t)wrong.rank * bytes, in, bytes);
    return 0;
}

static int nothing(void *arg, int64_t timeout_ns)
{
    (void)arg, (void)timeout_ns;
    return 0;
}

static void expect(const ncoll_params *params, int status, const char *text)
{
    ncoll_context *ctx = NULL;
    ncoll_error error;

    assert_int_equal(ncoll_context_create(params, &ctx, &error), status);
    assert_null(ctx);
    if (strstr(error.text, text) == NULL)
        fail_msg("no \"%s\" in: %s", text, error.text);
}

static void test_wrong(void **state)
{
    ncoll_params params;

    (void)state;
    assert_int_equal(ncoll_params_init(&params, sizeof params), NCOLL_OK);
    params.log_level = NCOLL_LOG_NONE;
    params.allgather = gather_wrongly;
    expect(&params, NCOLL_ERR_ARGUMENT, "set rank (from 0) and ranks");
    params.rank = 2;
    params.ranks = 2;
    expect(&params, NCOLL_ERR_ARGUMENT, "rank 2 of 2");
    params.rank = 0;
    wrong.ranks = 2;
    wrong.rank = 1; /* the function numbers the ranks in another way */
    expect(&params, NCOLL_ERR_BOOTSTRAP, "did not put the 512 bytes of rank 0");
    wrong.rank = 0; /* the other rank's bytes are no length */
    expect(&params, NCOLL_ERR_BOOTSTRAP, "rank 1 has ");
    params.callbacks.fence = nothing;
    expect(&params, NCOLL_ERR_ARGUMENT, "both callbacks and an allgather");
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    expect(&params, NCOLL_ERR_ARGUMENT, "either callbacks or allgather");
    params.callbacks.fence = NULL;
    params.allgather = NULL;
    expect(&params, NCOLL_ERR_ARGUMENT, "or allgather in their place");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_long),      cmocka_unit_test(test_failing),
        cmocka_unit_test(test_wrong),
    };

    return cmocka_run_group_tests_name("allgather", tests, NULL, NULL);
}
