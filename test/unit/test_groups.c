/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: who is in them, that they work and are independent of each other. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "group_ranks.h"

/* ------------------------------------------------------------------ members------------------ */

/* Colors in turn, keys downwards; the last color has no group. */
static int split(struct rank *r)
{
    for (int colors = 1; colors <= r->ranks; colors++) {
        int color = r->rank % colors, members[GROUP_RANKS], n = 0;
        ncoll_group *g = r->world, *copy = NULL;

        for (int q = r->ranks - 1; q >= 0; q--)
            if (q % colors == color)
                members[n++] = q;
        bool none = colors > 1 && color == colors - 1;
        CHECK_STATUS(
            ncoll_group_split(r->world, none ? NCOLL_NO_GROUP : color, -r->rank, &g, NCOLL_BLOCK),
            NCOLL_OK);
        CHECK((g == NULL) == none);
        if (none)
            continue;
        CHECK(group_works(r, g, members, n) == 0);
        CHECK_STATUS(ncoll_group_dup(g, &copy, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
        CHECK(g == NULL);
        CHECK(group_works(r, copy, members, n) == 0);
        CHECK_STATUS(ncoll_group_free(&copy, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_split(void **state)
{
    (void)state;
    groups_run_all(split);
}

/* Same keys: as in the parent. */
static int split_in_order(struct rank *r)
{
    int members[GROUP_RANKS];
    ncoll_group *g;

    for (int q = 0; q < r->ranks; q++)
        members[q] = q;
    CHECK_STATUS(ncoll_group_split(r->world, 7, 3, &g, NCOLL_BLOCK), NCOLL_OK);
    return group_works(r, g, members, r->ranks);
}

static void test_order_of_same_keys(void **state)
{
    (void)state;
    groups_run_all(split_in_order);
}

/* A shuffled part of the ranks, and of these again. */
static int from_ranks(struct rank *r)
{
    for (int round = 0; round < 10; round++) {
        ncoll_group *parents[4] = {r->world}, **g = parents;
        int members[GROUP_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7}, n = r->ranks;
        do {
            int places[GROUP_RANKS], next[GROUP_RANKS], size = n;
            for (int i = 0; i < n; i++)
                places[i] = i;
            for (int i = n - 1; i > 0; i--) {
                int other = (int)random_below(&r->common, (uint64_t)i + 1), was = places[i];
                places[i] = places[other];
                places[other] = was;
            }
            n = 1 + (int)random_below(&r->common, (uint64_t)size);
            for (int i = 0; i < n; i++)
                next[i] = members[places[i]];
            memcpy(members, next, sizeof members);
            if (*g != NULL) {
                CHECK_STATUS(ncoll_group_from_ranks(*g, places, n, g + 1, NCOLL_BLOCK), NCOLL_OK);
                bool in = false;
                for (int i = 0; i < n; i++)
                    in |= members[i] == r->rank;
                CHECK(in == (g[1] != NULL));
                CHECK(!in || group_works(r, g[1], members, n) == 0);
            }
            g++;
        } while (g < parents + 3);
        for (int i = 1; i < 4; i++) /* the parent first */
            if (parents[i] != NULL)
                CHECK_STATUS(ncoll_group_free(&parents[i], NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_from_ranks(void **state)
{
    (void)state;
    groups_run_all(from_ranks);
}

/* ------------------------------------------------------------------ messages ----------------- */

/* Calls of ceil(log2 P) messages each, whatever the parent: two to make a group whose members all
 * know, three for a split, one to free it. */
static int count_messages(struct rank *r)
{
    ncoll_group *copy, *half, *quarter;
    unsigned rounds = 0, rounds_of_half = 0;
    uint64_t before = r->ctx->puts;

    while (1 << rounds < r->ranks)
        rounds++;
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &half, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 3 * rounds);
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_dup(r->world, &copy, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 2 * rounds);
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_free(&copy, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == rounds);
    while (1 << rounds_of_half < ncoll_group_size(half))
        rounds_of_half++;
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_split(half, r->rank % 4, 0, &quarter, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 3 * rounds_of_half);
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_free(&half, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == rounds_of_half);
    return 0;
}

static void test_messages(void **state)
{
    (void)state;
    groups_run_all(count_messages);
    groups_run(33, NULL, count_messages);
}

/* ------------------------------------------------------------------ split phase -------------- */

static int poll_creation(struct rank *r)
{
    for (int round = 0; round < 50; round++) {
        ncoll_group *g = NULL, *other = NULL;
        ncoll_request *request;
        int64_t one = 1, sum = 0;
        int timeouts = 0, rc;
        bool late = (int)random_below(&r->common, (uint64_t)r->ranks) == r->rank;

        if (late)
            usleep(300);
        CHECK_STATUS(
            ncoll_allreduce_start(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, &request),
            NCOLL_OK);
        while ((rc = ncoll_group_split(r->world, r->rank % 2, 5, &g, NCOLL_TEST)) ==
               NCOLL_TIMEOUT) {
            CHECK(g == NULL);
            sched_yield();
            if (timeouts++ > 0)
                continue;
            CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_BUSY);
            CHECK(strstr(ncoll_last_error(r->ctx)->text, "group_split") != NULL);
            CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 6, &other, NCOLL_BLOCK),
                         NCOLL_ERR_BUSY);
            CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_ERR_BUSY);
        }
        CHECK_STATUS(rc, NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
        CHECK(sum == r->ranks);
        while ((rc = ncoll_group_free(&g, 1000)) == NCOLL_TIMEOUT) {
            CHECK(g != NULL);
            sched_yield();
        }
        CHECK_STATUS(rc, NCOLL_OK);
    }
    return 0;
}

static void test_split_phase(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= GROUP_RANKS; ranks++)
        groups_run(ranks, NULL, poll_creation);
}

/* ------------------------------------------------------------------ any order ---------------- */

#define GROUPS 6

/* Calls on several groups, each rank in an order of its own, long ones among them. */
static int any_order(struct rank *r)
{
    static int64_t in[GROUPS][20000], out[GROUPS][20000];
    ncoll_group *groups[GROUPS];

    for (int i = 0; i < GROUPS; i++)
        CHECK_STATUS(ncoll_group_split(r->world, (r->rank + i) % 2, i % 2 ? r->rank : -r->rank,
                                       &groups[i], NCOLL_BLOCK),
                     NCOLL_OK);
    for (int round = 0; round < 40; round++) {
        ncoll_request *requests[GROUPS];
        int order[GROUPS] = {0, 1, 2, 3, 4, 5};
        size_t count = random_below(&r->common, 4) == 0 ? 20000 : 5;

        for (int i = GROUPS - 1; i > 0; i--) {
            int other = (int)random_below(&r->own, (uint64_t)i + 1), was = order[i];
            order[i] = order[other];
            order[other] = was;
        }
        for (int i = 0; i < GROUPS; i++) {
            for (size_t k = 0; k < count; k++)
                in[order[i]][k] = (int64_t)k + round;
            CHECK_STATUS(ncoll_allreduce_start(groups[order[i]], in[order[i]], out[order[i]], count,
                                               NCOLL_INT64, NCOLL_SUM, &requests[order[i]]),
                         NCOLL_OK);
        }
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        for (int i = GROUPS - 1; i >= 0; i--) {
            CHECK_STATUS(ncoll_wait(&requests[order[i]], NCOLL_BLOCK), NCOLL_OK);
            for (size_t k = 0; k < count; k++)
                CHECK(out[order[i]][k] ==
                      ((int64_t)k + round) * ncoll_group_size(groups[order[i]]));
        }
    }
    return 0;
}

static void test_any_order(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= GROUP_RANKS; ranks++)
        groups_run(ranks, NULL, any_order);
}

/* Some tests: test_groups 'test_m*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),       cmocka_unit_test(test_order_of_same_keys),
        cmocka_unit_test(test_from_ranks),  cmocka_unit_test(test_messages),
        cmocka_unit_test(test_split_phase), cmocka_unit_test(test_any_order),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
