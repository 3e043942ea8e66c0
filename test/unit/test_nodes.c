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

#define PLACED 40u

/* What the tables say is the same without them. Returns true if they are not needed. */
static bool same_without_tables(const uint64_t *ids, unsigned P)
{
    unsigned room[NODES_ROOM(PLACED)];
    struct nodes with, without;

    ncoll__nodes_of(ids, P, room, &with);
    without = with;
    bool none = ncoll__nodes_without_tables(&without);
    assert_int_equal(none, without.of == NULL);
    for (unsigned r = 0; r < P; r++) {
        unsigned k = node_of(&without, r), local = local_of(&without, r);
        assert_int_equal(k, with.of[r]);
        assert_int_equal(local, with.local[r]);
        assert_int_equal(rank_on(&without, k, local), r);
    }
    for (unsigned k = 0; k < with.count; k++) {
        assert_int_equal(ranks_before(&without, k), with.first[k]);
        assert_int_equal(ranks_on(&without, k), with.first[k + 1] - with.first[k]);
    }
    assert_int_equal(ranks_before(&without, with.count), P);
    return none;
}

static void test_tables(void **state)
{
    uint64_t ids[PLACED];

    (void)state;
    for (unsigned P = 1; P <= PLACED; P++)
        for (unsigned M = 1; M <= P; M++) {
            for (unsigned r = 0; r < P; r++)
                ids[r] = UINT64_MAX - r / M; /* blocks; the last may be shorter */
            assert_true(same_without_tables(ids, P));
            for (unsigned r = 0; r < P; r++)
                ids[r] = r % M; /* in turn */
            assert_int_equal(same_without_tables(ids, P), M == 1 || M == P);
            for (unsigned r = 0; r < P; r++)
                ids[r] = (r + 1) / M; /* the first is shorter */
            /* the last of two nodes may be as long as the first */
            assert_int_equal(same_without_tables(ids, P), M == 1 || P <= 2 * M - 2);
        }
}

/* A node of ranks that there are none of does not count; members may come in any order. */
static int find_in_groups(struct rank *r)
{
    const struct nodes *world = ncoll__group_nodes(r->world), *part;
    ncoll_group *group;

    CHECK(world != NULL && world->count == 3);
    CHECK(node_of(world, 0) == 0 && node_of(world, 1) == 1);
    CHECK(node_of(world, 2) == 2 && node_of(world, 3) == 0);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, -r->rank, &group, NCOLL_BLOCK), NCOLL_OK);
    part = ncoll__group_nodes(group);
    CHECK(part != NULL && node_of(part, 0) == 0 && node_of(part, 1) == 1);
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
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_tables),
        cmocka_unit_test(test_groups),      cmocka_unit_test(test_no_nodes),
        cmocka_unit_test(test_other_nodes),
    };

    return cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
}
