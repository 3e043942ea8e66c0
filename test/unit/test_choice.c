/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice follows from what messages and changes of ranks cost, not from a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "lib/base/group.h"
#include "test/support/crew.h"

#define RANKS 4
#define KI    ((size_t)1 << 10)

static const struct transport_cost memory = {45, 18, 0.1}, network = {4000, 8000, 3.2};

/* Ranks do not read each other's memory. */
static ncoll_params no_peer_reads(void)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0;
    return params;
}

static struct choice chosen(struct rank *r, const struct transport_cost *cost,
                            double ranks_per_core, enum collective collective, size_t bytes)
{
    struct choice choice = {0};

    r->world->ctx->transport->cost = *cost;
    r->world->ctx->places.ranks_per_core = ranks_per_core;
    if (ncoll__choose(r->world, collective, bytes, NCOLL_INT8, NCOLL_SUM, &choice) != NCOLL_OK)
        choice.algorithm = ncoll__algorithms[0];
    return choice;
}

/* The ring has more rounds, Bruck's concatenation more copies. */
static int choose_allgathers(struct rank *r)
{
    static const struct {
        const struct transport_cost *cost;
        double ranks_per_core;
        size_t bytes;
        const char *name;
    } cases[] = {
        {&memory, 1, 2 * KI, "bruck"},  {&memory, 1, 4 * KI, "ring"},
        {&memory, 2, 4 * KI, "bruck"},  {&memory, 2, 8 * KI, "ring"},
        {&memory, 2, 8, "bruck"},       {&network, 2, 256, "tree"},
        {&network, 2, 4 * KI, "bruck"}, {&network, 2, 16 * KI, "bruck"},
        {&network, 2, 64 * KI, "ring"},
    };

    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(
            strcmp(chosen(r, cases[i].cost, cases[i].ranks_per_core, COLL_ALLGATHER, cases[i].bytes)
                       .algorithm->name,
                   cases[i].name) == 0);
    /* one round where each is a change of ranks */
    CHECK(chosen(r, &memory, 2, COLL_ALLGATHER, KI).radix == RANKS - 1);
    CHECK(chosen(r, &network, 2, COLL_ALLGATHER, 4 * KI).radix == 1);
    CHECK(chosen(r, &memory, 1, COLL_ALLGATHER, KI).radix == 1);
    return 0;
}

/* One round of three messages where each round is a change of ranks, two where bytes count. */
static int choose_scans(struct rank *r)
{
    CHECK(chosen(r, &memory, 2, COLL_SCAN, 8).radix == RANKS - 1);
    CHECK(chosen(r, &memory, 2, COLL_EXSCAN, 8).radix == RANKS - 1);
    CHECK(chosen(r, &memory, 2, COLL_SCAN, 64 * KI).radix == 1);
    CHECK(chosen(r, &network, 2, COLL_SCAN, 8).radix == 1);
    return 0;
}

/* Ranks that share cores gain nothing by slices, or by others that send in their place. */
static int choose_reductions(struct rank *r)
{
    struct choice apart = chosen(r, &memory, 1, COLL_REDUCE, 128 * KI),
                  shared = chosen(r, &memory, 2, COLL_REDUCE, 128 * KI),
                  longer = chosen(r, &memory, 2, COLL_REDUCE, 256 * KI);

    CHECK(strcmp(apart.algorithm->name, "reduce-scatter-gather") == 0);
    CHECK(strcmp(shared.algorithm->name, "knomial") == 0 && shared.radix == RANKS - 1);
    CHECK(strcmp(longer.algorithm->name, "chain") == 0);
    CHECK(chosen(r, &memory, 1, COLL_BCAST, 16 * KI).radix == 1);
    CHECK(chosen(r, &memory, 2, COLL_BCAST, 64 * KI).radix == RANKS - 1);
    return 0;
}

