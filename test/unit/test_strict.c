/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict entry and exit, seen from outside: by what ranks do to each other's memory. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"

#define RANKS 5
#define LATE  4
#define LIMIT 60
#define DELAY 30000 /* us */

static const unsigned modes[] = {NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT, NCOLL_STRICT};
#define MODES 4

/* The forms of a call: blocking, polled, as a request, as a persistent request. */
enum form { CALL, POLLED, REQUEST, PERSISTENT, FORMS };

/* Memory that all ranks can reach, past the library. */
struct board {
    _Atomic int64_t x[RANKS], all[RANKS], blocks[RANKS][RANKS];
    double numbers[RANKS], sums[RANKS];
    _Atomic bool left; /* rank 1 has left the collective */
};

/* Forked ranks inherit it. */
static struct {
    unsigned sync, other;
    enum form form;
} plan;

static void wait_for(_Atomic bool *flag)
{
    while (!*flag)
        sched_yield();
}

static int finish(ncoll_request **request, int rc)
{
    while (rc == NCOLL_OK && (rc = ncoll_test(request)) == NCOLL_TIMEOUT)
        rc = NCOLL_OK;
    return rc;
}

static int finish_persistent(ncoll_request **request, ncoll_group *g, int rc)
{
    if (rc == NCOLL_OK)
        rc = ncoll_group_set_sync(g, NCOLL_LOOSE); /* it keeps the mode that it was made in */
    if (rc == NCOLL_OK)
        rc = ncoll_start(*request);
    if (rc == NCOLL_OK)
        rc = ncoll_wait(request, NCOLL_BLOCK);
    return rc == NCOLL_OK ? ncoll_request_free(request) : rc;
}

