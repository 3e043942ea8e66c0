/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The simulator against closed forms: the time of each family of schedules without contention, from
 * what its paper says of its rounds and messages, and not from the schedule. Costs are drawn at
 * random in whole nanoseconds, and times have to be equal to the last bit.
 *
 * closed_forms.h has the forms that several families share.
 *
 * test_closed_forms: some P of 2..1000, drawn at random; test_closed_forms all: each of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/tuple.h"
#include "test/loggp/closed_forms.h"
#include "test/loggp/simulate.h"
#include "test/support/seed.h"

#define SAMPLE  12
#define EACH_TO 20  /* of the sample: each P up to this */
#define LONG_P  150 /* of the sample: schedules of P^2 messages above this are left out */
#define RADICES 8

static bool all;
static struct random draws;

static struct loggp_cost draw_cost(bool copies)
{
    double L = 1 + (double)random_below(&draws, 3000), o = 1 + (double)random_below(&draws, 400);
    double next = 1 + (double)random_below(&draws, (uint64_t)o);
    double r = (double)random_below(&draws, 300), g = (double)random_below(&draws, 500);

    struct loggp_cost c =
        cost(L, o, (double)random_below(&draws, 4), next, r, copies ? 0 : g, copies);
    c.read_byte_ns = (double)random_below(&draws, 3);
    return c;
}

static void check(const char *name, unsigned P, unsigned n, double expected, double got)
{
    if (expected != got)
        fail_msg("%s, P = %u, n = %u: %.17g ns by its closed form, %.17g simulated", name, P, n,
                 expected, got);
}

static void for_sizes(void (*check_size)(unsigned P, const struct loggp_cost *c), unsigned most)
{
    for (unsigned P = 2; P <= EACH_TO || (all && P <= P_MAX); P++) {
        struct loggp_cost c = draw_cost(P % 2 == 0);
        check_size(P, &c);
    }
    for (unsigned i = 0; i < SAMPLE && !all; i++) {
        struct loggp_cost c = draw_cost(i % 2 == 0);
        check_size(2 + (unsigned)random_below(&draws, most - 1), &c);
    }
}

/* ------------------------------------------------------------------ all ranks alike ----------- */

static void check_dissemination(unsigned P, const struct loggp_cost *c)
{
    for (unsigned n = 1; n <= RADICES; n++) {
        struct loggp_job job = job_of("dissemination", COLL_BARRIER, P, n, 0, c);
        check("dissemination", P, n, dissemination(P, n, 0, c), last_ns(&job));
        job = job_of("dissemination", COLL_ALLREDUCE, P, n, 100, c);
        check("dissemination", P, n, dissemination(P, n, 100, c), last_ns(&job));
    }
}

/* The same, but for the messages of the last round, whose number is part of the tuple. */
static void check_adapted(unsigned P, const struct loggp_cost *c)
{
    for (unsigned n = 1; n <= RADICES; n++) {
        struct loggp_job job = job_of("adapted", COLL_ALLREDUCE, P, n, 8, c);
        struct tuple tuple;
        if (ncoll__tuple(P, n, &tuple) && tuple.which != TUPLE_EXACT)
            check("adapted", P, n, rounds_of(log_up(P, n + 1), n, tuple.senders, 8, c),
                  last_ns(&job));
    }
}

/* W_k = P, W_{t-1} = ceil(W_t / (n+1)): W_1 - 1 messages, then n in each round. */
static void check_two_window(unsigned P, const struct loggp_cost *c)
{
    for (unsigned n = 1; n <= RADICES; n++) {
        struct loggp_job job = job_of("two-window", COLL_ALLREDUCE, P, n, 8, c);
        struct symmetric t = {.c = c};
        unsigned k = log_up(P, n + 1), W = P;
        for (unsigned l = k; l > 1; l--)
            W = (W + n) / (n + 1);
        equal_round(&t, W - 1, 8);
        for (unsigned l = 2; l <= k; l++)
            equal_round(&t, n, 8);
        check("two-window", P, n, t.now, last_ns(&job));
    }
}

/* P - 1 rounds to scatter, P - 1 to gather, of 1/P of the vector. */
static void check_ring(unsigned P, const struct loggp_cost *c)
{
    struct loggp_job job = job_of("ring", COLL_ALLREDUCE, P, 1, 10 * P, c);
    struct symmetric t = {.c = c};

    for (unsigned k = 0; k < 2 * (P - 1); k++)
        equal_round(&t, 1, 10);
    check("ring", P, 1, t.now, last_ns(&job));
}

/* Message i of round l has the blocks at the distances i w .. (i + 1) w - 1 that are below P. */
static void check_bruck_allgather(unsigned P, const struct loggp_cost *c)
{
    for (unsigned n = 1; n <= RADICES; n++) {
        struct loggp_job job = job_of("bruck", COLL_ALLGATHER, P, n, 10, c);
        struct symmetric t = {.c = c};
        for (size_t w = 1; w < P; w *= n + 1) {
            double bytes[RADICES];
            unsigned m = 0;
            for (size_t i = 1; i <= n && i * w < P; i++)
                bytes[m++] = 10 * least((double)w, (double)(P - i * w));
            symmetric_round(&t, m, bytes);
        }
        check("bruck allgather", P, n, t.now, last_ns(&job));
    }
}

