/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains inside a node: which ranks are in, what level their group goes by, and calls that do. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/topology/levels.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "test/support/crew.h"

#define MOST     16
#define MACHINE  "package:2 l3:2 core:4 pu:1"
#define PACKAGE  0
#define NUMA     1
#define L3       2
#define CORE     3
#define ON(core) (UINT64_C(1) << (core))

static struct nodes nodes;
static uint32_t domains[MOST][NODE_LEVELS];

/* The level of ranks that may run on these cores of a machine. */
static int taken(const char *machine, unsigned ranks, const uint64_t *cores, int wish)
{
    static unsigned room[NODES_ROOM(MOST)];
    struct node node[MOST] = {0};
    uint64_t ids[MOST];

    for (unsigned r = 0; r < ranks; r++)
        node[r].cores[0] = cores[r];
    setenv("HWLOC_SYNTHETIC", machine, 1);
    ncoll__find_domains(node, ranks);
    unsetenv("HWLOC_SYNTHETIC");
    for (unsigned r = 0; r < ranks; r++)
        memcpy(domains[r], node[r].domains, sizeof domains[r]);
    nodes = (struct nodes){.count = 1};
    return ncoll__take_level((const uint32_t(*)[NODE_LEVELS])domains, ranks, wish, ids, room,
                             &nodes);
}

static void expect(unsigned ranks, const unsigned *of)
{
    for (unsigned r = 0; r < ranks; r++)
        assert_int_equal(nodes.of[r], of[r]);
}

static void test_each_level(void **state)
{
    const uint64_t cores[] = {ON(0), ON(1), ON(4), ON(8), ON(9), ON(12)};

    (void)state;
    assert_int_equal(taken(MACHINE, 6, cores, NCOLL_LEVEL_AUTO), PACKAGE);
    expect(6, (unsigned[]){0, 0, 0, 1, 1, 1});
    assert_int_equal(taken(MACHINE, 6, cores, NCOLL_LEVEL_L3), L3);
    expect(6, (unsigned[]){0, 0, 1, 2, 2, 3});
    assert_int_equal(taken(MACHINE, 6, cores, NCOLL_LEVEL_NONE), NO_LEVEL);
    assert_int_equal(nodes.count, 1);
    assert_int_equal(domains[5][PACKAGE], 2);
    assert_int_equal(domains[5][L3], 4);
    assert_int_equal(domains[5][CORE], 13);
}

/* The levels of one package are its caches; all on one cache, or one on each: nothing but by
 * request. */
static void test_outermost(void **state)
{
    const uint64_t package[] = {ON(8), ON(9), ON(12), ON(13)}, cache[] = {ON(0), ON(1), ON(0)},
                   apart[] = {ON(0), ON(8)};

    (void)state;
    assert_int_equal(taken(MACHINE, 4, package, NCOLL_LEVEL_AUTO), L3);
    expect(4, (unsigned[]){0, 0, 1, 1});
    assert_int_equal(taken(MACHINE, 4, package, NCOLL_LEVEL_PACKAGE), NO_LEVEL);
    assert_int_equal(taken(MACHINE, 3, cache, NCOLL_LEVEL_AUTO), NO_LEVEL);
    assert_int_equal(taken(MACHINE, 3, cache, NCOLL_LEVEL_CORE), CORE);
    expect(3, (unsigned[]){0, 1, 0});
    assert_int_equal(taken(MACHINE, 2, apart, NCOLL_LEVEL_AUTO), NO_LEVEL);
}

/* NUMA nodes in one package; a machine without packages of its own and no L3; one core. */
static void test_machines(void **state)
{
    const uint64_t cores[] = {ON(0), ON(1), ON(4), ON(5)}, one[] = {ON(0), ON(0), ON(0)};

    (void)state;
    assert_int_equal(taken("package:1 numa:2 core:4 pu:1", 4, cores, NCOLL_LEVEL_AUTO), NUMA);
    expect(4, (unsigned[]){0, 0, 1, 1});
    assert_int_equal(taken("core:8 pu:1", 4, cores, NCOLL_LEVEL_AUTO), NO_LEVEL);
    assert_int_equal(domains[0][L3], 0);
    assert_int_equal(taken("package:1 core:1 pu:1", 3, one, NCOLL_LEVEL_AUTO), NO_LEVEL);
    assert_int_equal(taken("package:1 core:1 pu:1", 3, one, NCOLL_LEVEL_CORE), NO_LEVEL);
}

/* One rank that may run in several domains, or of which nothing is known, leaves none of them. */
static void test_loose_ranks(void **state)
{
    const uint64_t unbound[] = {ON(0), ON(1), ON(8), 0xffff}, unknown[] = {ON(0), ON(1), ON(8), 0},
                   l3s[] = {ON(0), 0xff, ON(8), ON(9)}, elsewhere[] = {ON(0), ON(0), ON(40)};

    (void)state;
    for (int wish = NCOLL_LEVEL_AUTO; wish <= NCOLL_LEVEL_CORE; wish++) {
        assert_int_equal(taken(MACHINE, 4, unbound, wish), NO_LEVEL);
        assert_int_equal(taken(MACHINE, 4, unknown, wish), NO_LEVEL);
        assert_int_equal(taken(MACHINE, 3, elsewhere, wish), NO_LEVEL);
    }
    assert_int_equal(taken(MACHINE, 4, l3s, NCOLL_LEVEL_AUTO), PACKAGE);
    assert_int_equal(domains[1][L3], 0);
    assert_int_equal(taken(MACHINE, 4, l3s, NCOLL_LEVEL_L3), NO_LEVEL);
}

