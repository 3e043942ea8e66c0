/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One collective at a time: while one is unfinished on a group, any other call is refused, and the
 * unfinished one goes on as if nothing had been asked.
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

/* Whatever is asked, whether it differs in everything or in one argument. */
static int expect_refusals(struct rank *r)
{
    ncoll_request *request = NULL;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_BUSY);
    CHECK(strlen(ncoll_last_error(r->ctx)->remedy) > 0);
    CHECK_STATUS(allreduce(r, other, out, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, other, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT - 1, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT, NCOLL_UINT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, out, COUNT, NCOLL_INT64, NCOLL_MAX), NCOLL_ERR_BUSY);
    CHECK_STATUS(allreduce(r, in, in, COUNT, NCOLL_INT64, NCOLL_SUM), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_ERR_BUSY);
    CHECK(request == NULL);
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

/* The same once the ranks are connected: the first call is unfinished in another way. */
static int leave_a_later_call_unfinished(struct rank *r)
{
    CHECK_STATUS(call(r, NCOLL_BLOCK), NCOLL_OK);
    return leave_a_call_unfinished(r);
}

/* ------------------------------------------------------------------ requests ----------------- */

static int leave_a_request_unfinished(struct rank *r)
{
    struct scene *scene = r->shared;
    ncoll_request *request;

    fill(r->rank);
    if (r->rank > 0)
        await(&scene->may_come);
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        CHECK(expect_refusals(r) == 0);
        CHECK_STATUS(call(r, NCOLL_TEST),
                     NCOLL_ERR_BUSY); /* its own arguments, but not a request */
        scene->may_come = 1;
    }
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK(request == NULL && is_sum(r));
    return 0;
}

/*
 * A request that ncoll_progress() has finished is still to be asked for: until then other calls are
 * refused, so that waiting for it cannot be mistaken for waiting for them.
 */
static int leave_a_request_unasked(struct rank *r)
{
    ncoll_request *request;

    fill(r->rank);
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    while (!is_sum(r))
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK(expect_refusals(r) == 0);
    CHECK_STATUS(ncoll_test(&request), NCOLL_OK);
    CHECK(request == NULL && is_sum(r));
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

/*
 * The same for a blocking call: what ncoll_progress() has finished is not run a second time when
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

static void test_request(void **state)
{
    (void)state;
    run(leave_a_request_unfinished);
}

static void test_finished_call(void **state)
{
    (void)state;
    run(leave_an_allreduce_unasked);
    run(leave_a_barrier_unasked);
}

static void test_finished_request(void **state)
{
    (void)state;
    run(leave_a_request_unasked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_call),    cmocka_unit_test(test_later_call),
        cmocka_unit_test(test_request),       cmocka_unit_test(test_finished_request),
        cmocka_unit_test(test_finished_call),
    };

    return cmocka_run_group_tests_name("busy", tests, NULL, NULL);
}
