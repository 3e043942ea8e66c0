/* SPDX-License-Identifier: BSD-3-Clause */
/* Who shares a core with whom, as every rank has to see it alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/group/places.h"

#define LOOSE(id, cpus)                                                                            \
    {                                                                                              \
        id, cpus, -1                                                                               \
    }
#define BOUND(id, to)                                                                              \
    {                                                                                              \
        id, 1, to                                                                                  \
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

/* Choices depend on it, so a rank of the roomy node has to know of the crowded one. */
static void test_one_node_is_crowded(void **state)
{
    struct node seen[] = {LOOSE(1, 2), LOOSE(1, 2), LOOSE(1, 2), LOOSE(2, 2)};
    struct node same[] = {LOOSE(1, 2), LOOSE(1, 2), LOOSE(1, 2), LOOSE(2, 2)};
    struct places crowded = PLACES(seen, 0), roomy = PLACES(same, 3);

    (void)state;
    assert_true(crowded.oversubscribed);
    assert_false(roomy.oversubscribed);
    assert_int_equal(roomy.node_ranks, 1);
    assert_true(crowded.ranks_per_core == 1.5);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_for_all),
        cmocka_unit_test(test_one_node_is_crowded),
        cmocka_unit_test(test_bound_ranks_count_core_by_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
