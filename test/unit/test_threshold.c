/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast and reduce with a threshold, against what a plain loop says is in: any root, fraction and
 * kind, with weights and without, in one call or with a remainder. What is not in is not touched.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/fraction.h"
#include "lib/run/threshold.h"
#include "ncoll_eventual.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define MOST      5000
#define RANKS_ALL 33
#define LIMIT_NS  (HANG_FACTOR * INT64_C(20000000000))
#define CANARY    (-77)

/* A case, the same on all ranks. */
struct test_case {
    ncoll_threshold_of of;
    bool reduce, weighted, in_place;
    int root;
    size_t count;
    double fraction, further; /* of a first call, and of one after it; below 0: there is none */
    enum { BLOCKING, REQUEST, PERSISTENT } how;
};

/* The elements and ranks that ought to be in, by the plain loop. */
struct expected {
    uint8_t element[MOST], rank[RANKS_ALL];
    size_t elements;
    int ranks;
};

static bool is_whole; /* not a sample: the argument `all` */
static int64_t data[MOST + 2], result[MOST + 2];
static double weights[MOST], rank_weights[RANKS_ALL];
static uint8_t element_in[MOST], rank_in[RANKS_ALL];

static const int plain_ranks[] = {1, 2, 3, 4, 5, 8};

/* ------------------------------------------------------------------ what is expected ---------- */

/* The least k for which k / n >= fraction. */
static size_t least(double fraction, size_t n)
{
    size_t k = 0;

    while (k < n && (double)k / (double)n < fraction)
        k++;
    return k;
}

/* Takes the heaviest of n things that are not in, one after the other, until k are in. */
static size_t take(uint8_t *in, const double *weight, size_t n, size_t k)
{
    size_t taken = 0;

    for (size_t i = 0; i < n; i++)
        taken += in[i];
    for (; taken < k; taken++) {
        size_t best = n;
        for (size_t i = 0; i < n; i++)
            if (!in[i] && (best == n || weight[i] > weight[best]))
                best = i;
        in[best] = 1;
    }
    return taken;
}

static void expect_ranks(const struct test_case *c, int P, double fraction, struct expected *e)
{
    double by_place[RANKS_ALL] = {0};
    uint8_t in[RANKS_ALL];
    size_t k = least(fraction, (size_t)P);

    for (int v = 0; v < P; v++) {
        int rank = (c->root + v) % P;
        by_place[v] = c->weighted ? rank_weights[rank] : -v;
        in[v] = e->rank[rank];
    }
    in[0] = 1;
    e->ranks = (int)take(in, by_place, (size_t)P, k);
    for (int v = 0; v < P; v++)
        e->rank[(c->root + v) % P] = in[v];
    e->elements = c->count;
    memset(e->element, 1, c->count);
}

static void expect(const struct test_case *c, int P, double fraction, struct expected *e)
{
    static double equal[MOST];

    if (c->of == NCOLL_THRESHOLD_RANKS) {
        expect_ranks(c, P, fraction, e);
        return;
    }
    e->ranks = P;
    memset(e->rank, 1, (size_t)P);
    e->elements = take(e->element, c->of == NCOLL_THRESHOLD_HEAVIEST ? weights : equal, c->count,
                       least(fraction, c->count));
}

/* ------------------------------------------------------------------ calls --------------------- */

static int64_t value(int rank, size_t i)
{
    return (int64_t)i * 1000 + rank;
}

/* In a bcast only the root knows the weights of elements. */
static int make(struct rank *r, const struct test_case *c, const ncoll_threshold *t,
                ncoll_threshold_status *status)
{
    int64_t *in = data + 1, *out = (c->in_place ? data : result) + 1;
    ncoll_request *request;

    if (c->how == BLOCKING && c->reduce)
        CHECK_STATUS(ncoll_reduce_threshold(r->world, in, out, c->count, NCOLL_INT64, NCOLL_SUM,
                                            c->root, t, status, LIMIT_NS),
                     NCOLL_OK);
    else if (c->how == BLOCKING)
        CHECK_STATUS(ncoll_bcast_threshold(r->world, in, c->count, NCOLL_INT64, c->root, t, status,
                                           LIMIT_NS),
                     NCOLL_OK);
    if (c->how == BLOCKING)
        return 0;
    if (c->reduce)
        CHECK_STATUS(
            (c->how == REQUEST ? ncoll_reduce_threshold_start : ncoll_reduce_threshold_init)(
                r->world, in, out, c->count, NCOLL_INT64, NCOLL_SUM, c->root, t, status, &request),
            NCOLL_OK);
    else
        CHECK_STATUS((c->how == REQUEST ? ncoll_bcast_threshold_start : ncoll_bcast_threshold_init)(
                         r->world, in, c->count, NCOLL_INT64, c->root, t, status, &request),
                     NCOLL_OK);
    if (c->how == PERSISTENT)
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
    /* It is the same call each time, even if its status is `after`. */
    if (c->how == PERSISTENT && c->of == NCOLL_THRESHOLD_HEAVIEST && !c->in_place) {
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
    }
    while (c->how == REQUEST && request != NULL && ncoll_test(&request) == NCOLL_TIMEOUT)
        ;
    if (c->how == REQUEST)
        CHECK(request == NULL);
    else
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    if (c->how == PERSISTENT)
        CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    return 0;
}

