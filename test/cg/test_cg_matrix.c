/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of ncoll-cg: what the reader takes and what it says of the rest, whatever the bytes. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "examples/cg/cg.h"

#define GENERAL   "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate integer symmetric\n"
#define ROUNDS    20000

static bool read_bytes(const char *bytes, size_t len, struct matrix *m, char error[256])
{
    FILE *in = fmemopen((void *)(uintptr_t)bytes, len, "r");

    assert_non_null(in);
    bool ok = matrix_market_read(in, "m", m, error, 256);
    fclose(in);
    return ok;
}

static void expect_error(const char *text, const char *expected)
{
    struct matrix m;
    char error[256];

    assert_false(read_bytes(text, strlen(text), &m, error));
    assert_string_equal(error, expected);
}

static void test_errors(void **state)
{
    static const char *const cases[][2] = {
        {"\n", "m:1: not a Matrix Market file: it does not begin with %%MatrixMarket"},
        {"%%MatrixMarket matrix array real general\n",
         "m:1: 'matrix array' is not supported: only 'matrix coordinate' is"},
        {"%%MatrixMarket matrix coordinate complex general\n",
         "m:1: field 'complex' is not supported: only real and integer are"},
        {"%%MatrixMarket matrix coordinate real hermitian\n",
         "m:1: symmetry 'hermitian' is not supported: only general and symmetric are"},
        {GENERAL, "m:2: ends before the line of rows, columns and entries"},
        {GENERAL "%\n\n2 3 4\n", "m:4: not square: 2 rows, 3 columns"},
        {GENERAL "2 2\n", "m:2: the number of entries is not a whole number: ''"},
        {GENERAL "2 2 4 1\n", "m:2: more than rows, columns and entries: '1'"},
        {GENERAL "0 0 0\n", "m:2: the number of rows is 0, not in 1..2147483647"},
        {GENERAL "-2 -2 4\n", "m:2: the number of rows is -2, not in 1..2147483647"},
        {GENERAL "2147483648 2147483648 1\n",
         "m:2: the number of rows is 2147483648, not in 1..2147483647"},
        {GENERAL "2e0 2 2\n", "m:2: the number of rows is not a whole number: '2e0'"},
        {GENERAL "3 3 2\n",
         "m:2: 2 entries are too few for 3 rows: the diagonal has to be positive"},
        {GENERAL "1 1 1\n1 1 0x1p3\n", "m:3: not a number: '0x1p3'"},
        {GENERAL "1 1 1\n1 1 nan\n", "m:3: not a number: 'nan'"},
        {GENERAL "1 1 1\n1 1 1e999\n", "m:3: 1e999 is too large for a double"},
        {GENERAL "1 1 1\n1 1\n", "m:3: not a number: ''"},
        {GENERAL "1 1 1\n1 1 1 1\n", "m:3: more than row, column and value: '1'"},
        {GENERAL "1 1 1\n0 1 1\n", "m:3: the row is 0, not in 1..1"},
        {GENERAL "1 1 1\n1 1 1\n\n1 1 1\n", "m:5: more than the 1 entries announced"},
        {GENERAL "2 2 2000000000000\n1 1 1\n", "m:4: ends after 1 of the 2000000000000 entries"},
        {GENERAL "1 1 2\n1 1 1\n1 1 1\n", "m:4: entry (1, 1) is in line 3 already"},
        {GENERAL "2 2 3\n1 1 1\n1 2 1\n2 2 1\n", "m:4: not symmetric: there is no entry (2, 1)"},
        {GENERAL "2 2 2\n1 1 1\n2 2 -1\n", "m:4: not positive definite: -1 on the diagonal"},
        {GENERAL "2 2 3\n1 1 1\n1 2 1\n2 1 1\n",
         "m:5: not positive definite: 1 zeros on the diagonal"},
        {SYMMETRIC "1 1 1\n1 1 9007199254740993\n",
         "m:3: the value is 9007199254740993, not in -9007199254740992..9007199254740992"},
        {SYMMETRIC "1 1 1\n1 1 1.5\n", "m:3: the value is not a whole number: '1.5'"},
        {SYMMETRIC "2 2 3\n1 1 1\n1 2 1\n2 2 1\n",
         "m:4: above the diagonal, in a file of the lower triangle only"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_error(cases[i][0], cases[i][1]);
}

static void test_byte_zero(void **state)
{
    static const char text[] = GENERAL "1 1 1\n1 1 1\0\n";
    struct matrix m;
    char error[256];

    (void)state;
    assert_false(read_bytes(text, sizeof text - 1, &m, error));
    assert_string_equal(error, "m:3: a byte 0: this is no text");
}

/* A stream of characters without an end of line. */
static ssize_t more_of_it(void *cookie, char *bytes, size_t size)
{
    size_t *left = cookie, n = size < *left ? size : *left;

    memset(bytes, 'x', n);
    *left -= n;
    return (ssize_t)n;
}

static void test_line_without_end(void **state)
{
    size_t size = (size_t)1 << 28, left = size;
    FILE *in = fopencookie(&left, "r", (cookie_io_functions_t){.read = more_of_it});
    struct matrix m;
    char error[256];

    (void)state;
    assert_non_null(in);
    assert_false(matrix_market_read(in, "m", &m, error, sizeof error));
    assert_string_equal(error, "m:1: a line of more than 65536 characters");
    assert_true(size - left < (size_t)1 << 20); /* it has not been read to its end */
    fclose(in);
}

/* Orders, blanks, cases and line ends that writers differ in. */
static void test_reads(void **state)
{
    static const char general[] = "%%matrixmarket MATRIX Coordinate Real General\r\n% one\r\n"
                                  "%two\n\n 3\t3 7 \r\n3 3 +4e0\n2 1 -1.\n\n1 2 -1\n2 2 5.5E-1\n"
                                  "1 1 .5\n3 2 -0\n2 3 0\n\n",
                      lower[] = SYMMETRIC "3 3 5\n3 3 4\n2 1 -1\n2 2 5\n1 1 7\n3 2 9";
    struct matrix a, b;
    char error[256];

    (void)state;
    assert_true(read_bytes(general, sizeof general - 1, &a, error));
    assert_true(read_bytes(lower, sizeof lower - 1, &b, error));
    const int64_t starts[] = {0, 2, 5, 7}, columns[] = {0, 1, 0, 1, 2, 1, 2};
    const double of_a[] = {.5, -1, -1, .55, 0, 0, 4}, of_b[] = {7, -1, -1, 5, 9, 9, 4};
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(a.starts[i], starts[i]);
        assert_int_equal(b.starts[i], starts[i]);
    }
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(a.columns[i], columns[i]);
        assert_int_equal(b.columns[i], columns[i]);
        assert_true(a.values[i] == of_a[i] && b.values[i] == of_b[i]);
    }
    matrix_free(&a);
    matrix_free(&b);
}

