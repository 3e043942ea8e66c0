/* SPDX-License-Identifier: BSD-3-Clause */
/* Thresholds that are no thresholds, and ranks with different ones. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ncoll_eventual.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))
#define WHILE_NS 200000000u

static int64_t data[10], result[10];
static double weights[10];
static uint8_t rank_in[8];

/* ------------------------------------------------------------------ bad input ----------------- */

static void user_combine(void *out, const void *left, const void *right, size_t count,
                         ncoll_type type, void *arg)
{
    (void)out, (void)left, (void)right, (void)count, (void)type, (void)arg;
}

static int refuse(struct rank *r, const ncoll_threshold *t, ncoll_threshold_status *status,
                  const char *text)
{
    CHECK_STATUS(ncoll_bcast_threshold(r->world, data, 10, NCOLL_INT64, 0, t, status, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, text) != NULL);
    CHECK_STATUS(ncoll_reduce_threshold(r->world, data, result, 10, NCOLL_INT64, NCOLL_SUM, 0, t,
                                        status, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, text) != NULL);
    return 0;
}

static int bad_input(struct rank *r)
{
    static double nan_at_3[10] = {1, 2, 3};
    ncoll_threshold_status status = {.size = sizeof status}, short_status = {.size = 8};
    ncoll_threshold_status of_data = {
        .size = sizeof of_data, .of = NCOLL_THRESHOLD_DATA, .count = 10, .elements = 3};
    ncoll_threshold_status of_ranks = {
        .size = sizeof of_ranks, .of = NCOLL_THRESHOLD_RANKS, .count = 10, .ranks = 1};
    ncoll_threshold_status heavy = {
        .size = sizeof heavy, .of = NCOLL_THRESHOLD_HEAVIEST, .count = 10, .elements = 3};
#define OF(kind, ...) &(ncoll_threshold){.size = sizeof(ncoll_threshold), .of = kind, __VA_ARGS__}
    nan_at_3[3] = NAN;
    CHECK(refuse(r, NULL, &status, "NULL") == 0);
    CHECK(refuse(r, &(ncoll_threshold){.of = NCOLL_THRESHOLD_DATA}, &status, "size") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .fraction = -0.1), &status, "-0.1") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .fraction = 1.01), &status, "1.01") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_RANKS, .fraction = NAN), &status, "nan") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .fraction = INFINITY), &status, "inf") == 0);
    CHECK(refuse(r, OF((ncoll_threshold_of)4, .fraction = 1), &status, "kind 4") == 0);
    CHECK(refuse(r, OF((ncoll_threshold_of)0, .fraction = 1), &status, "kind 0") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .fraction = 1), &short_status, "size") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .after = &of_ranks), &status, "kind") == 0);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_RANKS, .after = &of_ranks), &status, "which ranks") == 0);
    of_data.count = 11;
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .after = &of_data), &status, "count") == 0);
    of_data.count = 10;
    of_data.elements = 11;
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_DATA, .after = &of_data), &status, "more elements") == 0);
    of_ranks.rank_in = rank_in;
    memset(rank_in, 0, sizeof rank_in);
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_RANKS, .after = &of_ranks), &status, "root") == 0);
    rank_in[0] = rank_in[1] = 1;
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_RANKS, .after = &of_ranks), &status, "number") == 0);
    if (r->rank == 0) { /* others need no weights in a bcast */
        CHECK(refuse(r, OF(NCOLL_THRESHOLD_HEAVIEST, .fraction = 1), &status, "weights") == 0);
        CHECK(refuse(r, OF(NCOLL_THRESHOLD_HEAVIEST, .weights = nan_at_3), &status, "weight 3") ==
              0);
        CHECK(refuse(r, OF(NCOLL_THRESHOLD_HEAVIEST, .weights = weights, .after = &heavy), &status,
                     "which elements") == 0);
    }
    CHECK(refuse(r, OF(NCOLL_THRESHOLD_RANKS, .weights = nan_at_3 + 2), &status, "weight 1") == 0);
    const ncoll_threshold *half = OF(NCOLL_THRESHOLD_DATA, .fraction = 0.5);
    CHECK_STATUS(ncoll_bcast_threshold(NULL, data, 10, NCOLL_INT64, 0, half, &status, LIMIT_NS),
                 NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_bcast_threshold(r->world, NULL, 10, NCOLL_INT64, 0, half, &status, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_bcast_threshold(r->world, data, 10, NCOLL_INT64, 99, half, &status, LIMIT_NS),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_bcast_threshold(r->world, data, 10, NCOLL_INT64, 0, half, &status, -1),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_bcast_threshold_start(r->world, data, 10, NCOLL_INT64, 0, half, &status, NULL),
        NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(
        ncoll_bcast_threshold_init(r->world, data, 10, NCOLL_INT64, 0, half, &status, NULL),
        NCOLL_ERR_ARGUMENT);
    const ncoll_op_def def = {.size = sizeof def, .combine = user_combine};
    ncoll_op op;
    CHECK_STATUS(ncoll_op_create(r->ctx, &def, &op), NCOLL_OK);
    CHECK_STATUS(ncoll_reduce_threshold(r->world, data, result, 10, NCOLL_INT64, op, 0,
                                        OF(NCOLL_THRESHOLD_RANKS, .fraction = 0.5), &status,
                                        LIMIT_NS),
                 NCOLL_ERR_UNSUPPORTED);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK); /* nothing has happened */
    return 0;
}

