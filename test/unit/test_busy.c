/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several calls at once: any number of requests may be unfinished on a group, and blocking calls
 * may come in between; they start in order and end in any. Only one blocking call that has timed
 * out can be unfinished: until it ends, blocking calls with other arguments are refused, and it
 * goes on as if nothing had been asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "test/support/crew.h"

#define COUNT 300

/* Forked ranks share it. Rank 0 is early; the others come when it says so. */
struct scene {
    _Atomic int may_come, through, may_end;
};

static int64_t in[COUNT], out[COUNT], other[COUNT];

static void fill(int rank)
{
    for (int i = 0; i < COUNT; i++) {
        in[i] = 1000 * rank + i;
        out[i] = other[i] = -1;
    }
}

static bool is_sum(const struct rank *r)
{
    for (int i = 0; i < COUNT; i++)
        if (out[i] != 1000 * r->ranks * (r->ranks - 1) / 2 + r->ranks * i)
            return false;
    return true;
}

static int call(struct rank *r, int64_t timeout_ns)
{
    return ncoll_allreduce(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, timeout_ns);
}

static int allreduce(struct rank *r, const void *from, void *to, size_t count, ncoll_type type,
                     ncoll_op op)
{
    return ncoll_allreduce(r->world, from, to, count, type, op, NCOLL_TEST);
}

/* Any other blocking call is refused, whether it differs in everything or in one argument. */
static int expect_refusals(struct rank *r)
{
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_BUSY);
    CHECK(strlen(ncoll_last_error(r->ctx)->remedy) > 0);
    CHECK_STATUS(allreduce(r, other, out, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, other, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT - 1, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT, NCOLL_UINT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT, NCOLL_INT64, NCOLL_MAX), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, in, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    /* a bad argument is told as such, and does no harm either */
    CHECK_STATUS(allreduce(r, NULL, out, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_barrier(r->world, -1), NCOLL_ERR_ARGUMENT);
    return 0;
}

static void await(_Atomic int *flag)
{
    while (!atomic_load(flag))
        ;
}

/* ------------------------------------------------------------------ blocking calls ----------- */

static int leave_a_call_unfinished(struct rank *r)
{
    struct scene *scene = r->shared;

    fill(r->rank);
    if (r->rank > 0) {
        await(&scene->may_come);
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
        CHECK(is_sum(r));
        return 0;
    }
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT);
    CHECK(expect_refusals(r) == 0);
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, NULL, 2), NCOLL_ERR_BUSY);
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT);
    scene->may_come = 1;
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    CHECK(is_sum(r));
    return 0;
}

/* The ranks are connected already here: the first call is unfinished in another way. */
static int leave_a_later_call_unfinished(struct rank *r)
{
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    return leave_a_call_unfinished(r);
}

/* Requests may follow a blocking call that has timed out; they end in whatever order. */
static int start_behind_a_call(struct rank *r)
{
    struct scene *scene = r->shared;
    int64_t highest[COUNT];
    ncoll_request *barrier, *maximum;

    fill(r->rank);
    if (r->rank == 0)
        CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT);
    else
        await(&scene->may_come);
    if (r->rank != 0)
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(
        ncoll_allreduce_start(r->world, in, highest, COUNT, NCOLL_INT64, NCOLL_MAX, &maximum),
        NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &barrier), NCOLL_OK);
    if (r->rank == 0) {
        CHECK(expect_refusals(r) == 0);
        CHECK_STATUS(ncoll_test(&barrier), NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_test(&maximum), NCOLL_TIMEOUT);
        scene->may_come = 1;
    }
    CHECK_STATUS(ncoll_wait(&barrier, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 0)
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    CHECK(is_sum(r));
    CHECK_STATUS(ncoll_wait(&maximum, NCOLL_BLOCK), NCOLL_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK(highest[i] == 1000 * (r->ranks - 1) + i);
    return 0;
}

/* ------------------------------------------------------------------ requests ----------------- */

/* A blocking call may come between a request and the wait for it, but waits for its turn. */
static int call_behind_a_request(struct rank *r)
{
    struct scene *scene = r->shared;
    ncoll_request *request;

    fill(r->rank);
    if (r->rank > 0)
        await(&scene->may_come);
    CHECK_STATUS(
        ncoll_allreduce_start(r->world, in, other, COUNT, NCOLL_INT64, NCOLL_MAX, &request),
        NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT);
        CHECK(expect_refusals(r) == 0);
        CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, NULL, 2), NCOLL_ERR_BUSY);
        scene->may_come = 1;
    }
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    CHECK(is_sum(r));
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK(request == NULL);
    for (int i = 0; i < COUNT; i++)
        CHECK(other[i] == 1000 * (r->ranks - 1) + i);
    return 0;
}