static void assert_same(const struct matrix *a, const struct matrix *b)
{
    size_t nonzeros = (size_t)matrix_nonzeros(a);

    assert_int_equal(a->n, b->n);
    assert_int_equal(a->rows, b->rows);
    assert_memory_equal(a->starts, b->starts, ((size_t)a->rows + 1) * sizeof *a->starts);
    assert_memory_equal(a->columns, b->columns, nonzeros * sizeof *a->columns);
    assert_memory_equal(a->values, b->values, nonzeros * sizeof *a->values);
}

/* The matrix is written as it is made, and its parts are those of the whole. */
static void test_poisson(void **state)
{
    static const struct grid grids[] = {{1, 1, 1}, {5, 1, 1}, {1, 4, 2}, {2, 2, 2}, {4, 3, 5}};
    struct matrix made, read, part;
    char error[256], *text;
    size_t len;

    (void)state;
    for (size_t g = 0; g < sizeof grids / sizeof grids[0]; g++) {
        int64_t n = poisson_rows(&grids[g]);
        assert_true(poisson_make(&grids[g], 0, n, &made));
        assert_int_equal(matrix_nonzeros(&made), poisson_nonzeros(&grids[g]));
        FILE *out = open_memstream(&text, &len);
        assert_true(poisson_write(&grids[g], out));
        fclose(out);
        assert_true(read_bytes(text, len, &read, error));
        assert_same(&made, &read);
        for (int64_t row = 0; row < n; row++) {
            assert_true(poisson_make(&grids[g], row, 1, &part));
            int64_t first = made.starts[row], length = made.starts[row + 1] - first;
            assert_int_equal(matrix_nonzeros(&part), length);
            assert_int_equal(poisson_length(&grids[g], row), length);
            assert_memory_equal(part.columns, made.columns + first, (size_t)length * 8);
            matrix_free(&part);
        }
        matrix_free(&read);
        matrix_free(&made);
        free(text);
    }
}

/* Entry (i, j), 0 if there is none. */
static double at(const struct matrix *m, int64_t i, int64_t j)
{
    for (int64_t e = m->starts[i]; e < m->starts[i + 1]; e++)
        if (m->columns[e] == j)
            return m->values[e];
    return 0;
}

static void assert_sound(const struct matrix *m)
{
    assert_int_equal(m->rows, m->n);
    for (int64_t i = 0; i < m->n; i++) {
        assert_true(m->starts[i] < m->starts[i + 1]);
        assert_true(at(m, i, i) > 0);
        for (int64_t e = m->starts[i]; e < m->starts[i + 1]; e++) {
            assert_in_range(m->columns[e], 0, m->n - 1);
            assert_true(e == m->starts[i] || m->columns[e] > m->columns[e - 1]);
            assert_true(at(m, m->columns[e], i) == m->values[e]);
        }
    }
}

