/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Split phase: collectives that are left and taken up again, ranks that come late, long vectors,
 * the first-call trial. Every result is checked, and no call may be lost.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "test/support/mixture.h"

#define LIMIT_S   100
#define RANKS_MAX 8
#if defined(__SANITIZE_ADDRESS__)
#define CALLS 500
#else
#define CALLS 2000
#endif

/* Shared. */
struct scene {
    struct mixture mixture;
    _Atomic unsigned radix[RANKS_MAX]; /* that the trial has found */
};

static void run(int ranks, const ncoll_params *params, crew_body body, struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    assert_int_equal(crew_run(CREW_PROCESSES, ranks, params, LIMIT_S, body, scene), 0);
}

/* ------------------------------------------------------------------ mixtures ----------------- */

static int run_mixture(struct rank *r)
{
    return mixture_run(&((struct scene *)r->shared)->mixture, r, CALLS);
}

static void test_mixtures(void **state)
{
    struct scene *scene = *state;

    for (int ranks = 1; ranks <= RANKS_MAX; ranks++) {
        run(ranks, NULL, run_mixture, scene);
        if (ranks > 1) /* many more than one in every other call */
            assert_true(scene->mixture.resumed > CALLS);
    }
}

/* ------------------------------------------------------------------ late ranks --------------- */

/* In every call one rank stays away until the others have come back in vain 300 times. */
static int wait_for_late_rank(struct rank *r)
{
    static const enum way patient[] = {WAY_TEST, WAY_SHORT, WAY_ASK, WAY_WAIT};
    struct mixture *mixture = &((struct scene *)r->shared)->mixture;

    for (uint64_t number = 0; number < 100; number++) {
        struct item item = mixture_draw(r);
        int late = (int)random_below(&r->common, (uint64_t)r->ranks);
        uint64_t enough = mixture->resumed + 300;
        while (r->rank == late && mixture->resumed < enough)
            sched_yield();
        CHECK(mixture_call(mixture, r, number, &item, patient[number % 4]) == 0);
    }
    return 0;
}

static void test_late_ranks(void **state)
{
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        run(ranks, NULL, wait_for_late_rank, *state);
}

/* ------------------------------------------------------------------ barriers ----------------- */

/* Every algorithm and radix: nobody leaves before the last one has entered. */
static int run_barriers(struct rank *r)
{
    const struct item barrier = {.barrier = true};
    struct scene *scene = r->shared;
    struct choice choice;
    uint64_t number = 0;

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned radix = 1; radix <= RADIX_MAX; radix++) {
            const char *name = ncoll__algorithms[i]->name;
            CHECK_STATUS(ncoll__group_force(r->world, COLL_BARRIER, name, radix), NCOLL_OK);
            if (ncoll__choose(r->world, COLL_BARRIER, 0, 0, 0, &choice) != NCOLL_OK)
                continue;
            for (uint64_t end = number + 10; number < end; number++) {
                if (random_below(&r->own, 8) == 0)
                    usleep((useconds_t)random_below(&r->own, 300));
                CHECK(mixture_call(&scene->mixture, r, number, &barrier,
                                   (enum way)random_below(&r->own, WAYS)) == 0);
            }
        }
    CHECK(number >= 10 * RADIX_MAX);
    return 0;
}

static void test_barriers(void **state)
{
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        run(ranks, NULL, run_barriers, *state);
}

/* ------------------------------------------------------------------ long vectors ------------- */

/* In place or not, as a call or a request; nothing but the time-outs of the first may be seen. */
static int reduce_long(struct rank *r, int64_t *in, int64_t *out, size_t count, bool request)
{
    ncoll_request *started;
    int rc;

    for (size_t i = 0; i < count; i++)
        in[i] = (int64_t)(i * 8 + (size_t)r->rank);
    if (request) {
        CHECK_STATUS(
            ncoll_allreduce_start(r->world, in, out, count, NCOLL_INT64, NCOLL_SUM, &started),
            NCOLL_OK);
        while ((rc = ncoll_test(&started)) == NCOLL_TIMEOUT)
            sched_yield();
    } else {
        while ((rc = ncoll_allreduce(r->world, in, out, count, NCOLL_INT64, NCOLL_SUM, 20000)) ==
               NCOLL_TIMEOUT)
            ;
    }
    CHECK_STATUS(rc, NCOLL_OK);
    for (size_t i = 0; i < count; i++)
        CHECK(out[i] == (int64_t)(i * 8) * r->ranks + r->ranks * (r->ranks - 1) / 2);
    return 0;
}

/* Runs calls as long as the window, and three times as long and a bit. */
static int run_long(struct rank *r)
{
    size_t once = r->params.window_bytes / sizeof(int64_t), most = 3 * once + 17;
    int64_t *in = malloc(most * sizeof *in), *out = malloc(most * sizeof *out);

    CHECK(in != NULL && out != NULL);
    for (unsigned i = 0; i < 8; i++)
        CHECK(reduce_long(r, in, i & 1 ? in : out, i & 2 ? once : most, i & 4) == 0);
    free(in);
    free(out);
    return 0;
}