static void set_up(const struct rank *r, const struct test_case *c)
{
    bool has_data = c->reduce || r->rank == c->root;

    data[0] = data[c->count + 1] = CANARY;
    for (size_t i = 0; i < c->count; i++)
        data[i + 1] = has_data ? value(r->rank, i) : CANARY;
    for (size_t i = 0; i < c->count + 2; i++)
        result[i] = CANARY;
}

/* The result of a reduce of what is in. */
static int64_t sum_of(const struct expected *e, int P, size_t i)
{
    int64_t sum = 0;

    for (int q = 0; q < P; q++)
        sum += e->rank[q] ? value(q, i) : 0;
    return sum;
}

/* IN of a reduce in place is OUT. */
static int check_data(const struct rank *r, const struct test_case *c, const struct expected *e)
{
    const int64_t *out = c->reduce && !c->in_place ? result : data;
    bool is_root = r->rank == c->root;

    CHECK(out[0] == CANARY && out[c->count + 1] == CANARY);
    for (size_t i = 0; i < c->count; i++) {
        bool gets = c->reduce ? is_root && e->element[i] : e->rank[r->rank] && e->element[i];
        int64_t before = !c->reduce    ? (is_root ? value(c->root, i) : CANARY)
                         : c->in_place ? value(r->rank, i)
                                       : CANARY;
        int64_t then = c->reduce ? sum_of(e, r->ranks, i) : value(c->root, i);
        CHECK(out[i + 1] == (gets ? then : before));
        CHECK(!c->reduce || c->in_place || data[i + 1] == value(r->rank, i));
    }
    return 0;
}

static int check_status(const struct rank *r, const struct test_case *c, const struct expected *e,
                        const ncoll_threshold_status *s)
{
    bool lacks_all = !c->reduce && !e->rank[r->rank];

    CHECK(s->of == c->of && s->count == c->count && s->ranks == e->ranks);
    CHECK(s->elements == (lacks_all ? 0 : e->elements));
    for (size_t i = 0; i < c->count; i++)
        CHECK(s->element_in[i] == (lacks_all ? 0 : e->element[i]));
    for (int q = 0; q < r->ranks; q++)
        CHECK(s->rank_in[q] == e->rank[q]);
    return 0;
}

/* One call, and the remainder if there is one. */
static int run_case(struct rank *r, const struct test_case *c)
{
    ncoll_threshold_status status = {
        .size = sizeof status, .element_in = element_in, .rank_in = rank_in};
    ncoll_threshold t = {.size = sizeof t, .of = c->of, .fraction = c->fraction};
    static struct expected e;
    bool knows = c->reduce || r->rank == c->root;

    if (c->of == NCOLL_THRESHOLD_HEAVIEST && knows)
        t.weights = weights;
    if (c->of == NCOLL_THRESHOLD_RANKS && c->weighted)
        t.weights = rank_weights;
    memset(&e, 0, sizeof e);
    set_up(r, c);
    expect(c, r->ranks, c->fraction, &e);
    if (make(r, c, &t, &status) != 0 || check_data(r, c, &e) != 0 ||
        check_status(r, c, &e, &status) != 0)
        return 1;
    if (c->further < 0)
        return 0;
    t.fraction = c->further;
    t.after = &status;
    expect(c, r->ranks, c->further, &e);
    return make(r, c, &t, &status) != 0 || check_data(r, c, &e) != 0 ||
           check_status(r, c, &e, &status) != 0;
}

/* Few different weights, so that many are equal. */
static void draw_weights(struct rank *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        weights[i] = random_below(&r->common, 5) - 2.0;
    if (count > 3) {
        weights[0] = INFINITY;
        weights[1] = -INFINITY;
        weights[2] = -0.0;
        weights[3] = 0.0;
    }
    for (int q = 0; q < r->ranks; q++)
        rank_weights[q] = random_below(&r->common, 3);
}