/* Two nodes of two ranks, where it is known that messages on a node are cheap, or not. */
static int choose_by_nodes(struct rank *r)
{
    r->world->ctx->transport->near_cost = memory;
    CHECK(r->world->nodes.shared);
    CHECK(strcmp(chosen(r, &network, 1, COLL_BARRIER, 0).algorithm->name, "hierarchical-shared") ==
          0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLREDUCE, 8).algorithm->name,
                 "hierarchical-shared") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 8).algorithm->name,
                 "hierarchical-packed") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 2 * KI).algorithm->name,
                 "hierarchical-balanced") == 0); /* nothing has to be taken together */
    CHECK(strcmp(chosen(r, &network, 2, COLL_ALLGATHER, 2 * KI).algorithm->name,
                 "hierarchical-packed") == 0); /* a message more is on the same core */
    r->world->nodes.shared = false;            /* as over verbs alone */
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 8).algorithm->name, "bruck") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_BARRIER, 0).algorithm->name, "hierarchical") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLREDUCE, 8).algorithm->name, "hierarchical") == 0);
    r->world->nodes.shared = true;
    CHECK(strcmp(chosen(r, &network, 1, COLL_BCAST, KI).algorithm->name, "hierarchical-tree") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_REDUCE, KI).algorithm->name, "hierarchical-tree") ==
          0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLREDUCE, 512 * KI).algorithm->name,
                 "multi-leader") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_GATHER, 8).algorithm->name, "knomial") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 256 * KI).algorithm->name,
                 "hierarchical-ring") == 0);
    r->world->ctx->transport->near_cost = (struct transport_cost){0};
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 8).algorithm->name, "bruck") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_BARRIER, 0).algorithm->name, "dissemination") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_BCAST, 8).algorithm->name, "knomial") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLREDUCE, 512 * KI).algorithm->name, "ring") == 0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLGATHER, 256 * KI).algorithm->name, "ring") == 0);
    return 0;
}

/* Messages on the node are cheap everywhere, but there are no others. */
static int choose_on_one_node(struct rank *r)
{
    r->world->ctx->transport->near_cost = memory;
    CHECK(strcmp(chosen(r, &network, 1, COLL_BARRIER, 0).algorithm->name, "dissemination") == 0);
    CHECK(strcmp(chosen(r, &network, 2, COLL_BCAST, KI).algorithm->name, "knomial") == 0);
    return 0;
}

static void test_nodes(void **state)
{
    ncoll_params params = no_peer_reads();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, choose_on_one_node, NULL), 0);
    params.nodes = "0,1,2,3";
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, choose_on_one_node, NULL), 0);
    params.nodes = "0,1,1,0";
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &params, 30, choose_by_nodes, NULL), 0);
}

/* Whole vectors up and down a tree, slices where bytes count, and the root's are the most. */
static int choose_allreduces(struct rank *r)
{
    CHECK(strcmp(chosen(r, &memory, 2, COLL_ALLREDUCE, 128 * KI).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 1.25, COLL_ALLREDUCE, 128 * KI).algorithm->name, "circulant") ==
          0);
    CHECK(strcmp(chosen(r, &network, 2, COLL_ALLREDUCE, 4 * KI).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &network, 2, COLL_ALLREDUCE, 16 * KI).algorithm->name, "circulant") ==
          0);
    CHECK(strcmp(chosen(r, &network, 1, COLL_ALLREDUCE, 64 * KI).algorithm->name, "two-window") ==
          0);
    CHECK(strcmp(chosen(r, &memory, 1, COLL_ALLREDUCE, 64 * KI).algorithm->name, "two-window") ==
          0);
    return 0;
}

static void test_allreduces(void **state)
{
    ncoll_params pushed = no_peer_reads();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &pushed, 30, choose_allreduces, NULL), 0);
}

static void test_allgathers(void **state)
{
    ncoll_params pushed = no_peer_reads();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &pushed, 30, choose_allgathers, NULL), 0);
}

static void test_scans(void **state)
{
    ncoll_params pushed = no_peer_reads();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &pushed, 30, choose_scans, NULL), 0);
}

static void test_reductions(void **state)
{
    ncoll_params pushed = no_peer_reads();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, &pushed, 30, choose_reductions, NULL), 0);
}

/* If ranks read each other's memory, data copied once for all takes the place of data that goes
 * round. */
static int choose_peer_read(struct rank *r)
{
    CHECK(strcmp(chosen(r, &memory, 1, COLL_ALLREDUCE, 64 * KI).algorithm->name, "direct-slices") ==
          0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_ALLREDUCE, 64 * KI).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_ALLREDUCE, 1024 * KI).algorithm->name,
                 "direct-slices") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_ALLREDUCE, 4 * KI).algorithm->name, "direct-slices") !=
          0);
    CHECK(strcmp(chosen(r, &memory, 1, COLL_ALLGATHER, 4 * KI).algorithm->name, "direct") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_BCAST, 256 * KI).algorithm->name, "flat") == 0);
    CHECK(chosen(r, &memory, 2, COLL_BCAST, 128 * KI).segments == LANES);
    CHECK(chosen(r, &memory, 2, COLL_BCAST, 64 * KI).segments == 1);
    CHECK(chosen(r, &memory, 1, COLL_BCAST, 128 * KI).segments == 1);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_REDUCE, 256 * KI).algorithm->name, "knomial") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_REDUCE, 512 * KI).algorithm->name, "chain") == 0);
    /* one copy for however many, and fewer changes of ranks */
    CHECK(chosen(r, &memory, 2, COLL_SCAN, 64 * KI).radix == RANKS - 1);
    CHECK(chosen(r, &memory, 2, COLL_SCAN, 512 * KI).radix == 1);
    CHECK(chosen(r, &memory, 1, COLL_SCAN, 64 * KI).radix == 1);
    /* a ring has as many bytes */
    CHECK(strcmp(chosen(r, &memory, 1, COLL_REDUCE_SCATTER, 8 * KI).algorithm->name, "ring") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_REDUCE_SCATTER, 8 * KI).algorithm->name, "ring") != 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_REDUCE_SCATTER, 1024 * KI).algorithm->name, "ring") ==
          0);
    return 0;
}

