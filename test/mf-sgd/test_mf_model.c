/* SPDX-License-Identifier: BSD-3-Clause */
/* The model of ncoll-mf-sgd: its gradient, the same bits for every distribution, divergence; and the
 * time that iterations take. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/mf-sgd/mf.h"
#include "test/support/seed.h"

#define FACTORS 5

static double draw(struct random *r)
{
    return (double)random_below(r, 2000001) / 1e6 - 1;
}

static double loss(const double *user, const double *movie, double stars, double decay)
{
    double e = stars - model_predict(user, movie, FACTORS, 3.5), sum = 0;

    for (unsigned f = 0; f <= FACTORS; f++)
        sum += user[f] * user[f] + movie[f] * movie[f];
    return (e * e + decay * sum) / 2;
}

/* Central differences of a loss of the fourth degree in all variables, the second in each: exact but for
 * rounding. */
static void test_gradient(void **state)
{
    struct random random = {test_seed()};

    (void)state;
    for (unsigned round = 0; round < 100; round++) {
        double rows[2][FACTORS + 1], of[2][FACTORS + 1], stars = 3 + 2 * draw(&random);
        const double h = 1e-3, decay = 0.3;
        for (unsigned f = 0; f <= FACTORS; f++) {
            rows[0][f] = draw(&random);
            rows[1][f] = draw(&random);
        }
        double e = model_gradient(rows[0], rows[1], FACTORS, 3.5, stars, decay, of[0], of[1]);
        assert_true(fabs(e - (stars - model_predict(rows[0], rows[1], FACTORS, 3.5))) < 1e-12);
        for (unsigned side = 0; side < 2; side++)
            for (unsigned f = 0; f <= FACTORS; f++) {
                double at = rows[side][f];
                rows[side][f] = at + h;
                double above = loss(rows[0], rows[1], stars, decay);
                rows[side][f] = at - h;
                double below = loss(rows[0], rows[1], stars, decay);
                rows[side][f] = at;
                assert_true(fabs((above - below) / (2 * h) - of[side][f]) < 1e-9);
            }
    }
}

/* ------------------------------------------------------------------ distribution ------------- */

#define USERS  60
#define MOVIES 90

/* Models of several shares that are trained together. */
struct crew {
    unsigned n;
    struct share shares[4];
    struct model models[4];
};

static void open_crew(struct crew *c, const struct ratings *r, unsigned n,
                      const struct steps *steps)
{
    int64_t sums[2 + MOVIES] = {0}, at = 0;

    *c = (struct crew){.n = n};
    for (unsigned i = 0; i < n; i++) {
        struct share *s = &c->shares[i];
        s->first_user = (int32_t)(USERS * i / n);
        s->users = (int32_t)(USERS * (i + 1) / n) - s->first_user;
        s->all = r->all + at;
        for (; at < r->n && r->all[at].user < s->first_user + s->users; at++)
            s->n++;
        model_count(s, sums);
    }
    for (unsigned i = 0; i < n; i++)
        assert_true(model_make(&c->shares[i], MOVIES, FACTORS, steps, sums, &c->models[i]));
}

/* Trains, and returns the sum of the squared errors. */
static int64_t train(struct crew *c, const struct steps *steps, uint64_t iterations)
{
    int64_t *updates = calloc(model_elements(&c->models[0]), sizeof *updates), error = 0;

    for (uint64_t k = 1; k <= iterations; k++) {
        memset(updates, 0, model_elements(&c->models[0]) * sizeof *updates);
        for (unsigned i = 0; i < c->n; i++) {
            assert_true(model_train(&c->models[i], &c->shares[i], steps, k));
            for (size_t j = 0; j < model_elements(&c->models[i]); j++)
                updates[j] += c->models[i].sent[j];
        }
        for (unsigned i = 0; i < c->n; i++)
            model_use(&c->models[i], updates);
    }
    for (unsigned i = 0; i < c->n; i++)
        error += model_error(&c->models[i], &c->shares[i]);
    free(updates);
    return error;
}

/* However the users are distributed, movies, users and errors have the same bits; and the error falls. */
static void test_distributions(void **state)
{
    const struct ratings_shape shape = {USERS, MOVIES, 1350};
    struct steps steps = {
        .user_rate = 0.03, .movie_rate = 0.3, .decay = 0.02, .batch = 0.3, .seed = test_seed()};
    struct ratings r;
    struct crew serial, parts;

    (void)state;
    assert_true(ratings_generate(&shape, steps.seed, &r));
    open_crew(&serial, &r, 1, &steps);
    int64_t before = train(&serial, &steps, 0), error = train(&serial, &steps, 60);
    assert_true(error > 0 && (double)error < 0.8 * (double)before);
    for (unsigned n = 2; n <= 4; n++) {
        open_crew(&parts, &r, n, &steps);
        assert_true(train(&parts, &steps, 60) == error);
        for (unsigned i = 0; i < n; i++) {
            const struct model *m = &parts.models[i];
            size_t row = FACTORS + 1, first = (size_t)m->first_user * row;
            assert_memory_equal(m->movie, serial.models[0].movie, MOVIES * row * sizeof(double));
            assert_memory_equal(m->user, serial.models[0].user + first,
                                (size_t)m->users * row * sizeof(double));
            model_free(&parts.models[i]);
        }
    }
    model_free(&serial.models[0]);
    ratings_free(&r);
}

