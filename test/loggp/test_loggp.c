/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulator beyond closed forms: contention, segments, noise, what comes late, all algorithms.
 * */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loggp/noise.h"
#include "test/loggp/simulate.h"
#include "test/support/seed.h"

static struct random draws;

static void assert_ns(double got, double expected)
{
    if (got != expected)
        fail_msg("%.17g ns, and not %.17g", got, expected);
}

static const struct loggp_cost slow = {
    .message = {1000, 100, 1}, .next_ns = 50, .receive_ns = 30, .gap_ns = 20};

/* Nodes of m ranks each. */
static struct nodes *nodes_of_equal(unsigned P, unsigned m)
{
    static struct nodes nodes;
    static unsigned room[NODES_ROOM(1024)];
    uint64_t ids[1024];

    for (unsigned p = 0; p < P; p++)
        ids[p] = p / m;
    ncoll__nodes_of(ids, P, room, &nodes);
    nodes.shared = true;
    return &nodes;
}

static bool draw_job(const struct loggp_network *network, struct loggp_job *job)
{
    unsigned n_algorithms = 0, per_node = 1 + (unsigned)random_below(&draws, 4);

    while (ncoll__algorithms[n_algorithms] != NULL)
        n_algorithms++;
    const char *name = ncoll__algorithms[random_below(&draws, n_algorithms)]->name;
    unsigned P = 1 + (unsigned)random_below(&draws, 60);
    enum collective collective = 1 + (enum collective)random_below(&draws, COLLECTIVES - 1);
    *job = job_of(name, collective, P, 1 + (unsigned)random_below(&draws, 4),
                  collective == COLL_BARRIER ? 0 : 1 + random_below(&draws, 2000), &slow);
    job->shape.nodes = per_node > 1 ? nodes_of_equal(P, per_node) : NULL;
    job->costs.near = loggp_cost_of((struct message_cost){40, 20, 0.125});
    job->costs.step_ns = 3;
    job->costs.local_byte_ns = 0.0625;
    job->network = *network;
    if (job->algorithm->properties & TAKES_PLACES)
        job->shape.places = 1 + (unsigned)random_below(&draws, P);
    return algorithm_exists(job->algorithm, &job->shape);
}

static const struct loggp_network networks[] = {
    {LOGGP_SWITCH, {0}, 100, false},
    {LOGGP_FAT_TREE, {4, 2, 0}, 100, false},
    {LOGGP_DRAGONFLY, {2, 3, 0}, 100, false},
    {LOGGP_TORUS, {3, 4, 5}, 100, false},
};

/* Every algorithm ends, at the same times whether events are taken in order or not. */
static void test_order_does_not_matter(void **state)
{
    unsigned ran = 0;

    (void)state;
    for (unsigned i = 0; i < 4000; i++) {
        struct loggp_job job;
        if (!draw_job(&networks[i % 4], &job))
            continue;
        struct loggp_result any = run_job(&job);
        job.ordered = true;
        struct loggp_result ordered = run_job(&job);
        assert_memory_equal(&any, &ordered, sizeof any);
        ran++;
    }
    assert_true(ran > 300);
}

/* Links that are taken never make a rank end earlier. */
static void test_contention_is_never_faster(void **state)
{
    unsigned slower = 0;

    (void)state;
    for (unsigned i = 0; i < 4000; i++) {
        struct loggp_job job;
        if (!draw_job(&networks[i % 4], &job))
            continue;
        struct loggp_result without = run_job(&job);
        job.network.contention = true;
        struct loggp_result with = run_job(&job);
        if (with.first_ns < without.first_ns || with.mean_ns < without.mean_ns * (1 - 1e-12) ||
            with.last_ns < without.last_ns)
            fail_msg("%s, P = %u: %.17g ns, and %.17g with contention", job.algorithm->name,
                     job.shape.size, without.last_ns, with.last_ns);
        slower += with.last_ns > without.last_ns;
    }
    assert_true(slower > 30);
}