/* Two ranks with cores of their own: messages that go one way are cut, so that both copy at once. */
static int choose_pieces(struct rank *r)
{
    static const enum collective one_way[] = {COLL_BCAST,   COLL_REDUCE, COLL_GATHER,
                                              COLL_SCATTER, COLL_SCAN,   COLL_EXSCAN};

    for (unsigned i = 0; i < sizeof one_way / sizeof *one_way; i++) {
        CHECK(chosen(r, &memory, 1, one_way[i], 32 * KI).segments == 1);
        CHECK(chosen(r, &memory, 1, one_way[i], 64 * KI).segments == 2);
        CHECK(chosen(r, &memory, 1, one_way[i], 128 * KI).segments == 2);
    }
    CHECK(chosen(r, &memory, 1, COLL_ALLTOALL, 64 * KI).segments == 1);
    return 0;
}

static void test_pieces(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, choose_pieces, NULL), 0);
}

/* Four ranks on a core, each of which takes seven messages from seven lines, or one tree of
 * them. */
static int choose_oversubscribed(struct rank *r)
{
    CHECK(strcmp(chosen(r, &memory, 4, COLL_ALLREDUCE, 8).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 4, COLL_ALLGATHER, 8).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 1, COLL_ALLREDUCE, 8).algorithm->name, "two-window") == 0);
    CHECK(strcmp(chosen(r, &memory, 1, COLL_ALLGATHER, 8).algorithm->name, "bruck") == 0);
    /* one copy of a block serves all receivers; each segment makes the ranks of a core take turns */
    CHECK(chosen(r, &memory, 4, COLL_ALLTOALL, 256 * KI).segment == 16 * KI);
    CHECK(chosen(r, &memory, 4, COLL_ALLTOALL, 512 * KI).segment == 32 * KI);
    CHECK(chosen(r, &memory, 2, COLL_ALLTOALL, 512 * KI).segment == 16 * KI);
    CHECK(chosen(r, &memory, 4, COLL_ALLGATHER, 1024 * KI).segment == 64 * KI);
    CHECK(chosen(r, &memory, 4, COLL_GATHER, 1024 * KI).segment == 64 * KI);
    CHECK(chosen(r, &memory, 4, COLL_BCAST, 1024 * KI).segment == 128 * KI);
    CHECK(chosen(r, &memory, 1, COLL_ALLGATHER, 1024 * KI).segment == 32 * KI);
    return 0;
}

static void test_oversubscribed(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2 * RANKS, NULL, 30, choose_oversubscribed, NULL), 0);
}

/* A foreign process on each core costs a slice for each round in which a rank waits. */
static int choose_several_rounds(struct rank *r)
{
    CHECK(strcmp(chosen(r, &memory, 1.5, COLL_BARRIER, 0).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 2, COLL_ALLREDUCE, 8).algorithm->name, "tree") == 0);
    CHECK(strcmp(chosen(r, &memory, 1, COLL_BARRIER, 0).algorithm->name, "dissemination") == 0);
    return 0;
}

static int choose_one_round(struct rank *r)
{
    CHECK(strcmp(chosen(r, &memory, 2, COLL_BARRIER, 0).algorithm->name, "dissemination") == 0);
    return 0;
}

static void test_rounds(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RADIX_MAX + 2, NULL, 30, choose_several_rounds, NULL),
                     0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, choose_one_round, NULL), 0);
}

/* Ranks that had other budgets would choose other algorithms. */
static int budgets_differ(struct rank *r)
{
    ncoll_params params = r->params;
    ncoll_context *ctx;
    ncoll_error error;

    params.peers = 16 + r->rank;
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    CHECK(strstr(error.text, "NCOLL_PEERS alike") != NULL);
    return 0;
}

static void test_budgets(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, budgets_differ, NULL), 0);
}

static void test_peer_read(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, choose_peer_read, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes),      cmocka_unit_test(test_allreduces),
        cmocka_unit_test(test_allgathers), cmocka_unit_test(test_scans),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_peer_read),
        cmocka_unit_test(test_pieces),     cmocka_unit_test(test_oversubscribed),
        cmocka_unit_test(test_rounds),     cmocka_unit_test(test_budgets),
    };

    return cmocka_run_group_tests_name("choice", tests, NULL, NULL);
}
