/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives with counts: how ncoll-bench distributes elements, and that --check sees wrong
 * counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tools/bench/measure/measure.h"

#define MOST_RANKS 40
#define COUNT      6

static void test_sums(void **state)
{
    struct blocks blocks;

    (void)state;
    for (enum distribution d = DISTRIBUTION_REGULAR; d < DISTRIBUTIONS; d++)
        for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
            for (size_t count = 0; count <= 9; count++) {
                size_t sum = 0;
                bool some_empty = false;
                assert_true(blocks_make(d, count, ranks, &blocks));
                for (int i = 0; i < ranks; i++) {
                    assert_int_equal(blocks.displs[i], sum);
                    assert_int_equal(blocks.int_displs[i], sum);
                    assert_int_equal(blocks.int_counts[i], blocks.counts[i]);
                    some_empty |= blocks.counts[i] == 0;
                    sum += blocks.counts[i];
                }
                assert_int_equal(sum, count * (size_t)ranks);
                assert_int_equal(some_empty, blocks.some_empty);
                blocks_free(&blocks);
            }
}

static void expect_counts(enum distribution d, size_t count, int ranks, const size_t *expected)
{
    struct blocks blocks;

    assert_true(blocks_make(d, count, ranks, &blocks));
    for (int i = 0; i < ranks; i++)
        assert_int_equal(blocks.counts[i], expected[i]);
    blocks_free(&blocks);
}

static void test_counts(void **state)
{
    (void)state;
    expect_counts(DISTRIBUTION_REGULAR, 6, 4, (size_t[]){6, 6, 6, 6});
    expect_counts(DISTRIBUTION_DECREASING, 6, 4, (size_t[]){12, 8, 4, 0});
    expect_counts(DISTRIBUTION_DECREASING, 1, 4, (size_t[]){2, 1, 1, 0});
    expect_counts(DISTRIBUTION_DECREASING, 5, 3, (size_t[]){10, 5, 0});
    expect_counts(DISTRIBUTION_DECREASING, 5, 2, (size_t[]){10, 0});
    expect_counts(DISTRIBUTION_DECREASING, 5, 1, (size_t[]){5});
    expect_counts(DISTRIBUTION_BROADCAST, 6, 4, (size_t[]){24, 0, 0, 0});
}

/* OUT of an allgatherv, as it is right for a distribution. */
static void gather(struct job *job, struct row *row, int64_t *out)
{
    for (int rank = 0; rank < job->ranks; rank++) {
        job->rank = rank;
        check_fill(job, row, rank, out + row->blocks.displs[rank]);
    }
}

/* Every distribution is right by itself and no other is. */
static void test_check(void **state)
{
    const struct options options = {.type = NCOLL_INT64, .op = NCOLL_SUM};
    int64_t out[4 * COUNT], expected[4 * COUNT];

    (void)state;
    for (enum distribution made = DISTRIBUTION_REGULAR; made < DISTRIBUTIONS; made++)
        for (enum distribution d = DISTRIBUTION_REGULAR; d < DISTRIBUTIONS; d++) {
            struct job job = {.options = &options, .ranks = 4, .out = out, .expected = expected};
            struct row row = {.subject = &subject_ncoll,
                              .collective = COLL_ALLGATHER,
                              .bytes = COUNT * sizeof(int64_t),
                              .count = COUNT,
                              .distribution = made};
            assert_true(blocks_make(made, COUNT, 4, &row.blocks));
            gather(&job, &row, out);
            blocks_free(&row.blocks);
            row.distribution = d;
            assert_true(blocks_make(d, COUNT, 4, &row.blocks));
            for (job.rank = 0; job.rank < 4; job.rank++)
                assert_int_equal(check_result(&job, &row) == 0, d == made);
            blocks_free(&row.blocks);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