static int run_reported(struct rank *r, const struct test_case *c)
{
    if (run_case(r, c) == 0)
        return 0;
    fprintf(stderr, "of %d, %s, root %d, count %zu, %g then %g, weighted %d, in place %d, how %d\n",
            c->of, c->reduce ? "reduce" : "bcast", c->root, c->count, c->fraction, c->further,
            c->weighted, c->in_place, c->how);
    return 1;
}

/* The fractions of the paper, with one root. */
static int one_root(struct rank *r, int root)
{
    static const double fractions[] = {0, 0.25, 0.5, 0.75, 1};

    for (int i = 0; i < 5; i++)
        for (int of = NCOLL_THRESHOLD_DATA; of <= NCOLL_THRESHOLD_RANKS; of++)
            for (int reduce = 0; reduce < 2; reduce++) {
                struct test_case c = {.of = (ncoll_threshold_of)of,
                                      .reduce = reduce,
                                      .root = root,
                                      .count = 10,
                                      .fraction = fractions[i],
                                      .further = root % 2 ? 1 : -1};
                draw_weights(r, c.count);
                if (run_reported(r, &c) != 0)
                    return 1;
            }
    return 0;
}

/* Every root, if there are few ranks, or 17 or 33 of them; else two that are drawn. */
static int every_root(struct rank *r)
{
    bool all = r->ranks <= 5 || (is_whole && (r->ranks <= 9 || r->ranks % 16 == 1));
    int failed = 0;

    for (int root = 0; root < r->ranks && all && !failed; root++)
        failed = one_root(r, root);
    for (int i = 0; i < 2 && !all && !failed; i++)
        failed = one_root(r, (int)random_below(&r->common, (uint64_t)r->ranks));
    return failed;
}

static double draw_fraction(struct rank *r)
{
    uint32_t n = (uint32_t)random_below(&r->common, 1001);

    return n % 4 == 0 ? (double)(n % 5) / 4 : n / 1000.0;
}

static int at_random(struct rank *r)
{
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 1000, MOST};

    for (int i = 0; i < (is_whole ? 60 : 20); i++) {
        struct test_case c = {
            .of = (ncoll_threshold_of)(1 + random_below(&r->common, 3)),
            .reduce = random_below(&r->common, 2),
            .weighted = random_below(&r->common, 2),
            .in_place = random_below(&r->common, 2),
            .root = (int)random_below(&r->common, (uint32_t)r->ranks),
            .count = counts[random_below(&r->common, 8)],
            .fraction = draw_fraction(r),
            .further = random_below(&r->common, 2) ? draw_fraction(r) : -1,
            .how = random_below(&r->common, 3),
        };
        c.in_place &= c.reduce;
        if (c.of == NCOLL_THRESHOLD_HEAVIEST && c.count == MOST)
            c.count = 1500; /* the plain loop is slow */
        draw_weights(r, c.count);
        if (run_reported(r, &c) != 0)
            return 1;
        if (random_below(&r->common, 4) == 0)
            CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    }
    return 0;
}

/* ------------------------------------------------------------------ time-outs, long vectors --- */

#define LONG ((size_t)3 << 20)

/* A call that times out goes on: the root is late, and the others test. */
static int late_root(struct rank *r)
{
    static const ncoll_threshold_of kinds[] = {NCOLL_THRESHOLD_DATA, NCOLL_THRESHOLD_HEAVIEST,
                                               NCOLL_THRESHOLD_RANKS};

    for (int i = 0; i < 3; i++) {
        ncoll_threshold_status status = {.size = sizeof status};
        ncoll_threshold t = {.size = sizeof t, .of = kinds[i], .fraction = 0.5};
        ncoll_threshold other = {.size = sizeof t, .of = kinds[i], .fraction = 0.25};
        int rc, timeouts = 0;
        draw_weights(r, 100);
        t.weights = other.weights = i == 1 && r->rank == 0 ? weights : NULL;
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
        for (int64_t k = 0; k < 100; k++)
            data[k] = r->rank == 0 ? 1000 + k : -k;
        if (r->rank == 0) {
            uint64_t until = crew_now_ns() + 20000000;
            while (crew_now_ns() < until)
                ncoll_progress(r->ctx);
        }
        while ((rc = ncoll_bcast_threshold(r->world, data, 100, NCOLL_INT64, 0, &t, &status,
                                           NCOLL_TEST)) == NCOLL_TIMEOUT) {
            if (timeouts++ == 0)
                CHECK_STATUS(ncoll_bcast_threshold(r->world, data, 100, NCOLL_INT64, 0, &other,
                                                   &status, NCOLL_TEST),
                             NCOLL_ERR_BUSY);
        }
        CHECK_STATUS(rc, NCOLL_OK);
        CHECK(r->rank != 1 || timeouts > 0);
        CHECK(status.ranks == (i == 2 ? (r->ranks + 1) / 2 : r->ranks));
        CHECK(status.elements == (i == 2 ? (r->rank < status.ranks ? 100u : 0u) : 50u));
    }
    return 0;
}

