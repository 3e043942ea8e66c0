/* SPDX-License-Identifier: BSD-3-Clause */
/* Ratings of ncoll-mf-sgd: what the reader takes and what it says of the rest, whatever the bytes; and
 * that ratings which are made up have the statistics of MovieLens. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/mf-sgd/ratings.h"
#include "test/support/seed.h"

#define HEADER "userId,movieId,rating,timestamp\n"
#define ROUNDS 20000

static bool read_bytes(const char *bytes, size_t len, struct ratings *r, char error[256])
{
    FILE *in = fmemopen((void *)(uintptr_t)bytes, len, "r");

    assert_non_null(in);
    bool ok = ratings_read(in, "r", r, error, 256);
    fclose(in);
    return ok;
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"\n", "r:2: the file has no rating"},
        {HEADER, "r:2: the file has no rating"},
        {HEADER HEADER, "r:2: the user is not a whole number: 'userId'"},
        {"1 2 3\n", "r:1: not a rating, as in 'user,movie,rating,timestamp' with commas, tabs or "
                    "'::'"},
        {HEADER "1,2\n", "r:2: the rating is missing"},
        {HEADER "1,2,\n", "r:2: the rating is not a number: ''"},
        {"1,2,3,4\n5,\n", "r:2: the movie is not a whole number: ''"},
        {"1,2,3,4\n5\n", "r:2: the movie is missing"},
        {"1,2,3,4\n-1,2,3,4\n", "r:2: the user is not a whole number: '-1'"},
        {"2147483647,2,3,4\n", "r:1: the user is 2147483647, not in 0..2147483646"},
        {"1,99999999999999999999,3,4\n",
         "r:1: the movie is 99999999999999999999, not in 0..2147483646"},
        {"1,2,0,4\n", "r:1: the rating is 0, not in 0.5, 1, .., 5"},
        {"1,2,5.5,4\n", "r:1: the rating is 5.5, not in 0.5, 1, .., 5"},
        {"1,2,3.25,4\n", "r:1: the rating is 3.25, not in 0.5, 1, .., 5"},
        {"1,2,nan,4\n", "r:1: the rating is not a number: 'nan'"},
        {"1,2,0x1,4\n", "r:1: the rating is not a number: '0x1'"},
        {"1,2,3,\n", "r:1: the timestamp is not a whole number: ''"},
        {"1,2,3,then\n", "r:1: the timestamp is not a whole number: 'then'"},
        {"1,2,3,4,5\n", "r:1: more than user, movie, rating and timestamp: '5'"},
        {"1::2::3::4\n1,2,3,4\n", "r:2: the user is not a whole number: '1,2,3,4'"},
        {"1,2,3,4\n\n2,2,3,4\n1,2,4,5\n", "r:4: the same user has rated the same movie in line 1"},
    };
    struct ratings r;
    char error[256];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(read_bytes(cases[i][0], strlen(cases[i][0]), &r, error));
        assert_string_equal(error, cases[i][1]);
    }
}

static void test_byte_zero(void **state)
{
    static const char text[] = HEADER "1,2,3,4\n1,3,\0003,4\n";
    struct ratings r;
    char error[256];

    (void)state;
    assert_false(read_bytes(text, sizeof text - 1, &r, error));
    assert_string_equal(error, "r:3: a byte 0: this is no text");
}

/* A stream of characters without an end of line. */
static ssize_t more_of_it(void *cookie, char *bytes, size_t size)
{
    size_t *left = cookie, n = size < *left ? size : *left;

    memset(bytes, '1', n);
    *left -= n;
    return (ssize_t)n;
}

static void test_line_without_end(void **state)
{
    size_t size = (size_t)1 << 28, left = size;
    FILE *in = fopencookie(&left, "r", (cookie_io_functions_t){.read = more_of_it});
    struct ratings r;
    char error[256];

    (void)state;
    assert_non_null(in);
    assert_false(ratings_read(in, "r", &r, error, sizeof error));
    assert_string_equal(error, "r:1: a line of more than 255 characters: no rating");
    assert_true(size - left < (size_t)1 << 20); /* it has not been read to its end */
    fclose(in);
}

