/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are threads of one process, with several contexts at once. Meant for TSan, which sees
 * both sides of every shared-memory message here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/blackboard.h"
#include "test/support/mixture.h"

#define LIMIT_S  200
#define RANKS    6
#define BOARDS   20
#define JOBS     3 /* that a thread takes part in at a time */
#define CALLS    1500
#define GATHERED 40 /* elements of the longest block */

/* Shared by the threads; kept small by being emptied before every test. */
static struct scene {
    struct mixture mixture;
    struct blackboard *boards[2][BOARDS];
    struct mixture mixtures[2][BOARDS];
} scene;

static void run_with(const ncoll_params *params, int ranks, crew_body body)
{
    memset(&scene.mixture, 0, sizeof scene.mixture);
    assert_int_equal(crew_run(CREW_THREADS, ranks, params, LIMIT_S, body, &scene), 0);
}

static void run(int ranks, crew_body body)
{
    run_with(NULL, ranks, body);
}

static void run_with_boards(int ranks, int board_ranks, crew_body body)
{
    memset(&scene, 0, sizeof scene);
    for (int i = 0; i < 2 * BOARDS; i++)
        scene.boards[i % 2][i / 2] = blackboard_create(board_ranks);
    run(ranks, body);
    for (int i = 0; i < 2 * BOARDS; i++)
        blackboard_destroy(scene.boards[i % 2][i / 2]);
}

/* This thread as a rank of another job. */
static int join(const struct rank *r, struct blackboard *board, int rank, int ranks,
                struct rank *out)
{
    ncoll_params params = r->params;
    ncoll_error error;

    *out = *r;
    out->rank = rank;
    out->ranks = ranks;
    blackboard_join(board, rank, &params);
    if (ncoll_context_create(&params, &out->ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    out->world = ncoll_world(out->ctx);
    return 0;
}

/* ------------------------------------------------------------------ one context -------------- */

static int run_mixture(struct rank *r)
{
    return mixture_run(&scene.mixture, r, CALLS);
}

static void test_mixtures(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++)
        run(ranks, run_mixture);
}

/* Others than a slot's receiver read here: neighbours look there, or the data lies at the
 * sender. */
static void test_shared_windows(void **state)
{
    static const char *const allreduces[] = {"hierarchical-shared-ordered", "multiply"};
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.nodes = "0,0,1,1,1,0,0";
    params.show_bytes = 1;
    params.barrier_algorithm = "hierarchical-shared";
    for (size_t i = 0; i < sizeof allreduces / sizeof allreduces[0]; i++) {
        params.allreduce_algorithm = allreduces[i];
        for (int ranks = 3; ranks <= 5; ranks++)
            run_with(&params, ranks, run_mixture);
    }
}

/* Blocks of all lengths, none and longer than fit a slot as well. */
static int gather(struct rank *r)
{
    int64_t in[GATHERED], out[RANKS * GATHERED];
    size_t counts[RANKS];

    for (int call = 0; call < CALLS; call++) {
        size_t before = 0;
        for (int q = 0; q < r->ranks; q++)
            counts[q] = (size_t)(call * (q + 1) % (GATHERED + 1));
        for (size_t i = 0; i < counts[r->rank]; i++)
            in[i] = r->rank + 1000 * call;
        CHECK_STATUS(ncoll_allgatherv(r->world, in, out, counts, NULL, NCOLL_INT64, NCOLL_BLOCK),
                     NCOLL_OK);
        for (int q = 0; q < r->ranks; before += counts[q++])
            for (size_t i = 0; i < counts[q]; i++)
                CHECK(out[before + i] == q + 1000 * call);
    }
    return 0;
}

static void test_gathers(void **state)
{
    static const char *const algorithms[] = {"hierarchical-packed", "hierarchical-balanced"};
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.nodes = "0,1,0,1,1,0";
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        params.allgather_algorithm = algorithms[i];
        for (int ranks = 4; ranks <= RANKS; ranks++)
            run_with(&params, ranks, gather);
    }
}

/* ------------------------------------------------------------------ several contexts --------- */