/* A request with the arguments of a blocking call that has timed out has a status of its own. */
static int two_statuses(struct rank *r)
{
    ncoll_threshold t = {.size = sizeof t, .of = NCOLL_THRESHOLD_DATA, .fraction = 1};
    ncoll_threshold_status first = {.size = sizeof first}, second = {.size = sizeof second};
    ncoll_request *request = NULL;

    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        uint64_t until = crew_now_ns() + 20000000;
        while (crew_now_ns() < until)
            ncoll_progress(r->ctx);
    }
    int rc = ncoll_bcast_threshold(r->world, data, 1, NCOLL_INT64, 0, &t, &first,
                                   r->rank == 0 ? LIMIT_NS : NCOLL_TEST);
    CHECK(r->rank == 0 || rc == NCOLL_TIMEOUT);
    CHECK_STATUS(
        ncoll_bcast_threshold_start(r->world, data, 1, NCOLL_INT64, 0, &t, &second, &request),
        NCOLL_OK);
    if (rc == NCOLL_TIMEOUT)
        rc = ncoll_bcast_threshold(r->world, data, 1, NCOLL_INT64, 0, &t, &first, LIMIT_NS);
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK(first.elements == 1 && first.ranks == r->ranks);
    CHECK(second.elements == 1 && second.ranks == r->ranks);
    return 0;
}

/* A persistent request whose status is `after`, with other weights at each start: what is in is what was in
 * when it was made, and what this start has delivered. */
static int same_status(struct rank *r)
{
    double weight[8] = {0};
    uint8_t marks[8] = {1, 1};
    ncoll_threshold t = {
        .size = sizeof t, .of = NCOLL_THRESHOLD_HEAVIEST, .fraction = 0.5, .weights = weight};
    ncoll_threshold_status status = {.size = sizeof status, .element_in = marks};
    ncoll_request *request = NULL;

    t.fraction = 0.25;
    CHECK_STATUS(ncoll_reduce_threshold(r->world, data, result, 8, NCOLL_INT64, NCOLL_SUM, 0, &t,
                                        &status, LIMIT_NS),
                 NCOLL_OK);
    t.fraction = 0.5;
    t.after = &status;
    CHECK_STATUS(ncoll_reduce_threshold_init(r->world, data, result, 8, NCOLL_INT64, NCOLL_SUM, 0,
                                             &t, &status, &request),
                 NCOLL_OK);
    for (int start = 0; start < 3; start++) {
        memset(weight, 0, sizeof weight);
        weight[2 + 2 * start] = weight[3 + 2 * start] = 1;
        CHECK_STATUS(ncoll_start(request), NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        for (int i = 0; i < 8; i++)
            CHECK(marks[i] == (i < 2 || i / 2 == 1 + start));
    }
    CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    return 0;
}

/* The root of a reduce of further ranks goes on with its out, and need not have an in. */
static int no_in(struct rank *r)
{
    uint8_t marks[RANKS_ALL] = {0};
    ncoll_threshold t = {.size = sizeof t, .of = NCOLL_THRESHOLD_RANKS, .fraction = 0.5};
    ncoll_threshold_status status = {.size = sizeof status, .rank_in = marks};
    int64_t one = 1, sum = 0;

    CHECK_STATUS(ncoll_reduce_threshold(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, 1, &t,
                                        &status, LIMIT_NS),
                 NCOLL_OK);
    t.fraction = 1;
    t.after = &status;
    CHECK_STATUS(ncoll_reduce_threshold(r->world, r->rank == 1 ? NULL : &one, &sum, 1, NCOLL_INT64,
                                        NCOLL_SUM, 1, &t, &status, LIMIT_NS),
                 NCOLL_OK);
    CHECK(r->rank != 1 || sum == r->ranks);
    return 0;
}

/* Vectors of many segments, in the library's own memory and not. */
static int long_vectors(struct rank *r)
{
    void *at = NULL;
    double *in = calloc(LONG, sizeof *in), *out, *weight = calloc(LONG, sizeof *weight);
    ncoll_threshold_status status = {.size = sizeof status};

    CHECK(in != NULL && weight != NULL);
    CHECK_STATUS(ncoll_alloc(r->ctx, LONG * sizeof *out, &at), NCOLL_OK);
    out = at;
    for (size_t i = 0; i < LONG; i++) {
        in[i] = (double)(i % 1000) + r->rank;
        weight[i] = (double)(i * 2654435761u % LONG);
    }
    for (int of = NCOLL_THRESHOLD_DATA; of <= NCOLL_THRESHOLD_RANKS; of++) {
        ncoll_threshold t = {.size = sizeof t,
                             .of = (ncoll_threshold_of)of,
                             .fraction = 0.375,
                             .weights = of == NCOLL_THRESHOLD_HEAVIEST ? weight : NULL};
        memset(out, 0, LONG * sizeof *out);
        CHECK_STATUS(ncoll_reduce_threshold(r->world, in, out, LONG, NCOLL_DOUBLE, NCOLL_SUM, 1, &t,
                                            &status, LIMIT_NS),
                     NCOLL_OK);
        double ranks = status.ranks, sum = 0;
        for (int v = 0; v < status.ranks; v++)
            sum += (1 + v) % r->ranks;
        size_t got = 0;
        for (size_t i = 0; r->rank == 1 && i < LONG; i++) {
            CHECK(out[i] == 0 || out[i] == ranks * (double)(i % 1000) + sum);
            got += out[i] != 0;
        }
        CHECK(r->rank != 1 || got == status.elements);
        CHECK_STATUS(
            ncoll_bcast_threshold(r->world, out, LONG, NCOLL_DOUBLE, 1, &t, &status, LIMIT_NS),
            NCOLL_OK);
    }
    CHECK_STATUS(ncoll_free(r->ctx, at), NCOLL_OK);
    free(in);
    free(weight);
    return 0;
}

static void test_late_root(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, late_root, NULL), 0);
}