/* The formats of MovieLens, with ids that have gaps and come in any order. */
static void test_reads(void **state)
{
    static const char *const texts[] = {
        HEADER "7,50,4.5,99\r\n7,3,0.5,98\r\n\r\n2,50,3.0,97\r\n900,4,5,0",
        "7,50,4.5\n2,50,3\n7,3,.5\n900,4,5.00\n",
        "7::50::4.5::99\n7::3::0.5::98\n2::50::3::97\n900::4::5::96\n",
        "900\t4\t5\t96\n7\t50\t4.5\t99\n2\t50\t3\t97\n7\t3\t0.5\t98\n",
    };
    static const struct rating expected[] = {{0, 2, 6}, {1, 0, 1}, {1, 2, 9}, {2, 1, 10}};
    struct ratings r;
    char error[256];

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (!read_bytes(texts[i], strlen(texts[i]), &r, error))
            fail_msg("%s", error);
        assert_int_equal(r.users, 3);
        assert_int_equal(r.movies, 3);
        assert_int_equal(r.n, 4);
        assert_memory_equal(r.all, expected, sizeof expected);
        ratings_free(&r);
    }
}

static void assert_sound(const struct ratings *r)
{
    assert_true(r->n > 0 && r->users > 0 && r->movies > 0);
    for (int64_t k = 0; k < r->n; k++) {
        const struct rating *one = &r->all[k];
        assert_true(one->user >= 0 && one->user < r->users);
        assert_true(one->movie >= 0 && one->movie < r->movies);
        assert_true(one->halves >= 1 && one->halves <= HALVES_MAX);
        assert_true(k == 0 || one->user > one[-1].user ||
                    (one->user == one[-1].user && one->movie > one[-1].movie));
    }
}

/* Random bytes in place of some: the reader makes ratings that are sound, or says where it stopped. */
static void test_damage(void **state)
{
    static const char text[] = HEADER "1,31,2.5,1260759144\n1,1029,3.0,1260759179\n"
                                      "2,31,4,835355493\n3,1029,0.5,1298861675\n";
    static const char bytes[] = "0123456789,.:\t\n\r -x\0";
    struct random random = {test_seed()};
    unsigned read = 0, refused = 0;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        char copy[sizeof text], error[256] = "";
        struct ratings r;
        memcpy(copy, text, sizeof text);
        for (uint64_t n = 1 + random_below(&random, 3); n > 0; n--)
            copy[random_below(&random, sizeof text - 1)] =
                bytes[random_below(&random, sizeof bytes - 1)];
        if (read_bytes(copy, sizeof text - 1, &r, error)) {
            assert_sound(&r);
            ratings_free(&r);
            read++;
        } else {
            assert_int_equal(strncmp(error, "r:", 2), 0);
            refused++;
        }
    }
    assert_true(read > ROUNDS / 20 && refused > ROUNDS / 20);
}

/* ------------------------------------------------------------------ made up ------------------ */

static int by_size(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return (a > b) - (a < b);
}

/* The Gini coefficient, which sorts the numbers. */
static double gini(int64_t *numbers, size_t n)
{
    double weighted = 0, sum = 0;

    qsort(numbers, n, sizeof *numbers, by_size);
    for (size_t i = 0; i < n; i++) {
        sum += (double)numbers[i];
        weighted += (2.0 * (double)i + 1 - (double)n) * (double)numbers[i];
    }
    return weighted / ((double)n * sum);
}

/* MovieLens 100K: mean 3.53, standard deviation 1.13; of 25M: 3.53, 1.06. Ratings per user of 100K: 20
 * at least, median 65, mean 106. Gini coefficient of the ratings per movie: 0.63. */