/* Messages to a root come in one after the other: o + L + (P - 1) b G + r, if b G > r and G > g. */
static void test_contention_at_the_receiver(void **state)
{
    struct loggp_job job = job_of("flat", COLL_GATHER, 9, 1, 1000, &slow);

    (void)state;
    assert_ns(last_ns(&job), 100 + 1000 + 1000 + 8 * 30);
    job.network.contention = true;
    assert_ns(last_ns(&job), 100 + 8 * 1000 + 1000 + 30);
}

/* Four nodes at each leaf exchange with four at the other: by one uplink one after the other. */
static void test_oversubscription(void **state)
{
    struct loggp_job job = job_of("multiply", COLL_ALLREDUCE, 2, 1, 1000, &slow);

    (void)state;
    job.network = (struct loggp_network){LOGGP_FAT_TREE, {1, 1, 0}, 500, true};
    assert_ns(last_ns(&job), 100 + 1000 + 1000 + 2 * 500 + 30);
    /* The 4 messages of the last round of 8 ranks cross; each further uplink takes one of them. */
    double ends[3];
    for (unsigned uplinks = 1; uplinks <= 4; uplinks *= 2) {
        job = job_of("multiply", COLL_ALLREDUCE, 8, 1, 1000, &slow);
        job.network = (struct loggp_network){LOGGP_FAT_TREE, {4, uplinks, 0}, 500, true};
        ends[uplinks / 2] = last_ns(&job);
    }
    double whole = 3 * (100 + 1000 + 1000 + 30) + 2 * 500;
    assert_ns(ends[2], whole);
    assert_ns(ends[1], whole + 1000);
    assert_ns(ends[0], whole + 3000);
}

/* Neighbours in a ring pass one link, or one switch, whatever the network is. */
static void test_hops(void **state)
{
    struct loggp_job job = job_of("flat", COLL_BCAST, 2, 1, 0, &slow);

    (void)state;
    job.network = (struct loggp_network){LOGGP_TORUS, {8, 8, 8}, 500, false};
    assert_ns(last_ns(&job), 1130);
    /* To the opposite corner of a torus of 4 x 4 x 4: 2 + 2 + 2 links, the shorter way each. */
    job = job_of("chain", COLL_BCAST, 64, 1, 0, &slow);
    job.network = (struct loggp_network){LOGGP_TORUS, {4, 4, 4}, 500, false};
    double chain = 63 * 1130.0;
    /* Rank p to p + 1: along x, or to the next row (x and y), or the next plane (x, y and z). */
    assert_ns(last_ns(&job), chain + 500 * (12 * 1 + 3 * 2));
    /* dragonfly of 2 x 2: to another router of the group one hop, to another group up to three. */
    job.network = (struct loggp_network){LOGGP_DRAGONFLY, {2, 2, 0}, 500, false};
    assert_true(last_ns(&job) > chain + 500 * (16 + 15));
    assert_true(last_ns(&job) <= chain + 500 * (16 + 15 * 3));
}

/* A chain with segments is a pipeline: (P - 1) (o + L + r), and o + r for each further segment. */
static void test_segments(void **state)
{
    struct loggp_job job = job_of("chain", COLL_BCAST, 12, 1, 400, &slow);

    (void)state;
    job.costs.far.message.byte_ns = 0;
    job.segment = 100;
    job.lanes = 4;
    assert_ns(last_ns(&job), 11 * 1130.0 + 3 * 130);
    job.lanes = 1; /* one after the other at each rank: the root does not wait for anybody */
    assert_ns(last_ns(&job), 11 * 1130.0 + 3 * 130);
    job = job_of("ring", COLL_ALLREDUCE, 10, 1, 4000, &slow);
    double one = last_ns(&job);
    job.segment = 1000;
    double in_turn = last_ns(&job);
    job.lanes = 4;
    double at_once = last_ns(&job);
    assert_true(at_once < in_turn && at_once > 0.5 * one);
    assert_true(run_job(&job).messages == 4 * 2 * 9 * 10);
}