static void replace(char *text, size_t *len, size_t from, size_t old, const char *new)
{
    size_t more = strlen(new);

    memmove(text + from + more, text + from + old, *len - from - old);
    memcpy(text + from, new, more);
    *len += more - old;
    text[*len] = '\0';
}

/* One thing that may happen to a file. A byte 0 is behind it, and there is room for some words. */
static void damage(struct random *random, char *text, size_t *len)
{
    static const char *const words[] = {"-1",      "0",   "4294967296", "99999999999999999999",
                                        "1e400",   "nan", " ",          "\n",
                                        "%",       "",    "2",          "\r\n",
                                        "1 1 1\n", "-0.0"};
    size_t where = random_below(random, *len);

    switch (random_below(random, 5)) {
    case 0:
        text[where] = (char)random_next(random);
        return;
    case 1:
        *len = where > 0 ? where : 1;
        text[*len] = '\0';
        return;
    case 2: /* a word becomes another one */
        while (where > 0 && text[where - 1] != ' ' && text[where - 1] != '\n')
            where--;
        replace(text, len, where, strcspn(text + where, " \n"),
                words[random_below(random, sizeof words / sizeof words[0])]);
        return;
    case 3: { /* a line less */
        while (where > 0 && text[where - 1] != '\n')
            where--;
        size_t line = strcspn(text + where, "\n");
        if (line + 1 < *len && where + line < *len)
            replace(text, len, where, line + 1, "");
        return;
    }
    default:
        replace(text, len, where, 0, words[random_below(random, sizeof words / sizeof words[0])]);
    }
}

/* Either a sound matrix, or an error that says where. */
static void test_fuzz(void **state)
{
    uint64_t seed = test_seed();
    unsigned taken = 0;

    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct random random = random_stream(seed, round);
        const struct grid grid = {1 + (int64_t)random_below(&random, 3),
                                  1 + (int64_t)random_below(&random, 3), 2};
        char error[256], *text;
        size_t len;
        struct matrix m;
        FILE *out = open_memstream(&text, &len);
        assert_true(poisson_write(&grid, out));
        fclose(out);
        unsigned times = 1 + (unsigned)random_below(&random, 3);
        text = realloc(text, len + 100);
        memset(text + len, 0, 100);
        for (unsigned i = 0; i < times; i++) {
            damage(&random, text, &len);
            if (len == 0) /* no FILE can be made of nothing */
                replace(text, &len, 0, 0, "\n");
        }
        if (read_bytes(text, len, &m, error)) {
            assert_sound(&m);
            matrix_free(&m);
            taken++;
        } else {
            assert_true(strncmp(error, "m:", 2) == 0 && strtol(error + 2, NULL, 10) > 0);
        }
        free(text);
    }
    print_message("%u of %u damaged files are matrices\n", taken, ROUNDS);
    assert_in_range(taken, 1, ROUNDS / 2);
}

static int64_t given_length(const void *arg, int64_t row)
{
    return ((const int64_t *)arg)[row];
}

/* Blocks are adjacent, hold all rows, and none is longer than its share and a row. */
static void test_blocks(void **state)
{
    struct random random = random_stream(test_seed(), 1u << 30);
    int64_t lengths[200], bounds[65];

    (void)state;
    for (unsigned round = 0; round < 2000; round++) {
        int64_t n = 1 + (int64_t)random_below(&random, 200), nonzeros = 0, longest = 0;
        unsigned blocks = 1 + (unsigned)random_below(&random, 64);
        for (int64_t i = 0; i < n; i++) {
            lengths[i] = 1 + (int64_t)random_below(&random, i % 7 == 0 ? 50 : 5);
            nonzeros += lengths[i];
            longest = lengths[i] > longest ? lengths[i] : longest;
        }
        cut_blocks(n, nonzeros, given_length, lengths, blocks, bounds);
        assert_int_equal(bounds[0], 0);
        assert_int_equal(bounds[blocks], n);
        for (unsigned b = 0; b < blocks; b++) {
            int64_t sum = 0;
            assert_true(bounds[b] <= bounds[b + 1]);
            for (int64_t i = bounds[b]; i < bounds[b + 1]; i++)
                sum += lengths[i];
            assert_true(sum <= nonzeros / blocks + 1 + longest);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),           cmocka_unit_test(test_byte_zero),
        cmocka_unit_test(test_line_without_end), cmocka_unit_test(test_reads),
        cmocka_unit_test(test_poisson),          cmocka_unit_test(test_fuzz),
        cmocka_unit_test(test_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
