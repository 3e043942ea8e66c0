/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for several requests: for all, any or some of them, on several groups; with time-outs,
 * entries that do not count, and late ranks. And what ncoll_progress_count() counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS    4
#define COUNT    50
#define ROUNDS   30
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

struct scene {
    _Atomic int step;
};

static int64_t in[COUNT], sums[3][COUNT], most[COUNT];

static void await(struct rank *r, int step)
{
    const struct scene *scene = r->shared;

    while (atomic_load(&scene->step) < step)
        usleep(100);
}

static void reach(struct rank *r, int step)
{
    atomic_store(&((struct scene *)r->shared)->step, step);
}

static void run(int ranks, crew_body body)
{
    struct scene *scene = crew_share(sizeof *scene);

    assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, body, scene), 0);
    crew_unshare(scene, sizeof *scene);
}

static void run_all(crew_body body)
{
    for (int ranks = 1; ranks <= RANKS; ranks++)
        run(ranks, body);
}

/* ------------------------------------------------------------------ well ---------------------- */

/* The world, a copy of it, and a group in which the ranks lie in the other order. */
static int make_groups(struct rank *r, ncoll_group *groups[3])
{
    groups[0] = r->world;
    CHECK_STATUS(ncoll_group_dup(r->world, &groups[1], LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, 0, -r->rank, &groups[2], LIMIT_NS), NCOLL_OK);
    return 0;
}

#define STARTED 4

/* Starts a sum on each group, in an order of the rank's own, and a maximum on the world; entries
 * that do not count lie in between. */
static int start(struct rank *r, ncoll_group *groups[3], ncoll_request *idle,
                 ncoll_request *requests[2 * STARTED])
{
    int begin = (int)random_below(&r->own, 3);

    memset(requests, 0, 2 * STARTED * sizeof requests[0]);
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < COUNT; i++)
        in[i] = 100 * r->rank + i;
    for (int i = 0; i < 3; i++) {
        int k = (begin + i) % 3;
        CHECK_STATUS(ncoll_allreduce_start(groups[k], in, sums[k], COUNT, NCOLL_INT64, NCOLL_SUM,
                                           &requests[2 * k + 1]),
                     NCOLL_OK);
    }
    CHECK_STATUS(
        ncoll_allreduce_start(r->world, in, most, COUNT, NCOLL_INT64, NCOLL_MAX, &requests[7]),
        NCOLL_OK);
    requests[4] = idle;
    return 0;
}

static int check_result(const struct rank *r, size_t index)
{
    int64_t n = r->ranks;

    for (int i = 0; i < COUNT; i++)
        if (index == 7)
            CHECK(most[i] == 100 * (n - 1) + i);
        else
            CHECK(sums[index / 2][i] == 100 * n * (n - 1) / 2 + n * i);
    return 0;
}

/* Draws a time-out: most are long enough, and a call with another one may have to be repeated. */
static int64_t draw(struct rank *r)
{
    uint64_t kind = random_below(&r->own, 3);

    return kind == 0 ? LIMIT_NS : kind == 1 ? NCOLL_TEST : 100000;
}

static int all(struct rank *r, ncoll_request *requests[2 * STARTED])
{
    ncoll_request *before[2 * STARTED];
    size_t failed = 77;
    int rc;

    memcpy(before, requests, sizeof before);
    while ((rc = ncoll_wait_all(requests, 2 * STARTED, &failed, draw(r))) == NCOLL_TIMEOUT) {
        CHECK(memcmp(before, requests, sizeof before) == 0);
        CHECK(failed == NCOLL_NO_INDEX);
        failed = 77;
    }
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(failed == NCOLL_NO_INDEX);
    for (size_t i = 0; i < 2 * STARTED; i++) {
        CHECK(requests[i] == (i == 4 ? before[i] : NULL));
        if (i % 2 == 1)
            CHECK(check_result(r, i) == 0);
    }
    return 0;
}

static int any(struct rank *r, ncoll_request *requests[2 * STARTED])
{
    unsigned seen = 0;
    size_t index;

    for (int n = 0; n < STARTED; n++) {
        int rc;
        while ((rc = ncoll_wait_any(requests, 2 * STARTED, &index, draw(r))) == NCOLL_TIMEOUT)
            CHECK(index == NCOLL_NO_INDEX);
        CHECK_STATUS(rc, NCOLL_OK);
        CHECK(index < 2 * STARTED && index % 2 == 1 && requests[index] == NULL);
        CHECK((seen & 1u << index) == 0);
        seen |= 1u << index;
        CHECK(check_result(r, index) == 0);
    }
    return 0;
}