/* ------------------------------------------------------------------ mismatches ---------------- */

/*
 * Rank 1 makes another call than the others, and all of them get an error. It names both calls on
 * those that wait in theirs, or get a message of the other one. Ranks whose part is done go on to a
 * barrier, and may find out there, by history hashes alone; so they let rank 1 go first.
 */
struct difference {
    bool reduce;
    ncoll_threshold normal, other;
    const char *texts[2];
};

/* Shared by the ranks: how many have got their error, and how many know both calls. */
struct notices {
    atomic_int noticed, told;
};

static const double ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, rising[10] = {1, 2, 3};
static const struct difference *difference;

static void pause_ns(uint64_t ns)
{
    uint64_t until = crew_now_ns() + ns;

    while (crew_now_ns() < until)
        sched_yield();
}

static int differ(struct rank *r)
{
    const ncoll_threshold *t = r->rank == 1 ? &difference->other : &difference->normal;
    struct notices *notices = r->shared;
    int rc = difference->reduce
                 ? ncoll_reduce_threshold(r->world, data, result, 10, NCOLL_INT64, NCOLL_SUM, 2, t,
                                          NULL, LIMIT_NS)
                 : ncoll_bcast_threshold(r->world, data, 10, NCOLL_INT64, 2, t, NULL, LIMIT_NS);

    if (r->rank != 1 && rc == NCOLL_OK)
        pause_ns(WHILE_NS);
    for (int i = 0; i < 2 && rc == NCOLL_OK; i++)
        rc = ncoll_barrier(r->world, LIMIT_NS);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    const char *text = ncoll_last_error(r->ctx)->text;
    notices->told +=
        strstr(text, difference->texts[0]) != NULL && strstr(text, difference->texts[1]) != NULL;
    notices->noticed++;
    for (uint64_t until = crew_now_ns() + LIMIT_NS;
         notices->noticed < r->ranks && crew_now_ns() < until;)
        sched_yield(); /* nobody leaves before all know */
    return 0;
}

#define T(kind, part, ...)                                                                         \
    {                                                                                              \
        .size = sizeof(ncoll_threshold), .of = NCOLL_THRESHOLD_##kind, .fraction = part,           \
        __VA_ARGS__                                                                                \
    }

static const struct difference differences[] = {
    {true, T(DATA, 0.5), T(DATA, 0.25), {"50 % of the data", "25 % of the data"}},
    {false, T(DATA, 0.5), T(DATA, 1), {"50 % of the data", "100 % of the data"}},
    {false, T(DATA, 0.5), T(DATA, 0.501), {"50 % of the data", "fractions"}},
    {false, T(RANKS, 0.75), T(DATA, 0.75), {"75 % of the data", "75 % of the ranks"}},
    {true, T(DATA, 0.75), T(RANKS, 0.75), {"75 % of the data", "75 % of the ranks"}},
    {true, T(RANKS, 1), T(RANKS, 0.25), {"100 % of the ranks", "25 % of the ranks"}},
    {false, T(DATA, 0.5), T(HEAVIEST, 0.5, .weights = ones), {"of the data", "heaviest data"}},
    {true,
     T(HEAVIEST, 0.5, .weights = ones),
     T(HEAVIEST, 0.5, .weights = rising),
     {"heaviest data", "weights"}},
    {true, T(RANKS, 1, .weights = ones), T(RANKS, 1, .weights = rising), {"ranks", "weights"}},
    /* rank 1 takes no part, so that no rank waits, and history hashes alone differ */
    {false, T(DATA, 0.75), T(RANKS, 0.75), {"barrier", "before"}},
};

static void test_mismatches(void **state)
{
    struct notices *notices = crew_share(sizeof *notices);

    (void)state;
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        difference = &differences[i];
        *notices = (struct notices){0};
        assert_int_equal(crew_run(CREW_PROCESSES, 5, NULL, 60, differ, notices), 0);
        assert_true(notices->told > 0);
    }
    crew_unshare(notices, sizeof *notices);
}

static void test_bad_input(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, bad_input, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_mismatches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
