/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of which ranks share a node: as algorithms are told, and as groups find it out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "test/support/crew.h"

#define RANKS 5

static void expect(const struct nodes *nodes, unsigned P, const unsigned *of, const unsigned *local,
                   const unsigned *ranks)
{
    for (unsigned r = 0; r < P; r++) {
        assert_int_equal(nodes->of[r], of[r]);
        assert_int_equal(nodes->local[r], local[r]);
        assert_int_equal(nodes->ranks[r], ranks[r]);
        assert_int_equal(nodes->ranks[nodes->first[of[r]] + local[r]], r);
    }
    assert_int_equal(nodes->first[0], 0);
    assert_int_equal(nodes->first[nodes->count], P);
}

/* Nodes are numbered whatever they are called, and wherever their ranks are. */
static void test_numbers(void **state)
{
    const uint64_t blocks[] = {7, 7, UINT64_MAX, UINT64_MAX, 0}, mixed[] = {3, 9, 3, 1, 9, 9, 3};
    unsigned room[NODES_ROOM(7)];
    struct nodes nodes;

    (void)state;
    ncoll__nodes_of(blocks, 5, room, &nodes);
    assert_int_equal(nodes.count, 3);
    assert_true(nodes.in_blocks && nodes.fewest == 1 && nodes.most == 2);
    expect(&nodes, 5, (unsigned[]){0, 0, 1, 1, 2}, (unsigned[]){0, 1, 0, 1, 0},
           (unsigned[]){0, 1, 2, 3, 4});
    ncoll__nodes_of(mixed, 7, room, &nodes);
    assert_int_equal(nodes.count, 3);
    assert_true(!nodes.in_blocks && nodes.fewest == 1 && nodes.most == 3);
    expect(&nodes, 7, (unsigned[]){0, 1, 0, 2, 1, 1, 0}, (unsigned[]){0, 0, 1, 0, 1, 2, 2},
           (unsigned[]){0, 2, 6, 1, 4, 5, 3});
    ncoll__nodes_of(blocks, 1, room, &nodes);
    assert_int_equal(nodes.count, 1);
}

/* A node of ranks that there are none of does not count; members may come in any order. */
static int find_in_groups(struct rank *r)
{
    const struct nodes *world = ncoll__group_nodes(r->world), *part;
    ncoll_group *group;

    CHECK(world != NULL && world->count == 3);
    CHECK(world->of[0] == 0 && world->of[1] == 1 && world->of[2] == 2 && world->of[3] == 0);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, -r->rank, &group, NCOLL_BLOCK), NCOLL_OK);
    part = ncoll__group_nodes(group);
    CHECK(part != NULL && part->of[0] == 0 && part->of[1] == 1);
    CHECK(part->count == (r->rank % 2 == 0 ? 3u : 2u));
    CHECK_STATUS(ncoll_group_free(&group, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static int find_one_node(struct rank *r)
{
    CHECK(ncoll__group_nodes(r->world) == NULL);
    return 0;
}

static void test_groups(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, find_one_node, NULL), 0);
    params.nodes = "4,11,5";
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, find_in_groups, NULL), 0);
}

static void test_no_nodes(void **state)
{
    static const char *const lists[] = {"0,one", ",", "0,", ",0", "0,,1", "9999999999", " 0"};
    ncoll_context *ctx;
    ncoll_params params;
    ncoll_error error;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.log_level = 0;
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        params.nodes = lists[i];
        assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_ARGUMENT);
        assert_non_null(strstr(error.text, "is not a list of nodes"));
        assert_non_null(strstr(error.text, lists[i]));
    }
}

/* Contexts are created one by one here, so that each rank has its own parameters. */
static int give_other_nodes(struct rank *r)
{
    ncoll_params params = r->params;
    ncoll_context *ctx;
    ncoll_error error;

    params.nodes = r->rank == 0 ? "0,1" : "0,1,1";
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    CHECK(strstr(error.text, "NCOLL_NODES alike") != NULL);
    return 0;
}

static void test_other_nodes(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, give_other_nodes, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_no_nodes),
        cmocka_unit_test(test_other_nodes),
    };

    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