static int some(struct rank *r, ncoll_request *requests[2 * STARTED])
{
    size_t indices[2 * STARTED], n, sum = 0;
    unsigned seen = 0;

    while (sum < STARTED) {
        int rc = ncoll_wait_some(requests, 2 * STARTED, indices, &n, draw(r));
        CHECK(rc == NCOLL_OK ? n > 0 : n == 0);
        CHECK_STATUS(rc == NCOLL_TIMEOUT ? NCOLL_OK : rc, NCOLL_OK);
        for (size_t i = 0; i < n; i++) {
            CHECK(indices[i] % 2 == 1 && requests[indices[i]] == NULL);
            CHECK((i == 0 || indices[i - 1] < indices[i]) && (seen & 1u << indices[i]) == 0);
            seen |= 1u << indices[i];
            CHECK(check_result(r, indices[i]) == 0);
        }
        sum += n;
    }
    return 0;
}

/* Nothing is left but a persistent request that is not started. */
static int nothing_left(struct rank *r, ncoll_request *requests[2 * STARTED])
{
    size_t index = 77, indices[2 * STARTED], n = 77;

    CHECK_STATUS(ncoll_wait_all(requests, 2 * STARTED, NULL, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_wait_any(requests, 2 * STARTED, &index, LIMIT_NS), NCOLL_OK);
    CHECK(index == NCOLL_NO_INDEX);
    CHECK_STATUS(ncoll_wait_some(requests, 2 * STARTED, indices, &n, LIMIT_NS), NCOLL_OK);
    CHECK(n == 0);
    return 0;
}

static int wait_in_all_ways(struct rank *r)
{
    ncoll_request *requests[2 * STARTED], *idle;
    ncoll_group *groups[3];

    CHECK(make_groups(r, groups) == 0);
    CHECK_STATUS(ncoll_barrier_init(r->world, &idle), NCOLL_OK);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(start(r, groups, idle, requests) == 0);
        uint64_t way = random_below(&r->own, 3);
        CHECK((way == 0 ? all(r, requests) : way == 1 ? any(r, requests) : some(r, requests)) == 0);
        CHECK(nothing_left(r, requests) == 0);
    }
    CHECK_STATUS(ncoll_request_free(&idle), NCOLL_OK);
    CHECK_STATUS(ncoll_group_free(&groups[2], LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_group_free(&groups[1], LIMIT_NS), NCOLL_OK);
    return 0;
}

static void test_ways(void **state)
{
    (void)state;
    run_all(wait_in_all_ways);
}

/* Persistent requests stay, and can be started again. */
static int wait_for_persistent(struct rank *r)
{
    ncoll_request *requests[3], *before[3];
    size_t indices[3], index, n;

    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_allreduce_init(r->world, in, sums[i], COUNT, NCOLL_INT64, NCOLL_SUM,
                                          &requests[i]),
                     NCOLL_OK);
    memcpy(before, requests, sizeof before);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = round + i;
        for (int i = 0; i < 3; i++)
            CHECK_STATUS(ncoll_start(requests[i]), NCOLL_OK);
        CHECK_STATUS(ncoll_wait_any(requests, 3, &index, LIMIT_NS), NCOLL_OK);
        CHECK(index < 3 && sums[index][1] == (int64_t)r->ranks * (round + 1));
        CHECK_STATUS(ncoll_wait_some(requests, 3, indices, &n, LIMIT_NS), NCOLL_OK);
        CHECK(n >= 1 && n <= 2 && indices[0] != index);
        CHECK_STATUS(ncoll_wait_all(requests, 3, &index, LIMIT_NS), NCOLL_OK);
        CHECK(memcmp(before, requests, sizeof before) == 0 && index == NCOLL_NO_INDEX);
        for (int i = 0; i < 3; i++)
            CHECK(sums[i][COUNT - 1] == (int64_t)r->ranks * (round + COUNT - 1));
    }
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_request_free(&requests[i]), NCOLL_OK);
    return 0;
}

static void test_persistent(void **state)
{
    (void)state;
    run_all(wait_for_persistent);
}