static void test_long_vectors(void **state)
{
    static const size_t windows[] = {64 << 10, 1 << 20, 4 << 20};
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    for (int ranks = 2; ranks <= 5; ranks++)
        for (unsigned i = 0; i < sizeof windows / sizeof windows[0]; i++) {
            params.window_bytes = windows[i];
            run(ranks, &params, run_long, *state);
        }
}

/* ------------------------------------------------------------------ the trial ---------------- */

static unsigned radix_of(struct rank *r, enum collective collective)
{
    struct choice choice;

    if (ncoll__choose(r->world, collective, 1, NCOLL_INT64, NCOLL_SUM, &choice) != NCOLL_OK)
        return 0;
    return choice.radix;
}

/* The trial comes inside the first call of a kind, which may be left and taken up again in it. */
static int run_trial(struct rank *r)
{
    struct scene *scene = r->shared;
    const struct item first = {.kind = 2, .count = 100, .in_place = r->ranks % 2};
    const struct item barrier = {.barrier = true};
    enum way way = (enum way)random_below(&r->common, WAYS);

    CHECK(mixture_call(&scene->mixture, r, 0, &first, way) == 0);
    CHECK(mixture_call(&scene->mixture, r, 1, &barrier, way) == 0);
    unsigned radix = radix_of(r, COLL_ALLREDUCE) << 8 | radix_of(r, COLL_BARRIER);
    CHECK(radix >> 8 >= 1 && radix >> 8 <= 7 && (radix & 255) >= 1 && (radix & 255) <= 7);
    scene->radix[r->rank] = radix;
    CHECK(mixture_call(&scene->mixture, r, 2, &barrier, WAY_BLOCK) == 0);
    CHECK(scene->radix[0] == radix);
    for (uint64_t number = 3; number < 200; number++) {
        struct item item = mixture_draw(r);
        CHECK(mixture_call(&scene->mixture, r, number, &item, way) == 0);
    }
    CHECK(radix_of(r, COLL_ALLREDUCE) == radix >> 8 && radix_of(r, COLL_BARRIER) == (radix & 255));
    return 0;
}

static void test_trial(void **state)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.tune = NCOLL_TUNE_TRIAL;
    for (int i = 0; i < 4; i++)
        for (int ranks = 2; ranks <= 6; ranks++)
            run(ranks, &params, run_trial, *state);
}

/* A call that the trial does not choose for is planned when it is called: on one rank before the
 * trial is over, on the others after it. */
static int start_during_trial(struct rank *r)
{
    const double one = 1;
    double sum, total;
    int64_t x = 0;
    ncoll_request *requests[4];

    if (r->rank == 0) {
        CHECK_STATUS(ncoll_barrier_start(r->world, &requests[0]), NCOLL_OK);
        CHECK_STATUS(ncoll_group_set_sync(r->world, NCOLL_STRICT), NCOLL_OK);
        CHECK_STATUS(ncoll_bcast_start(r->world, &x, 1, NCOLL_INT64, 0, &requests[1]), NCOLL_OK);
        CHECK_STATUS(ncoll_group_set_sync(r->world, NCOLL_LOOSE), NCOLL_OK);
        CHECK_STATUS(
            ncoll_allreduce_start(r->world, &one, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, &requests[2]),
            NCOLL_OK);
        CHECK_STATUS(ncoll_allreduce_start(r->world, &one, &total, 1, NCOLL_DOUBLE,
                                           NCOLL_SUM_REPRODUCIBLE, &requests[3]),
                     NCOLL_OK);
        for (int i = 0; i < 4; i++)
            CHECK_STATUS(ncoll_wait(&requests[i], NCOLL_BLOCK), NCOLL_OK);
    } else {
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_set_sync(r->world, NCOLL_STRICT), NCOLL_OK);
        CHECK_STATUS(ncoll_bcast(r->world, &x, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_set_sync(r->world, NCOLL_LOOSE), NCOLL_OK);
        CHECK_STATUS(ncoll_allreduce(r->world, &one, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        CHECK_STATUS(ncoll_allreduce(r->world, &one, &total, 1, NCOLL_DOUBLE,
                                     NCOLL_SUM_REPRODUCIBLE, NCOLL_BLOCK),
                     NCOLL_OK);
    }
    CHECK(sum == r->ranks && total == r->ranks);
    return 0;
}

static void test_calls_during_trial(void **state)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.tune = NCOLL_TUNE_TRIAL;
    for (int ranks = 3; ranks <= 6; ranks++)
        run(ranks, &params, start_during_trial, *state);
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
        cmocka_unit_test(test_mixtures), cmocka_unit_test(test_late_ranks),
        cmocka_unit_test(test_barriers), cmocka_unit_test(test_long_vectors),
        cmocka_unit_test(test_trial),    cmocka_unit_test(test_calls_during_trial),
    };

    return cmocka_run_group_tests_name("split", tests, setup, teardown);
}