/* A request that ncoll_progress() has finished is still to be asked for; that holds up nothing. */
static int leave_a_request_unasked(struct rank *r)
{
    ncoll_request *request;

    fill(r->rank);
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    while (!is_sum(r))
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    memset(out, 0, sizeof out);
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    CHECK(is_sum(r));
    CHECK_STATUS(ncoll_test(&request), NCOLL_OK);
    CHECK(request == NULL);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

/*
 * A blocking call is left here: what ncoll_progress() has finished is not run a second time when
 * the call comes back, or this rank would wait for a call that the others do not make.
 */
static int leave_an_allreduce_unasked(struct rank *r)
{
    struct scene *scene = r->shared;

    fill(r->rank);
    if (r->rank > 0) {
        await(&scene->may_come);
        CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
        await(&scene->may_end);
        return 0;
    }
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT);
    scene->may_come = 1;
    while (!is_sum(r))
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK(expect_refusals(r) == 0);
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_OK);
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_TIMEOUT); /* the next one */
    scene->may_end = 1;
    return 0;
}

static int leave_a_barrier_unasked(struct rank *r)
{
    struct scene *scene = r->shared;

    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank > 0) {
        await(&scene->may_come);
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        atomic_fetch_add(&scene->through, 1);
        await(&scene->may_end);
        return 0;
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_TEST), NCOLL_TIMEOUT);
    scene->may_come = 1;
    while (scene->through < r->ranks - 1)
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK); /* all that it needs lies there */
    CHECK_STATUS(call(r, NCOLL_TEST), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_TEST), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_TEST), NCOLL_TIMEOUT);
    scene->may_end = 1;
    return 0;
}

#define MANY 100

/* Many more than run at once, of mixed lengths, waited for in an order of each rank's own, with
 * blocking calls in between. */
static int start_many(struct rank *r)
{
    static int64_t from[MANY][COUNT], to[MANY][COUNT], expected[MANY][COUNT];
    ncoll_request *requests[MANY];
    int order[MANY];

    fill(r->rank);
    for (int k = 0; k < MANY; k++) {
        size_t count = random_below(&r->common, COUNT);
        bool barrier = random_below(&r->common, 5) == 0;
        for (int i = 0; i < COUNT; i++) {
            from[k][i] = r->rank + k * 7 + i;
            to[k][i] = -1;
            expected[k][i] = barrier || (size_t)i >= count
                                 ? -1
                                 : r->ranks * (k * 7 + i) + r->ranks * (r->ranks - 1) / 2;
        }
        CHECK_STATUS(barrier ? ncoll_barrier_start(r->world, &requests[k])
                             : ncoll_allreduce_start(r->world, from[k], to[k], count, NCOLL_INT64,
                                                     NCOLL_SUM, &requests[k]),
                     NCOLL_OK);
        order[k] = k;
        if (random_below(&r->common, 10) == 0) {
            memset(out, 0, sizeof out);
            CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
            CHECK(is_sum(r));
        }
    }
    for (int left = MANY; left > 0; left--) {
        int i = (int)random_below(&r->own, (uint64_t)left), k = order[i];
        order[i] = order[left - 1];
        CHECK_STATUS(ncoll_wait(&requests[k], NCOLL_BLOCK), NCOLL_OK);
        CHECK(requests[k] == NULL);
        CHECK(memcmp(to[k], expected[k], sizeof to[k]) == 0);
    }
    return 0;
}

/* ------------------------------------------------------------------ running ------------------ */

static void run(crew_body body)
{
    for (int ranks = 2; ranks <= 5; ranks++) {
        struct scene *scene = crew_share(sizeof *scene);
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 30, body, scene), 0);
        crew_unshare(scene, sizeof *scene);
    }
}

static void test_first_call(void **state)
{
    (void)state;
    run(leave_a_call_unfinished);
}

static void test_later_call(void **state)
{
    (void)state;
    run(leave_a_later_call_unfinished);
}

static void test_requests_behind_a_call(void **state)
{
    (void)state;
    run(start_behind_a_call);
}

static void test_call_behind_a_request(void **state)
{
    (void)state;
    run(call_behind_a_request);
}

static void test_finished_request(void **state)
{
    (void)state;
    run(leave_a_request_unasked);
}

static void test_finished_call(void **state)
{
    (void)state;
    run(leave_an_allreduce_unasked);
    run(leave_a_barrier_unasked);
}

static void test_many_requests(void **state)
{
    (void)state;
    run(start_many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_call),
        cmocka_unit_test(test_later_call),
        cmocka_unit_test(test_requests_behind_a_call),
        cmocka_unit_test(test_call_behind_a_request),
        cmocka_unit_test(test_finished_request),
        cmocka_unit_test(test_finished_call),
        cmocka_unit_test(test_many_requests),
    };

    return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