static void test_statistics(void **state)
{
    static const struct ratings_shape shape = {943, 1682, 100000};
    uint64_t seed = test_seed();

    (void)state;
    for (uint64_t s = seed; s < seed + 5; s++) {
        struct ratings r;
        double sum = 0, squares = 0;
        int64_t of_stars[HALVES_MAX + 1] = {0};
        int64_t *of_user = calloc(943, 8), *of_movie = calloc(1682, 8);
        assert_true(ratings_generate(&shape, s, &r));
        assert_sound(&r);
        assert_true(llabs(r.n - shape.n) <= shape.users); /* counts are whole numbers */
        for (int64_t k = 0; k < r.n; k++) {
            sum += rating_stars(&r.all[k]);
            squares += rating_stars(&r.all[k]) * rating_stars(&r.all[k]);
            of_stars[r.all[k].halves]++;
            of_user[r.all[k].user]++;
            of_movie[r.all[k].movie]++;
        }
        double mean = sum / (double)r.n, sd = sqrt(squares / (double)r.n - mean * mean);
        double inequality = gini(of_movie, 1682);
        qsort(of_user, 943, sizeof *of_user, by_size);
        print_message("mean %.2f, sd %.2f, gini %.2f, ratings of a user: %d, median %d, %d\n", mean,
                      sd, inequality, (int)of_user[0], (int)of_user[471], (int)of_user[942]);
        assert_true(mean > 3.35 && mean < 3.7);
        assert_true(sd > 0.95 && sd < 1.15);
        assert_true(inequality > 0.53 && inequality < 0.73);
        assert_true(of_user[0] >= RATINGS_OF_USER && of_user[0] < RATINGS_OF_USER + 5);
        assert_true(of_user[471] > 40 && of_user[471] < 80);
        assert_true(of_user[942] > 500 && of_user[942] <= 841);
        for (int h = 1; h <= HALVES_MAX; h++)
            assert_true(of_stars[h] > 0);
        free(of_user);
        free(of_movie);
        ratings_free(&r);
    }
}

static void test_seeds(void **state)
{
    static const struct ratings_shape shape = {50, 80, 1500};
    struct ratings first, again, other;
    uint64_t seed = test_seed();

    (void)state;
    assert_true(ratings_generate(&shape, seed, &first));
    assert_true(ratings_generate(&shape, seed, &again));
    assert_true(ratings_generate(&shape, seed + 1, &other));
    assert_int_equal(first.n, again.n);
    assert_memory_equal(first.all, again.all, (size_t)first.n * sizeof *first.all);
    assert_true(first.n != other.n ||
                memcmp(first.all, other.all, (size_t)first.n * sizeof *first.all) != 0);
    ratings_free(&first);
    ratings_free(&again);
    ratings_free(&other);
}

/* At the limits that --generate allows. */
static void test_limits(void **state)
{
    static const struct ratings_shape shapes[] = {
        {1, 40, 20}, {1, 4000, 1000}, {30, 40, 600}, {100, 200, 5000}, {3, 400, 300}};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct ratings r;
        assert_true(ratings_generate(&shapes[i], test_seed(), &r));
        assert_sound(&r);
        assert_true(llabs(r.n - shapes[i].n) <= shapes[i].users);
        ratings_free(&r);
    }
}

/* Ratings that were written are read again. Movies that nobody has rated are not in the file. */
static void test_written(void **state)
{
    static const struct ratings_shape shape = {40, 60, 600};
    struct ratings made, read;
    char error[256], *text;
    size_t len;

    (void)state;
    assert_true(ratings_generate(&shape, test_seed(), &made));
    FILE *out = open_memstream(&text, &len);
    assert_true(ratings_write(&made, out));
    fclose(out);
    assert_true(read_bytes(text, len, &read, error));
    assert_int_equal(read.n, made.n);
    assert_int_equal(read.users, made.users);
    assert_true(read.movies <= made.movies);
    for (int64_t k = 0; k < made.n; k++) {
        assert_int_equal(read.all[k].user, made.all[k].user);
        assert_int_equal(read.all[k].halves, made.all[k].halves);
        assert_true(read.movies < made.movies || read.all[k].movie == made.all[k].movie);
    }
    ratings_free(&made);
    ratings_free(&read);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),  cmocka_unit_test(test_byte_zero),
        cmocka_unit_test(test_reads),   cmocka_unit_test(test_line_without_end),
        cmocka_unit_test(test_damage),  cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_seeds),   cmocka_unit_test(test_limits),
        cmocka_unit_test(test_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