static int start_all(struct rank jobs[JOBS], int64_t in[JOBS], int64_t out[JOBS],
                     ncoll_request *requests[JOBS])
{
    for (int j = 0; j < JOBS; j++) {
        struct rank *r = &jobs[j];
        CHECK_STATUS(ncoll_allreduce_start(r->world, &in[j], &out[j], 1, NCOLL_INT64, NCOLL_SUM,
                                           &requests[j]),
                     NCOLL_OK);
    }
    return 0;
}

/* Unfinished on all of them, and finished in any order. */
static int finish_all(struct rank jobs[JOBS], ncoll_request *requests[JOBS])
{
    int left = JOBS;

    while (left > 0) {
        int j = (int)random_below(&jobs[0].own, JOBS);
        struct rank *r = &jobs[j];
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
        if (requests[j] == NULL || random_below(&jobs[0].own, 2) == 0)
            continue;
        int rc = ncoll_wait(&requests[j], (int64_t)random_below(&jobs[0].own, 20000));
        if (rc == NCOLL_TIMEOUT)
            continue;
        CHECK_STATUS(rc, NCOLL_OK);
        left--;
    }
    return 0;
}

/* The jobs number this thread differently. */
static int juggle(struct rank *r)
{
    ncoll_request *requests[JOBS];
    struct rank jobs[JOBS];
    int64_t in[JOBS], out[JOBS];
    int ranks = r->ranks;

    for (int j = 0; j < JOBS; j++)
        CHECK(join(r, scene.boards[0][j], (r->rank + j) % ranks, ranks, &jobs[j]) == 0);
    for (int64_t i = 0; i < CALLS; i++) {
        for (int j = 0; j < JOBS; j++)
            in[j] = i * (j + 1) + jobs[j].rank;
        CHECK(start_all(jobs, in, out, requests) == 0);
        CHECK(finish_all(jobs, requests) == 0);
        for (int j = 0; j < JOBS; j++)
            CHECK(out[j] == i * (j + 1) * ranks + ranks * (ranks - 1) / 2);
    }
    for (int j = 0; j < JOBS; j++)
        ncoll_context_destroy(jobs[j].ctx);
    return 0;
}

static void test_several_contexts_at_once(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        run_with_boards(ranks, ranks, juggle);
}

/* Two jobs of three threads each, side by side, whose contexts come and go. */
static int come_and_go(struct rank *r)
{
    int half = r->rank / 3;

    for (int i = 0; i < BOARDS; i++) {
        struct rank sub;
        CHECK(join(r, scene.boards[half][i], r->rank % 3, 3, &sub) == 0);
        sub.common = random_stream(test_seed(), (uint64_t)(1 + half * BOARDS + i));
        CHECK(mixture_run(&scene.mixtures[half][i], &sub, 20) == 0);
        ncoll_context_destroy(sub.ctx);
    }
    return 0;
}

static void test_contexts_come_and_go(void **state)
{
    (void)state;
    run_with_boards(6, 3, come_and_go);
}

/* ------------------------------------------------------------------ failures ----------------- */

static int disagree(struct rank *r)
{
    int64_t in = 1, out;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 0)
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_MISMATCH);
    else
        CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_ERR_MISMATCH);
    return 0;
}

/* Thread 0 leaves, the others miss it. */
static int leave(struct rank *r)
{
    for (int i = 0; i < 3; i++) {
        int rc = ncoll_barrier(r->world, NCOLL_BLOCK);
        CHECK_STATUS(rc, rc == NCOLL_ERR_PEER && r->rank > 0 ? NCOLL_ERR_PEER : NCOLL_OK);
    }
    if (r->rank == 0)
        return 0;
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == 0);
    return 0;
}

static void test_failures(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        run(ranks, disagree);
        run(ranks, leave);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixtures),
        cmocka_unit_test(test_shared_windows),
        cmocka_unit_test(test_gathers),
        cmocka_unit_test(test_several_contexts_at_once),
        cmocka_unit_test(test_contexts_come_and_go),
        cmocka_unit_test(test_failures),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
