/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what ncoll-bench draws at random, and of what it reads of a network device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/seed.h"
#include "tools/bench/measure/hca.h"
#include "tools/bench/measure/mix.h"
#include "tools/bench/measure/cores.h"
#include "tools/bench/measure/measure.h"
#include "tools/bench/report/report.h"

#define ROWS  40
#define CALLS 30000
#define RANKS 3

/* Every row once, in an order that its seed repeats and another one changes. */
static void test_orders(void **state)
{
    uint64_t seed = test_seed();
    unsigned orders[3][ROWS];

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        uint64_t stream = seed + i / 2;
        bool seen[ROWS] = {false};
        mix_shuffle(&stream, orders[i], ROWS);
        for (unsigned j = 0; j < ROWS; j++) {
            assert_in_range(orders[i][j], 0, ROWS - 1);
            assert_false(seen[orders[i][j]]);
            seen[orders[i][j]] = true;
        }
    }
    assert_memory_equal(orders[0], orders[1], sizeof orders[0]);
    assert_memory_not_equal(orders[0], orders[2], sizeof orders[0]);
}

/* Each row is first in as many rounds: 1200 of 4 rows; 300 each, 7 deviations are 105. */
static void test_first_rows(void **state)
{
    uint64_t stream = test_seed();
    unsigned order[4], first[4] = {0};

    (void)state;
    for (unsigned round = 0; round < 1200; round++) {
        mix_shuffle(&stream, order, 4);
        first[order[0]]++;
    }
    for (unsigned i = 0; i < 4; i++)
        assert_in_range(first[i], 195, 405);
}

/* One rank in each call, all of them equally often. */
static void test_one_is_late(void **state)
{
    const struct options options = {.skew_us = 50, .skew = SKEW_ONE};
    uint64_t seed = test_seed();
    unsigned times[RANKS] = {0};

    (void)state;
    for (unsigned call = 0; call < CALLS; call++) {
        unsigned late = 0;
        for (int rank = 0; rank < RANKS; rank++) {
            uint64_t ns = start_lateness(&options, seed, call, rank, RANKS);
            assert_true(ns == 0 || ns == 50000);
            times[rank] += ns > 0;
            late += ns > 0;
        }
        assert_int_equal(late, 1);
    }
    for (int rank = 0; rank < RANKS; rank++)
        assert_in_range(times[rank], CALLS / RANKS - 600, CALLS / RANKS + 600);
}

/* Uniform from 0 to the most: tenths of it are equally often, of each rank by itself. */
static void test_all_are_late(void **state)
{
    const struct options options = {.skew_us = 10, .skew = SKEW_ALL};
    uint64_t seed = test_seed();
    unsigned tenths[RANKS][10] = {0};

    (void)state;
    for (unsigned call = 0; call < CALLS; call++)
        for (int rank = 0; rank < RANKS; rank++) {
            uint64_t ns = start_lateness(&options, seed, call, rank, RANKS);
            assert_in_range(ns, 0, 10000);
            tenths[rank][ns < 10000 ? ns / 1000 : 9]++;
        }
    for (int rank = 0; rank < RANKS; rank++)
        for (unsigned i = 0; i < 10; i++)
            assert_in_range(tenths[rank][i], CALLS / 10 - 400, CALLS / 10 + 400);
}

static void write_counter(const char *directory, const char *name, const char *text)
{
    char path[300];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void make_directories(const char *root, const char *const *names, unsigned n)
{
    char path[300];

    for (unsigned i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
}

static void remove_all(const char *root)
{
    char command[300];

    snprintf(command, sizeof command, "rm -r '%s'", root);
    assert_int_equal(system(command), 0);
}

/* The counters are those that the kernel shows, of the device and of the port. lifespan is no
 * count. */
static void test_device_counters(void **state)
{
    static const char *const names[] = {"mlx5_0", "mlx5_0/hw_counters", "mlx5_0/ports",
                                        "mlx5_0/ports/1", "mlx5_0/ports/1/hw_counters"};
    char root[] = "/tmp/ncoll-hca-XXXXXX", of_port[100];
    struct hca_counts before, after;
    uint64_t sums[HCA_COUNTERS_MAX] = {0};

    (void)state;
    assert_non_null(mkdtemp(root));
    assert_null(hca_open(root, "mlx5_0", 1));
    make_directories(root, names, 5);
    snprintf(of_port, sizeof of_port, "%s/%s", root, names[4]);
    write_counter(of_port, "out_of_sequence", "5\n");
    write_counter(of_port, "rnr_nak_retry_err", "18446744073709551615\n");
    write_counter(of_port, "lifespan", "10\n");
    struct hca *hca = hca_open(root, "mlx5_0", 1);
    assert_non_null(hca);
    assert_int_equal(hca->n, 2);
    hca_read(hca, &before);
    write_counter(of_port, "out_of_sequence", "12\n");
    write_counter(of_port, "rnr_nak_retry_err", "1\n"); /* it has come round */
    hca_read(hca, &after);
    hca_add(hca, sums, &before, &after);
    for (unsigned i = 0; i < hca->n; i++)
        assert_int_equal(sums[i], strcmp(hca->names[i], "out_of_sequence") == 0 ? 7 : 2);
    hca_close(hca);
    remove_all(root);
}

/* Batches have met cores at each kind of distance. */
static void test_lines_below_the_table(void **state)
{
    uint64_t cores_ns[2 * CORES_KINDS * CORES_LOOKS];
    struct row row = {.calls = 2 * CORES_KINDS, .batch = 1, .cores_ns = cores_ns};
    struct options options = {0};
    struct job job = {.options = &options, .rows = &row, .n_rows = 1, .sees_cores = true};
    char text[4096] = "", *next = text;
    FILE *out = fmemopen(text, sizeof text, "w");
    static const uint64_t kinds[CORES_KINDS] = {41, 112, 290, 987654};

    (void)state;
    for (unsigned i = 0; i < sizeof cores_ns / sizeof cores_ns[0]; i++)
        cores_ns[i] = kinds[i % CORES_KINDS];
    report_foot(&job, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "0.041 us (25 %), 0.112 us (25 %), 0.290 us (25 %), 987.654 us"));
    for (char *line; (line = strsep(&next, "\n")) != NULL;)
        assert_in_range(strlen(line), 0, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),          cmocka_unit_test(test_first_rows),
        cmocka_unit_test(test_one_is_late),     cmocka_unit_test(test_all_are_late),
        cmocka_unit_test(test_device_counters), cmocka_unit_test(test_lines_below_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