static int bcast(ncoll_group *g, void *x, enum form form)
{
    ncoll_request *request;
    int rc;

    switch (form) {
    case REQUEST:
        return finish(&request, ncoll_bcast_start(g, x, 1, NCOLL_INT64, 0, &request));
    case PERSISTENT:
        return finish_persistent(&request, g, ncoll_bcast_init(g, x, 1, NCOLL_INT64, 0, &request));
    case POLLED:
        while ((rc = ncoll_bcast(g, x, 1, NCOLL_INT64, 0, NCOLL_TEST)) == NCOLL_TIMEOUT)
            ncoll_group_set_sync(g, NCOLL_LOOSE); /* what has been begun keeps its mode */
        return rc;
    default:
        return ncoll_bcast(g, x, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
    }
}

static int gather(ncoll_group *g, void *x, void *all, enum form form)
{
    ncoll_request *request;
    int rc;

    switch (form) {
    case REQUEST:
        return finish(&request, ncoll_gather_start(g, x, all, 1, NCOLL_INT64, 0, &request));
    case PERSISTENT:
        return finish_persistent(&request, g,
                                 ncoll_gather_init(g, x, all, 1, NCOLL_INT64, 0, &request));
    case POLLED:
        while ((rc = ncoll_gather(g, x, all, 1, NCOLL_INT64, 0, NCOLL_TEST)) == NCOLL_TIMEOUT)
            ncoll_group_set_sync(g, NCOLL_LOOSE);
        return rc;
    default:
        return ncoll_gather(g, x, all, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
    }
}

/* Peers are connected with everybody's help, so before anybody is late. */
static int warm_up(struct rank *r)
{
    int64_t x = 0, all[RANKS];

    CHECK_STATUS(ncoll_bcast(r->world, &x, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_gather(r->world, &x, all, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

/* The lost update, as ncoll.h tells it. */
static int put_after(struct rank *r)
{
    struct board *board = r->shared;
    bool strict = (plan.sync & NCOLL_STRICT_EXIT) != 0;

    CHECK(warm_up(r) == 0);
    board->x[r->rank] = r->rank == 0;
    CHECK_STATUS(ncoll_group_set_sync(r->world, plan.sync), NCOLL_OK);
    CHECK(ncoll_group_sync(r->world) == (int)plan.sync);
    if (r->rank == LATE && (plan.sync == NCOLL_LOOSE))
        wait_for(&board->left);
    else if (r->rank == LATE)
        usleep(DELAY);
    CHECK_STATUS(bcast(r->world, (void *)&board->x[r->rank], plan.form), NCOLL_OK);
    if (r->rank == 1) {
        CHECK(board->x[1] == 1);
        board->x[LATE] = 5;
        board->left = true;
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (strict || plan.sync == NCOLL_LOOSE)
        CHECK(board->x[LATE] == (strict ? 5 : 1));
    return 0;
}

/* The late rank puts into what rank 1 sends. */
static int put_before(struct rank *r)
{
    struct board *board = r->shared;
    bool strict = (plan.sync & NCOLL_STRICT_ENTRY) != 0;

    CHECK(warm_up(r) == 0);
    board->x[r->rank] = 1;
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_set_sync(r->world, plan.sync), NCOLL_OK);
    if (r->rank == LATE && plan.sync == NCOLL_LOOSE)
        wait_for(&board->left);
    else if (r->rank == LATE)
        usleep(DELAY);
    if (r->rank == LATE)
        board->x[1] = 5;
    CHECK_STATUS(gather(r->world, (void *)&board->x[r->rank], (void *)board->all, plan.form),
                 NCOLL_OK);
    if (r->rank == 1)
        board->left = true;
    if (r->rank == 0 && (strict || plan.sync == NCOLL_LOOSE))
        CHECK(board->all[1] == (strict ? 5 : 1));
    return 0;
}

/* Here the library works on a copy of what the rank sends. */
static int put_before_copy(struct rank *r)
{
    struct board *board = r->shared;
    int64_t *blocks = (int64_t *)board->blocks[r->rank];
    const double *number = &board->numbers[r->rank];

    CHECK(warm_up(r) == 0);
    board->blocks[r->rank][0] = 1;
    board->numbers[r->rank] = 1;
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_set_sync(r->world, NCOLL_STRICT_ENTRY), NCOLL_OK);
    if (r->rank == LATE) {
        usleep(DELAY);
        board->blocks[1][0] = 5;
    }
    CHECK_STATUS(ncoll_alltoall(r->world, blocks, blocks, 1, NCOLL_INT64, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == LATE) {
        usleep(DELAY);
        board->numbers[1] = 5;
    }
    CHECK_STATUS(ncoll_allreduce(r->world, number, &board->sums[r->rank], 1, NCOLL_DOUBLE,
                                 NCOLL_SUM_REPRODUCIBLE, NCOLL_BLOCK),
                 NCOLL_OK);
    if (r->rank == 0)
        CHECK(board->blocks[0][1] == 5);
    CHECK(board->sums[r->rank] == 5 + RANKS - 1);
    return 0;
}

static void in_all_modes(crew_body body)
{
    for (unsigned m = 0; m < MODES; m++)
        for (plan.form = CALL; plan.form < FORMS; plan.form++) {
            struct board *board = crew_share(sizeof *board);
            plan.sync = modes[m];
            int failed = crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT, body, board);
            crew_unshare(board, sizeof *board);
            if (failed != 0)
                fail_msg("mode %u, form %d", plan.sync, (int)plan.form);
        }
}

static void test_update_after_exit_is_lost_unless_strict(void **state)
{
    (void)state;
    in_all_modes(put_after);
}

static void test_update_before_entry_is_seen_if_strict(void **state)
{
    (void)state;
    in_all_modes(put_before);
}

static void test_update_before_entry_is_copied_if_strict(void **state)
{
    struct board *board = crew_share(sizeof *board);

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, LIMIT, put_before_copy, board), 0);
    crew_unshare(board, sizeof *board);
}

/* All calls with counts that no rank knows, and the trial, come in front of the call, too. */
static int many_calls(struct rank *r)
{
    int64_t in[RANKS], out[RANKS];
    size_t ones[RANKS];

    for (int i = 0; i < r->ranks; i++)
        ones[i] = 1;
    for (int i = 0; i < 200; i++) {
        CHECK_STATUS(ncoll_group_set_sync(r->world, modes[i % MODES]), NCOLL_OK);
        for (int q = 0; q < r->ranks; q++)
            in[q] = 100 * i + 10 * r->rank + q;
        CHECK_STATUS(
            ncoll_alltoallv(r->world, in, ones, NULL, out, ones, NULL, NCOLL_INT64, NCOLL_BLOCK),
            NCOLL_OK);
        for (int q = 0; q < r->ranks; q++)
            CHECK(out[q] == 100 * i + 10 * q + r->rank);
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        CHECK(out[0] == 100 * i * r->ranks + 10 * r->ranks * (r->ranks - 1) / 2);
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_modes_change_from_call_to_call(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    for (params.tune = NCOLL_TUNE_TABLE; params.tune <= NCOLL_TUNE_TRIAL; params.tune++)
        for (int ranks = 1; ranks <= RANKS; ranks++)
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, LIMIT, many_calls, NULL), 0);
}

static int differ(struct rank *r)
{
    bool odd_one = r->rank == r->ranks - 1;
    int64_t x = 0;

    CHECK_STATUS(ncoll_group_set_sync(r->world, odd_one ? plan.other : plan.sync), NCOLL_OK);
    int rc = ncoll_bcast(r->world, &x, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
    while (rc == NCOLL_OK) /* it may have done its part; the next call needs the others */
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    const char *text = ncoll_last_error(r->ctx)->text;
    CHECK(rc == NCOLL_ERR_MISMATCH || rc == NCOLL_ERR_PEER);
    CHECK(rc == NCOLL_ERR_PEER || strstr(text, "of a strict call") != NULL);
    return 0;
}

static void test_different_modes_are_a_mismatch(void **state)
{
    (void)state;
    for (unsigned m = 0; m < MODES; m++)
        for (unsigned o = 0; o < MODES; o++)
            for (int ranks = 2; ranks <= RANKS && m != o; ranks++) {
                plan.sync = modes[m];
                plan.other = modes[o];
                if (crew_run(CREW_PROCESSES, ranks, NULL, LIMIT, differ, NULL) != 0)
                    fail_msg("%d ranks: mode %u, one %u", ranks, plan.sync, plan.other);
            }
}

static int inherit(struct rank *r)
{
    ncoll_group *copy, *half;

    CHECK(ncoll_group_sync(r->world) == NCOLL_STRICT_EXIT);
    CHECK_STATUS(ncoll_group_dup(r->world, &copy, NCOLL_BLOCK), NCOLL_OK);
    CHECK(ncoll_group_sync(copy) == NCOLL_STRICT_EXIT);
    CHECK_STATUS(ncoll_group_set_sync(copy, NCOLL_STRICT_ENTRY), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(copy, r->rank % 2, 0, &half, NCOLL_BLOCK), NCOLL_OK);
    CHECK(ncoll_group_sync(half) == NCOLL_STRICT_ENTRY);
    CHECK(ncoll_group_sync(r->world) == NCOLL_STRICT_EXIT);
    CHECK_STATUS(ncoll_group_set_sync(half, 4), NCOLL_ERR_ARGUMENT);
    CHECK(ncoll_group_sync(half) == NCOLL_STRICT_ENTRY);
    CHECK_STATUS(ncoll_group_free(&half, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_groups_begin_with_their_parents_mode(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.sync = NCOLL_STRICT_EXIT;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, &params, LIMIT, inherit, NULL), 0);
    assert_int_equal(ncoll_group_set_sync(NULL, NCOLL_STRICT), NCOLL_ERR_HANDLE);
    assert_int_equal(ncoll_group_sync(NULL), -1);
}

static void test_unknown_modes_are_refused(void **state)
{
    ncoll_context *ctx;
    ncoll_params params;
    ncoll_error error;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.sync = 4;
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_ARGUMENT);
    setenv("NCOLL_SYNC", "lax", 1);
    params.sync = NCOLL_LOOSE;
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "NCOLL_SYNC=lax"));
    unsetenv("NCOLL_SYNC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_update_after_exit_is_lost_unless_strict),
        cmocka_unit_test(test_update_before_entry_is_seen_if_strict),
        cmocka_unit_test(test_update_before_entry_is_copied_if_strict),
        cmocka_unit_test(test_modes_change_from_call_to_call),
        cmocka_unit_test(test_different_modes_are_a_mismatch),
        cmocka_unit_test(test_groups_begin_with_their_parents_mode),
        cmocka_unit_test(test_unknown_modes_are_refused),
    };

    return cmocka_run_group_tests_name("strict", tests, NULL, NULL);
}