/* A ring in parts has the same messages one after the other, and the same time if local steps take
 * none. A part of direct messages ends with waits for them; with two lanes it does not hold up the next
 * one. */
static void test_parts(void **state)
{
    struct loggp_job job = job_of("ring", COLL_ALLREDUCE, 10, 1, 4000, &slow);
    struct loggp_result whole = run_job(&job), parts;

    (void)state;
    ncoll__divide(job.algorithm, &job.shape, 4);
    assert_int_equal(job.shape.parts, 5);
    parts = run_job(&job);
    assert_ns(parts.last_ns, whole.last_ns);
    assert_int_equal(parts.messages, whole.messages);
    job.segment = 1000;
    job.lanes = 4;
    assert_int_equal(run_job(&job).messages, 4 * whole.messages);

    job = job_of("direct", COLL_ALLTOALL, 10, 1, 1, &slow);
    whole = run_job(&job);
    ncoll__divide(job.algorithm, &job.shape, 3);
    parts = run_job(&job);
    assert_int_equal(parts.messages, whole.messages);
    assert_true(parts.last_ns > whole.last_ns);
    job.lanes = 2;
    assert_true(last_ns(&job) < parts.last_ns);
}

static struct loggp_job noisy(unsigned P, struct loggp_noise noise, uint64_t seed)
{
    struct loggp_job job = job_of("dissemination", COLL_ALLREDUCE, P, 2, 100, &slow);

    job.noise = noise;
    job.seed = seed;
    return job;
}

/* A rank may be in a detour at the start, as likely as at any other time. */
static void test_noise_at_the_start(void **state)
{
    enum { RANKS = 4000 };
    const struct loggp_noise kinds[] = {
        {.kind = LOGGP_FIXED, .interval_ns = 1000, .length_ns = 250},
        {.kind = LOGGP_EXPONENTIAL, .interval_ns = 750, .length_ns = 250},
    };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        struct noises noises;
        unsigned inside = 0;
        assert_true(loggp_noises_init(&noises, &kinds[k], 3, RANKS));
        for (unsigned rank = 0; rank < RANKS; rank++)
            inside += loggp_noises_interrupt(&noises, rank, 0, 1e-3) > 0.1;
        loggp_noises_free(&noises);
        assert_in_range(inside, 900, 1100); /* a quarter; sigma is 27 */
    }
}

static void test_noise_repeats_with_its_seed(void **state)
{
    static const struct loggp_detour trace[] = {{500, 200}, {3000, 900}};
    const struct loggp_noise kinds[] = {
        {.kind = LOGGP_FIXED, .interval_ns = 2000, .length_ns = 300},
        {.kind = LOGGP_EXPONENTIAL, .interval_ns = 2000, .length_ns = 300},
        {.kind = LOGGP_TRACE, .trace = trace, .n_trace = 2, .period_ns = 5000},
        {.late = 3, .late_ns = 700},
        {.stalled = 2, .stall_at_ns = 500, .stall_ns = 5000},
    };

    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct loggp_job quiet = noisy(50, (struct loggp_noise){0}, 1),
                         one = noisy(50, kinds[i], 1), other = noisy(50, kinds[i], 2);
        struct loggp_result a = run_job(&one), b = run_job(&one), c = run_job(&other);
        one.ordered = true;
        struct loggp_result d = run_job(&one);
        assert_memory_equal(&a, &b, sizeof a);
        assert_memory_equal(&a, &d, sizeof a);
        assert_true(a.mean_ns > run_job(&quiet).mean_ns);
        if (kinds[i].kind != LOGGP_NO_NOISE)
            assert_true(a.mean_ns != c.mean_ns);
    }
}

/* One rank: n detours within its work make it longer by n lengths. */
static void test_detours_add_up(void **state)
{
    struct loggp_job job = job_of("dissemination", COLL_ALLREDUCE, 1, 1, 100000, &slow);

    (void)state;
    job.costs.local_byte_ns = 1;
    job.noise = (struct loggp_noise){.kind = LOGGP_FIXED, .interval_ns = 10000, .length_ns = 1000};
    double end = last_ns(&job);
    /* 100 us of work with 1 us away in each 10: 11 or 12 times, whenever the first one comes. */
    assert_true(end >= 100000 + 11 * 1000 && end <= 100000 + 12 * 1000);
}