static void test_two_statuses(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 60, two_statuses, NULL), 0);
}

static void test_same_status(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 60, same_status, NULL), 0);
}

static void test_no_in(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, no_in, NULL), 0);
}

static void test_long_vectors(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, long_vectors, NULL), 0);
}

/* The least k for which k / n >= fraction, as decimal fractions are meant. */
static void test_counts(void **state)
{
    (void)state;
    assert_int_equal(ncoll__threshold_of(0.07, 100), 7); /* 0.07 * 100 > 7 */
    assert_int_equal(ncoll__threshold_of(0.29, 100), 29);
    assert_int_equal(ncoll__threshold_of(0.25, 5), 2);
    assert_int_equal(ncoll__threshold_of(1e-9, 5), 1);
    assert_int_equal(ncoll__threshold_of(0, 5), 0);
    assert_int_equal(ncoll__threshold_of(1, 5), 5);
    assert_int_equal(ncoll__threshold_of(0.5, 0), 0);
    assert_true(ncoll__threshold_of(1, SIZE_MAX) == SIZE_MAX);
    for (size_t n = 1; n < 300; n++)
        for (size_t k = 0; k <= n; k++)
            assert_int_equal(ncoll__threshold_of((double)k / (double)n, n), k);
}

/* All numbers of ranks up to 33; or the first ones, one of the others, and 33. */
static void test_every_root(void **state)
{
    struct random random = random_stream(test_seed(), 'r');
    int drawn = 6 + (int)random_below(&random, RANKS_ALL - 6);

    (void)state;
    for (int P = 1; P <= RANKS_ALL; P++)
        if (is_whole || P <= 5 || P == drawn || P == RANKS_ALL)
            assert_int_equal(crew_run(CREW_PROCESSES, P, NULL, 120, every_root, NULL), 0);
}

static void test_at_random(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof plain_ranks / sizeof plain_ranks[0]; i++)
        assert_int_equal(crew_run(CREW_PROCESSES, plain_ranks[i], NULL, 120, at_random, NULL), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_root),   cmocka_unit_test(test_at_random),
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_late_root),
        cmocka_unit_test(test_two_statuses), cmocka_unit_test(test_long_vectors),
        cmocka_unit_test(test_same_status),  cmocka_unit_test(test_no_in),
    };

    is_whole = argc > 1 && strcmp(argv[1], "all") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