/* Message z of round l has the blocks whose distance has digit z in place l, in base n + 1. They
 * are packed before each put, so no put follows on another one. */
static void check_bruck_alltoall(unsigned P, const struct loggp_cost *any)
{
    struct loggp_cost packing = *any, *c = &packing;

    packing.next_ns = packing.message.message_ns;
    for (unsigned n = 1; n <= 3; n++) {
        struct loggp_job job = job_of("bruck", COLL_ALLTOALL, P, n, 10, c);
        struct symmetric t = {.c = c};
        for (size_t w = 1; w < P; w *= n + 1) {
            double bytes[RADICES] = {0};
            unsigned m = 0;
            for (size_t j = 0; j < P; j++)
                if (j / w % (n + 1) > 0)
                    bytes[j / w % (n + 1) - 1] += 10;
            while (m < n && bytes[m] > 0)
                m++;
            symmetric_round(&t, m, bytes);
        }
        check("bruck alltoall", P, n, t.now, last_ns(&job));
    }
}

static void check_direct(unsigned P, const struct loggp_cost *c)
{
    struct loggp_job job = job_of("direct", COLL_ALLTOALL, P, 1, 8, c);
    struct symmetric t = {.c = c};

    equal_round(&t, P - 1, 8);
    check("direct", P, 1, t.now, last_ns(&job));
}

/* s_q = P, s_{k-1} = ceil(s_k / 2): s_k - s_{k-1} blocks in each round, down and up again. */
static void check_circulant(unsigned P, const struct loggp_cost *c)
{
    struct loggp_job job = job_of("circulant", COLL_ALLREDUCE, P, 1, 10 * P, c);
    struct symmetric t = {.c = c};
    double blocks[32];
    unsigned q = 0;

    for (unsigned s = P; s > 1; s = (s + 1) / 2) {
        blocks[q++] = s - (s + 1) / 2;
        equal_round(&t, 1, 10 * blocks[q - 1]);
    }
    while (q > 0)
        equal_round(&t, 1, 10 * blocks[--q]);
    check("circulant", P, 1, t.now, last_ns(&job));
}

static void test_symmetric_families(void **state)
{
    (void)state;
    for_sizes(check_dissemination, P_MAX);
    for_sizes(check_adapted, P_MAX);
    for_sizes(check_two_window, P_MAX);
    for_sizes(check_bruck_allgather, P_MAX);
    for_sizes(check_circulant, P_MAX);
}

static void test_families_of_many_messages(void **state)
{
    (void)state;
    for_sizes(check_ring, LONG_P);
    for_sizes(check_direct, LONG_P);
    for_sizes(check_bruck_alltoall, LONG_P);
}

/* ------------------------------------------------------------------ trees --------------------- */

static void check_tree(const char *name, child_begin *begin, unsigned P, unsigned n,
                       const struct loggp_cost *c)
{
    struct loggp_job job = job_of(name, COLL_BCAST, P, n, 20, c);
    struct tree bcast = tree_of(begin, n, 20, c), reduce = bcast;
    unsigned m = P;

    job.shape.root = P / 2;
    check(name, P, n, down(&bcast, P), last_ns(&job));
    job.shape.collective = COLL_REDUCE;
    check(name, P, n, up(&reduce, P), last_ns(&job));
    /* The usual form for whole trees: log P (s + (n - 1) s' + L + r), if no rank sends for longer.
     * */
    while (m % (n + 1) == 0)
        m /= n + 1;
    if (begin == knomial_begin && m == 1 && bcast.s_next * n <= bcast.L) {
        double each = bcast.s + (n - 1) * bcast.s_next + bcast.L + bcast.r;
        check(name, P, n, log_up(P, n + 1) * each, down(&bcast, P));
    }
}

static void check_trees(unsigned P, const struct loggp_cost *any)
{
    struct loggp_cost c = *any;

    c.copies = true;
    for (unsigned n = 1; n <= RADICES; n++) {
        check_tree("knomial", knomial_begin, P, n, &c);
        check_tree("kary", kary_begin, P, n, &c);
        check_tree("fork", fork_begin, P, n, &c);
        /* Up and down again. */
        struct loggp_job job = job_of("tree", COLL_ALLREDUCE, P, n, 8, &c);
        struct tree t = tree_of(knomial_begin, n, 8, &c), back = t;
        check("tree", P, n, up(&t, P) + down(&back, P), last_ns(&job));
    }
}

static void test_trees(void **state)
{
    (void)state;
    for_sizes(check_trees, P_MAX);
}