/* Rank 0 comes last to the second of two requests; until then the others end the first, and only it. */
static int wait_for_the_late(struct rank *r)
{
    ncoll_request *requests[2], *late;
    ncoll_group *other;
    size_t index, failed, indices[2], n;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[1]), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_wait_all(&requests[1], 1, NULL, LIMIT_NS), NCOLL_OK);
        await(r, r->ranks - 1);
        CHECK_STATUS(ncoll_barrier(other, LIMIT_NS), NCOLL_OK);
        return 0;
    }
    CHECK_STATUS(ncoll_barrier_start(other, &requests[0]), NCOLL_OK);
    late = requests[0];
    CHECK_STATUS(ncoll_wait_any(requests, 2, &index, LIMIT_NS), NCOLL_OK);
    CHECK(index == 1 && requests[0] == late && requests[1] == NULL);
    CHECK_STATUS(ncoll_wait_any(requests, 2, &index, 1000000), NCOLL_TIMEOUT);
    CHECK_STATUS(ncoll_wait_some(requests, 2, indices, &n, NCOLL_TEST), NCOLL_TIMEOUT);
    CHECK_STATUS(ncoll_wait_all(requests, 2, &failed, 1000000), NCOLL_TIMEOUT);
    CHECK(index == NCOLL_NO_INDEX && n == 0 && failed == NCOLL_NO_INDEX && requests[0] == late);
    CHECK_STATUS(ncoll_wait_all(requests, 2, &failed, INT64_C(1000000000)), NCOLL_TIMEOUT);
    CHECK(ncoll_last_error(r->ctx)->status == NCOLL_TIMEOUT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "barrier") != NULL);
    atomic_fetch_add(&((struct scene *)r->shared)->step, 1);
    CHECK_STATUS(ncoll_wait_some(requests, 2, indices, &n, LIMIT_NS), NCOLL_OK);
    CHECK(n == 1 && indices[0] == 0 && requests[0] == NULL);
    return 0;
}

static void test_late(void **state)
{
    (void)state;
    run(2, wait_for_the_late);
    run(3, wait_for_the_late);
}

/*
 * Rank 0 waits for a request on one group, and has another one on a second group that it does not
 * list. The others come to the first only when the second is done, for which they need rank 0.
 */
static int advance_what_is_not_listed(struct rank *r)
{
    ncoll_request *listed[2] = {NULL}, *unlisted;
    ncoll_group *other;
    size_t index;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, LIMIT_NS), NCOLL_OK);
    ncoll_group_set_sync(other, NCOLL_STRICT_ENTRY); /* it sends nothing before the others come */
    for (int round = 0; round < ROUNDS; round++) {
        if (r->rank != 0)
            usleep(1000);
        CHECK_STATUS(
            ncoll_allreduce_start(other, in, sums[0], COUNT, NCOLL_INT64, NCOLL_SUM, &unlisted),
            NCOLL_OK);
        if (r->rank != 0)
            CHECK_STATUS(ncoll_wait(&unlisted, LIMIT_NS), NCOLL_OK);
        CHECK_STATUS(ncoll_barrier_start(r->world, &listed[1]), NCOLL_OK);
        CHECK_STATUS(round % 2 == 0 ? ncoll_wait_all(listed, 2, NULL, LIMIT_NS)
                                    : ncoll_wait_any(listed, 2, &index, LIMIT_NS),
                     NCOLL_OK);
        if (r->rank == 0)
            CHECK_STATUS(ncoll_wait(&unlisted, LIMIT_NS), NCOLL_OK);
    }
    return 0;
}

static void test_unlisted(void **state)
{
    (void)state;
    run_all(advance_what_is_not_listed);
}

/* ------------------------------------------------------------------ events -------------------- */

/* Rank 0 counts nothing while nothing comes, and something when the last rank comes. */
static int count_events(struct rank *r)
{
    ncoll_request *request;
    unsigned events = 77, sum = 0;
    int rc;

    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank != 0) {
        await(r, 1);
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
        return 0;
    }
    CHECK_STATUS(ncoll_progress_count(r->ctx, &events), NCOLL_OK);
    CHECK(events == 0);
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
    for (int i = 0; i < 1000; i++) {
        CHECK_STATUS(ncoll_progress_count(r->ctx, &events), NCOLL_OK);
        CHECK(events == 0);
    }
    CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
    reach(r, 1);
    uint64_t end_ns = crew_now_ns() + (uint64_t)LIMIT_NS;
    while ((rc = ncoll_progress_count(r->ctx, &events)) == NCOLL_OK && crew_now_ns() < end_ns) {
        sum += events;
        if (events > 0 && ncoll_test(&request) == NCOLL_OK)
            break;
    }
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(request == NULL && sum > 0 && sum < 100);
    CHECK_STATUS(ncoll_progress_count(r->ctx, NULL), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_progress_count(NULL, &events), NCOLL_ERR_HANDLE);
    return 0;
}

static void test_events(void **state)
{
    (void)state;
    run(2, count_events);
    run(RANKS, count_events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ways),   cmocka_unit_test(test_persistent),
        cmocka_unit_test(test_late),   cmocka_unit_test(test_unlisted),
        cmocka_unit_test(test_events),
    };

    return cmocka_run_group_tests_name("several", tests, NULL, NULL);
}