/* ------------------------------------------------------------------ calls --------------------- */

static int cores_here(int core[2])
{
    cpu_set_t all;
    int n = 0;

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return 0;
    for (int c = 0; c < CPU_SETSIZE && n < 2; c++)
        if (CPU_ISSET(c, &all))
            core[n++] = c;
    return n;
}

/* Binds this rank, and joins again with what it then tells. */
static int join_bound(struct rank *r, ncoll_level level)
{
    ncoll_params params = r->params;
    int core[2] = {0};
    cpu_set_t one;
    ncoll_error error;

    cores_here(core);
    CPU_ZERO(&one);
    CPU_SET(core[r->rank % 2], &one);
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    params.level = level;
    CHECK(ncoll_context_create(&params, &r->ctx, &error) == NCOLL_OK);
    r->world = ncoll_world(r->ctx);
    return 0;
}

static int sum(struct rank *r, const char *algorithm)
{
    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, algorithm, 0), NCOLL_OK);
    for (size_t count = 1; count <= 100000; count *= 10) {
        int64_t *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
        CHECK(in != NULL && out != NULL);
        for (size_t i = 0; i < count; i++)
            in[i] = (int64_t)i * (r->rank + 1);
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        for (size_t i = 0; i < count; i++)
            CHECK(out[i] == (int64_t)i * r->ranks * (r->ranks + 1) / 2);
        free(in);
        free(out);
    }
    return 0;
}

static int go_by_cores(struct rank *r)
{
    static const char *const algorithms[] = {"hierarchical", "hierarchical-shared", "multi-leader",
                                             NULL};
    const struct nodes *found;
    int status = join_bound(r, NCOLL_LEVEL_CORE);

    if (status != 0)
        return status;
    found = ncoll__group_nodes(r->world);
    CHECK(found != NULL && found->count == 2 && found->shared && r->world->level == CORE);
    for (int q = 0; q < r->ranks; q++)
        CHECK(found->of[q] == (unsigned)q % 2);
    for (int i = 0; status == 0 && i < 4; i++)
        status = sum(r, algorithms[i]);
    for (int i = 0; status == 0 && i < 200; i++) {
        const char *algorithm = i < 100 ? "hierarchical" : "hierarchical-shared";
        CHECK_STATUS(ncoll__group_force(r->world, COLL_BARRIER, algorithm, 0), NCOLL_OK);
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    }
    return status;
}

/* Two rounds of any two ranks, or one of them within domains: these differ in price between
 * packages, and do not between cores. */
static int choose_by_level(struct rank *r)
{
    static const struct {
        int level;
        const char *name;
    } cases[] = {{CORE, "knomial"}, {PACKAGE, "hierarchical-tree"}};
    int status = join_bound(r, NCOLL_LEVEL_CORE);

    if (status != 0)
        return status;
    r->ctx->places.ranks_per_core = 1;
    r->ctx->transport->cost = (struct transport_cost){900, 5000, 0.1};
    for (unsigned i = 0; i < 2; i++) {
        struct choice choice;
        r->world->level = cases[i].level;
        CHECK_STATUS(ncoll__choose(r->world, COLL_BCAST, 8, NCOLL_INT8, NCOLL_SUM, &choice),
                     NCOLL_OK);
        CHECK(strcmp(choice.algorithm->name, cases[i].name) == 0);
    }
    return 0;
}

/* Each core is a package of a pretended machine: of that ranks go by none where they share it. */
static int go_by_nothing(struct rank *r)
{
    static const ncoll_level wishes[] = {NCOLL_LEVEL_CORE, NCOLL_LEVEL_NONE, NCOLL_LEVEL_AUTO};

    setenv("HWLOC_SYNTHETIC", "package:64 core:1 pu:1", 1);
    int status = join_bound(r, wishes[r->ranks - 2]);

    if (status != 0)
        return status;
    CHECK(ncoll__group_nodes(r->world) == NULL && r->world->level == NO_LEVEL);
    return sum(r, NULL);
}

static void test_calls(void **state)
{
    int core[2];

    (void)state;
    if (cores_here(core) < 2)
        skip();
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, go_by_cores, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, 5, NULL, 60, go_by_cores, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, choose_by_level, NULL), 0);
    for (int ranks = 2; ranks <= 4; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, go_by_nothing, NULL), 0);
}

static int ask_for_others(struct rank *r)
{
    ncoll_params params = r->params;
    ncoll_context *ctx;
    ncoll_error error;

    params.level = r->rank == 0 ? NCOLL_LEVEL_AUTO : NCOLL_LEVEL_L3;
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    CHECK(strstr(error.text, "NCOLL_LEVEL alike") != NULL);
    return 0;
}

static void test_other_levels(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, ask_for_others, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_level), cmocka_unit_test(test_outermost),
        cmocka_unit_test(test_machines),   cmocka_unit_test(test_loose_ranks),
        cmocka_unit_test(test_calls),      cmocka_unit_test(test_other_levels),
    };

    return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