/* One after the other at the root; all at once to it. */
static void check_flat(unsigned P, const struct loggp_cost *any)
{
    struct loggp_cost c = *any;
    c.copies = true;
    double s = c.message.message_ns + 8 * c.message.byte_ns,
           s_next = c.next_ns + 8 * c.message.byte_ns, L = c.message.latency_ns,
           r = c.receive_ns + 8 * c.read_byte_ns;
    struct loggp_job job = job_of("flat", COLL_BCAST, P, 1, 8, &c);

    check("flat bcast", P, 1, s + (P - 2) * s_next + L + r, last_ns(&job));
    job.shape.collective = COLL_GATHER;
    check("flat gather", P, 1, s + L + (P - 1) * r, last_ns(&job));
    job = job_of("chain", COLL_BCAST, P, 1, 8, &c);
    check("chain", P, 1, (P - 1) * (s + L + r), last_ns(&job));
}

static void test_flat_and_chain(void **state)
{
    (void)state;
    for_sizes(check_flat, P_MAX);
}

/* ------------------------------------------------------------------ exchanges ----------------- */

/* log2 Q rounds between Q leaders; where there are more than Q ranks, some have one to fold in and
 * out. A path from leader u to leader v has a message for each bit in which they differ. */
static void check_doubling(unsigned P, const struct loggp_cost *any)
{
    struct loggp_cost c = *any;
    c.copies = true;
    double s = c.message.message_ns + 8 * c.message.byte_ns, L = c.message.latency_ns,
           r = c.receive_ns + 8 * c.read_byte_ns, end = 0;
    unsigned m = log_up(P + 1, 2) - 1, Q = 1u << m, folded = P - Q;
    struct loggp_job job = job_of("multiply", COLL_ALLREDUCE, P, 1, 8, &c);

    for (unsigned v = 0; v < Q; v++)
        for (unsigned u = 0; u < Q; u++) {
            unsigned bits = (unsigned)__builtin_popcount(u ^ v);
            double from = u < folded ? s + L + r : 0;
            double at = from + bits * (s + L + r) + (m - bits) * (s + r);
            end = greatest(end, v < folded ? at + s + L + r : at);
        }
    check("multiply", P, 1, end, last_ns(&job));
}

/* P a product of factors f: each leader sends f - 1 messages, and has the others' when the last of
 * them is there, if a wait takes nothing. */
static void check_multiplying(unsigned n, unsigned k)
{
    struct loggp_cost c = draw_cost(true);
    unsigned P = (unsigned)to_the(n + 1, k);
    struct loggp_job job;

    c.receive_ns = 0;
    job = job_of("multiply", COLL_ALLREDUCE, P, n, 0, &c);
    double round = c.message.message_ns + (n - 1) * c.next_ns + c.message.latency_ns;
    check("multiply", P, n, k * round, last_ns(&job));
}

/* Prefixes, P a power of two: a message in each round for the last rank. */
static void check_prefixes(unsigned k)
{
    struct loggp_cost c = draw_cost(true);
    struct loggp_job job = job_of("doubling", COLL_SCAN, 1u << k, 1, 0, &c);

    check("doubling", 1u << k, 1, k * (c.message.message_ns + c.message.latency_ns + c.receive_ns),
          last_ns(&job));
}

static void test_exchanges(void **state)
{
    (void)state;
    for_sizes(check_doubling, P_MAX);
    for (unsigned n = 1; n <= RADICES; n++)
        for (unsigned k = 1; to_the(n + 1, k) <= P_MAX; k++)
            check_multiplying(n, k);
    for (unsigned k = 1; k < 10; k++)
        check_prefixes(k);
}

/* ------------------------------------------------------------------ nodes --------------------- */

/* A barrier of m ranks on each node: up a tree on the node, dissemination between leaders, down. */
static void test_near_and_far(void **state)
{
    (void)state;
    for (unsigned i = 0; i < (all ? 200 : 20); i++) {
        unsigned nodes_count = 2 + (unsigned)random_below(&draws, 30),
                 m = 2 + (unsigned)random_below(&draws, 30), P = nodes_count * m;
        uint64_t *ids = calloc(P, sizeof *ids);
        unsigned *room = calloc(NODES_ROOM(P), sizeof *room);
        struct loggp_cost near = draw_cost(true), far = draw_cost(true);
        struct loggp_job job = job_of("hierarchical", COLL_BARRIER, P, 2, 0, &far);
        struct tree t = tree_of(knomial_begin, 3, 0, &near), back = t;
        struct nodes nodes;
        for (unsigned p = 0; p < P; p++)
            ids[p] = p / m;
        ncoll__nodes_of(ids, P, room, &nodes);
        job.shape.nodes = &nodes;
        job.costs.near = near;
        check("hierarchical", P, 2,
              up(&t, m) + dissemination(nodes_count, 2, 0, &far) + down(&back, m), last_ns(&job));
        free(ids);
        free(room);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symmetric_families),
        cmocka_unit_test(test_families_of_many_messages),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_flat_and_chain),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_near_and_far),
    };

    all = argc > 1 && strcmp(argv[1], "all") == 0;
    draws = random_stream(test_seed(), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