static void test_late_ranks_and_stalls(void **state)
{
    struct loggp_job job = noisy(27, (struct loggp_noise){.late = 1, .late_ns = 1e6}, 7);

    (void)state;
    struct loggp_job quiet = noisy(27, (struct loggp_noise){0}, 7);
    struct loggp_result late = run_job(&job);
    assert_ns(late.entry_ns, 1e6);
    assert_true(late.last_ns <= 1e6 + last_ns(&quiet) && late.first_ns > 1e6);
    job = noisy(27, (struct loggp_noise){.stalled = 27, .stall_at_ns = 10, .stall_ns = 1e6}, 7);
    assert_ns(last_ns(&job), 1e6 + last_ns(&quiet));
}

/* A part of the ranks takes as long as a k-nomial tree of so many ranks, for any root. */
static void test_part_of_the_ranks(void **state)
{
    (void)state;
    for (unsigned P = 1; P <= 40; P++)
        for (unsigned places = 1; places <= P; places++)
            for (unsigned reduce = 0; reduce < 2; reduce++) {
                enum collective c = reduce ? COLL_REDUCE : COLL_BCAST;
                unsigned n = 1 + (P + places) % 4;
                struct loggp_job part = job_of("threshold", c, P, n, 8, &slow);
                struct loggp_job tree = job_of("knomial", c, places, n, 8, &slow);
                part.shape.places = places;
                part.shape.root = (P + 7 * places) % P;
                assert_ns(last_ns(&part), last_ns(&tree));
            }
}

static void test_one_rank(void **state)
{
    (void)state;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
            struct loggp_job job = job_of(ncoll__algorithms[i]->name, c, 1, 1, 8, &slow);
            if (algorithm_exists(job.algorithm, &job.shape))
                assert_ns(last_ns(&job), 0);
        }
}

/* A receiver waits for a message that nobody sends. */
static bool waits_for_ever(const struct shape *g, unsigned r, struct round *out)
{
    if (r > 0)
        return false;
    emit_wait(out, (g->rank + 1) % g->size, 0, 0);
    return true;
}

static void test_stuck(void **state)
{
    struct algorithm broken = ncoll__dissemination;
    struct loggp_job job = job_of("dissemination", COLL_BARRIER, 3, 1, 0, &slow);
    struct loggp_result result = {.events = 77};

    (void)state;
    broken.round = waits_for_ever;
    job.algorithm = &broken;
    assert_int_equal(loggp_run(&job, &result), LOGGP_STUCK);
    assert_true(result.events == 77);
    job.ordered = true;
    assert_int_equal(loggp_run(&job, &result), LOGGP_STUCK);
}

/* A chain of ring steps passes the only block on; in segments it is a pipeline. Equal counts take as
 * long as none. */
static void test_counts(void **state)
{
    size_t one[10] = {4000}, equal[10];
    struct loggp_job job = job_of("ring", COLL_ALLGATHER, 10, 1, 400, &slow);
    double without = last_ns(&job);

    (void)state;
    for (unsigned q = 0; q < 10; q++)
        equal[q] = 400;
    job.shape.counts = equal;
    assert_ns(last_ns(&job), without);
    job.segment = 100;
    struct loggp_job in_segments = job;
    in_segments.shape.counts = NULL;
    assert_ns(last_ns(&job), last_ns(&in_segments));
    job.shape.counts = one;
    double cut = run_job(&job).bytes;
    job.segment = 0;
    assert_ns(run_job(&job).bytes, cut);
    double whole = last_ns(&job);
    job.segment = 1000;
    job.lanes = 4;
    assert_true(last_ns(&job) < 0.8 * whole);
}