static void test_diverges(void **state)
{
    const struct ratings_shape shape = {USERS, MOVIES, 1350};
    struct ratings r;

    (void)state;
    assert_true(ratings_generate(&shape, 1, &r));
    for (unsigned which = 0; which < 2; which++) {
        struct steps steps = {.user_rate = which == 0 ? 50 : 0.01,
                              .movie_rate = which == 0 ? 0.1 : 100,
                              .batch = 1,
                              .seed = 1};
        struct crew c;
        bool goes_on = true;
        open_crew(&c, &r, 1, &steps);
        for (uint64_t k = 1; goes_on && k < 1000; k++) {
            goes_on = model_train(&c.models[0], &c.shares[0], &steps, k);
            model_use(&c.models[0], c.models[0].sent);
        }
        assert_false(goes_on);
        model_free(&c.models[0]);
    }
    ratings_free(&r);
}

/* ------------------------------------------------------------------ pace --------------------- */

static void test_straggler_texts(void **state)
{
    static const char *const wrong[] = {
        "",           "3",          ":2",          "3:",         "3:0.5",        "3:nan",
        "3:inf",      "-1:2",       "3:2:1",       "x:2",        "random",       "random:",
        "random:0.1", "random:2:2", "random:-1:2", "random:.1:", "3:1e9",        "random::2",
        " 3:2",       "3:2 ",       "3.5:2",       "random:x:2", "4294967299:2", "3:0x2"};
    struct straggler s = {.rank = 77};

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (straggler_parse(wrong[i], &s))
            fail_msg("'%s' is taken", wrong[i]);
    assert_int_equal(s.rank, 77);
    assert_true(straggler_parse("3:2", &s));
    assert_true(s.rank == 3 && s.chance == 1 && s.factor == 2);
    assert_true(straggler_parse("random:0.25:1.5", &s));
    assert_true(s.rank == -1 && s.chance == 0.25 && s.factor == 1.5);
}

static uint64_t virtual_ns;

static uint64_t now_virtual(void)
{
    return virtual_ns;
}

static void sleep_virtual(uint64_t at_ns)
{
    assert_true(at_ns > virtual_ns);
    virtual_ns = at_ns;
}

static const struct mf_clock clock_virtual = {now_virtual, sleep_virtual};

/* An iteration that begins at 1000 and has worked for work_ns. Returns how long it has taken. */
static uint64_t iteration_of(const struct pace *p, int rank, uint64_t work_ns, bool *in_time)
{
    virtual_ns = 1000 + work_ns;
    *in_time = pace_wait(p, &clock_virtual, rank, 1, 1000);
    return virtual_ns - 1000;
}

static void test_pace(void **state)
{
    struct pace p = {.compute_ns = 500, .n_stragglers = 1, .stragglers = {{3, 1, 2}}};
    bool in_time;

    (void)state;
    assert_int_equal(iteration_of(&p, 0, 100, &in_time), 500);
    assert_true(in_time);
    assert_int_equal(iteration_of(&p, 3, 100, &in_time), 1000);
    assert_int_equal(iteration_of(&p, 3, 900, &in_time), 1000);
    assert_true(in_time);
    assert_int_equal(iteration_of(&p, 0, 700, &in_time), 700);
    assert_false(in_time);
    p.compute_ns = 0; /* as long as the work takes, and twice that */
    assert_int_equal(iteration_of(&p, 0, 100, &in_time), 100);
    assert_int_equal(iteration_of(&p, 3, 100, &in_time), 200);
    assert_true(in_time);
}

/* Random stragglers and jitter: their share and their mean, the same again for the same seed. */
static void test_random_pace(void **state)
{
    struct pace p = {
        .jitter = 0.2, .n_stragglers = 1, .stragglers = {{-1, 0.1, 4}}, .seed = test_seed()};
    unsigned late = 0, n = 0;
    double sum = 0;

    (void)state;
    for (int rank = 0; rank < 16; rank++)
        for (uint64_t k = 1; k <= 1000; k++) {
            double factor = pace_factor(&p, rank, k);
            assert_true(factor == pace_factor(&p, rank, k));
            assert_true((factor >= 0.8 && factor <= 1.2) || (factor >= 3.2 && factor <= 4.8));
            late += factor > 2;
            sum += factor;
            n++;
        }
    assert_true(fabs(late / (double)n - 0.1) < 0.015); /* six standard deviations */
    assert_true(fabs(sum / n - 1.3) < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradient),        cmocka_unit_test(test_distributions),
        cmocka_unit_test(test_diverges),        cmocka_unit_test(test_pace),
        cmocka_unit_test(test_straggler_texts), cmocka_unit_test(test_random_pace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
