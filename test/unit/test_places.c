/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of which ranks share a core, which every rank has to see alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/topology/places.h"

/* Rank on a node that may run on the first cores, or on one. */
#define LOOSE(node, n)                                                                             \
    {                                                                                              \
        .id = node, .cores = {(UINT64_C(1) << (n)) - 1 }                                           \
    }
#define ON(node, bits)                                                                             \
    {                                                                                              \
        .id = node, .cores = { bits }                                                              \
    }
#define BOUND(node, to) ON(node, UINT64_C(1) << (to))
#define LIMITED(node, n, group, milli)                                                             \
    {                                                                                              \
        .id = node, .cores = {(UINT64_C(1) << (n)) - 1}, .quota_group = group,                     \
        .quota_milli = milli                                                                       \
    }
#define COUNT(nodes)        ((int)(sizeof(nodes) / sizeof *(nodes)))
#define PLACES(nodes, rank) ncoll__places(nodes, COUNT(nodes), nodes[rank])

static void test_room_for_all(void **state)
{
    struct node nodes[] = {LOOSE(7, 4), LOOSE(7, 4), LOOSE(3, 4), LOOSE(7, 4)};
    struct places p = PLACES(nodes, 0);

    (void)state;
    assert_int_equal(p.nodes, 2);
    assert_int_equal(p.node_ranks, 3);
    assert_false(p.oversubscribed);
    assert_true(p.ranks_per_core == 1);
}

/* Choices depend on it, so a rank of the roomy node has to know of the oversubscribed one. */
static void test_one_node_is_oversubscribed(void **state)
{
    struct node seen[] = {LOOSE(1, 2), LOOSE(1, 2), LOOSE(1, 2), LOOSE(2, 2)};
    struct node same[] = {LOOSE(1, 2), LOOSE(1, 2), LOOSE(1, 2), LOOSE(2, 2)};
    struct places full = PLACES(seen, 0), roomy = PLACES(same, 3);

    (void)state;
    assert_true(full.oversubscribed);
    assert_false(roomy.oversubscribed);
    assert_int_equal(roomy.node_ranks, 1);
    assert_true(full.ranks_per_core == 1.5);
    assert_true(roomy.ranks_per_core == 1.5);
}

static void test_bound_ranks_count_core_by_core(void **state)
{
    struct node apart[] = {BOUND(1, 0), BOUND(1, 1), BOUND(1, 2), BOUND(2, 0)};
    struct node shared[] = {BOUND(1, 0), BOUND(1, 1), BOUND(1, 0), BOUND(1, 1), BOUND(1, 0)};
    struct places p = PLACES(apart, 0);

    (void)state;
    assert_false(p.oversubscribed);
    assert_true(p.ranks_per_core == 1);
    p = PLACES(shared, 1);
    assert_true(p.oversubscribed);
    assert_true(p.ranks_per_core == 3);
}

/* Ranks of other contexts are known by a setting: the most that a rank of the node gives. */
static void test_ranks_of_other_contexts(void **state)
{
    struct node nodes[] = {LOOSE(1, 2), LOOSE(1, 2), LOOSE(2, 2)};
    struct places there, elsewhere;

    (void)state;
    nodes[0].ranks_per_core_milli = 1500;
    nodes[1].ranks_per_core_milli = 2500;
    there = PLACES(nodes, 0);
    elsewhere = PLACES(nodes, 2);
    assert_true(there.oversubscribed);
    assert_true(there.here == 2.5);
    assert_true(there.ranks_per_core == 2.5);
    assert_false(elsewhere.oversubscribed);
    assert_true(elsewhere.here == 1);
    assert_true(elsewhere.ranks_per_core == 2.5);
    nodes[1].ranks_per_core_milli = 500; /* fewer than there are */
    nodes[0].ranks_per_core_milli = 0;
    assert_false(PLACES(nodes, 0).oversubscribed);
}

/* Bound to cores of two hardware threads each: a rank has the two for itself. */
static void test_sets_apart(void **state)
{
    struct node apart[] = {ON(1, 3), ON(1, 12), ON(1, 48), ON(1, 192)};
    struct node shared[] = {ON(1, 3), ON(1, 12), ON(1, 3), ON(1, 3)};
    struct node within[] = {ON(1, 15), ON(1, 1), ON(1, 1), ON(1, 15)};
    struct places p = PLACES(apart, 0);

    (void)state;
    assert_false(p.oversubscribed);
    p = PLACES(shared, 1);
    assert_true(p.ranks_per_core == 1.5);
    p = PLACES(within, 0);
    assert_true(p.ranks_per_core == 2);
}

static void test_limited_time(void **state)
{
    struct node together[] = {LIMITED(1, 4, 7, 1500), LIMITED(1, 4, 7, 1500)};
    struct node apart[] = {LIMITED(1, 4, 7, 1000), LIMITED(1, 4, 8, 1000)};
    struct node half[] = {LIMITED(1, 4, 7, 500)};
    struct node bound[] = {
        {.id = 1, .cores = {1}, .quota_group = 7, .quota_milli = 500},
        {.id = 1, .cores = {2}, .quota_group = 7, .quota_milli = 500},
    };
    struct places p = PLACES(together, 0);

    (void)state;
    assert_true(p.oversubscribed);
    assert_true(p.ranks_per_core * 3 > 3.99 && p.ranks_per_core * 3 < 4.01);
    p = PLACES(apart, 0);
    assert_false(p.oversubscribed);
    p = PLACES(half, 0);
    assert_true(p.ranks_per_core == 2);
    p = PLACES(bound, 0);
    assert_true(p.oversubscribed && p.ranks_per_core == 4);
}

static void test_nothing_known(void **state)
{
    struct node nodes[] = {ON(1, 0), ON(1, 0)};
    struct places p = PLACES(nodes, 0);

    (void)state;
    assert_false(p.oversubscribed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_for_all),
        cmocka_unit_test(test_one_node_is_oversubscribed),
        cmocka_unit_test(test_bound_ranks_count_core_by_core),
        cmocka_unit_test(test_ranks_of_other_contexts),
        cmocka_unit_test(test_sets_apart),
        cmocka_unit_test(test_limited_time),
        cmocka_unit_test(test_nothing_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