static const struct loggp_cost shared = {
    .message = {40, 20, 2}, .next_ns = 10, .receive_ns = 5, .copies = true, .read_byte_ns = 3};

/* Two ranks put halves of 50 bytes from IN, and then what they have combined, from scratch. */
static void test_messages_that_stay(void **state)
{
    struct loggp_job job = job_of("direct-slices", COLL_ALLREDUCE, 2, 1, 100, &shared);
    double both = 2 * (20 + 40 + 5 + 50 * 3);

    (void)state;
    assert_ns(last_ns(&job), both + 2 * 50 * 2);
    job.costs.far.stay_bytes = 51;
    assert_ns(last_ns(&job), both + 2 * 50 * 2);
    job.costs.far.beside_bytes = 50;
    assert_ns(last_ns(&job), both + 2 * 50 * 2);
    job.costs.far.beside_bytes = 49;
    assert_ns(last_ns(&job), both + 2 * 50 * 2 + 2 * 40);
    job.costs.far.beside_bytes = 0;
    job.costs.far.stay_bytes = 50;
    assert_ns(last_ns(&job), both + 50 * 2);
    job.costs.far.copies =
        false; /* a device writes them in any case, and the next put may overlap */
    assert_true(last_ns(&job) > both + 50 * 2);
    /* One copy serves three receivers. */
    job = job_of("flat", COLL_BCAST, 4, 1, 100, &shared);
    job.costs.far.stay_bytes = 1;
    assert_ns(last_ns(&job), 20 + 100 * 2 + 2 * 10 + 40 + 5 + 100 * 3);
}

static void test_cost_of_a_call(void **state)
{
    struct loggp_job job = job_of("dissemination", COLL_BARRIER, 8, 1, 0, &slow);
    double without = last_ns(&job);

    (void)state;
    job.costs.call_ns = 70;
    assert_ns(last_ns(&job), without + 70);
    job.noise = (struct loggp_noise){.late = 1, .late_ns = 1e6};
    assert_ns(run_job(&job).entry_ns, 1e6);
}

struct seen {
    uint64_t puts, arrivals;
    double last_ns;
    bool wrong;
};

static void see(void *arg, const struct loggp_step *s)
{
    struct seen *seen = arg;

    seen->puts += s->kind == LOGGP_PUT;
    seen->arrivals += s->kind == LOGGP_WAIT;
    seen->wrong |= s->end_ns < s->begin_ns || s->rank >= 12 ||
                   (s->kind == LOGGP_PUT ? s->receiver != s->peer : s->receiver != s->rank);
    seen->last_ns = s->end_ns > seen->last_ns ? s->end_ns : seen->last_ns;
}

static void test_steps_are_told(void **state)
{
    struct loggp_job job = job_of("ring", COLL_ALLREDUCE, 12, 1, 4000, &slow);

    (void)state;
    for (job.lanes = 1; job.lanes <= 3; job.lanes++) {
        struct seen seen = {0};
        job.step_ended = see;
        job.step_arg = &seen;
        struct loggp_result result = run_job(&job);
        assert_false(seen.wrong);
        assert_true(seen.puts == result.messages && seen.arrivals == result.messages);
        assert_ns(seen.last_ns, result.last_ns);
        job.segment = 1000;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_contention_is_never_faster),
        cmocka_unit_test(test_contention_at_the_receiver),
        cmocka_unit_test(test_oversubscription),
        cmocka_unit_test(test_hops),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_noise_at_the_start),
        cmocka_unit_test(test_noise_repeats_with_its_seed),
        cmocka_unit_test(test_detours_add_up),
        cmocka_unit_test(test_late_ranks_and_stalls),
        cmocka_unit_test(test_part_of_the_ranks),
        cmocka_unit_test(test_one_rank),
        cmocka_unit_test(test_stuck),
        cmocka_unit_test(test_messages_that_stay),
        cmocka_unit_test(test_cost_of_a_call),
        cmocka_unit_test(test_steps_are_told),
        cmocka_unit_test(test_counts),
    };

    draws = random_stream(test_seed(), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
