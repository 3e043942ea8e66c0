/* SPDX-License-Identifier: BSD-3-Clause */
/* This file tests who has had the cores, from texts of /proc/stat that are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tools/info/load.h"

#define REST "intr 17 0 1\nctxt 5\n"

static struct core_ticks before[LOAD_CORES], after[LOAD_CORES];
static uint64_t mask[LOAD_CORES / 64];

static void read_text(const char *text, struct core_ticks *cores)
{
    FILE *f = fmemopen((void *)text, strlen(text), "r");

    assert_non_null(f);
    info_load_read(f, cores);
    fclose(f);
}

static void between(const char *first, const char *last, uint64_t cores)
{
    read_text(first, before);
    read_text(last, after);
    memset(mask, 0, sizeof mask);
    mask[0] = cores;
}

static void test_each_column_is_used_or_stolen_or_idle(void **state)
{
    (void)state;
    read_text("cpu  9 9 9 9 9 9 9 9 9 9\ncpu3 1 2 4 8 16 32 64 128 1 0\n" REST, after);
    assert_int_equal(after[3].busy, 1 + 2 + 4 + 32 + 64);
    assert_int_equal(after[3].stolen, 128);
    assert_int_equal(after[3].all, 255);
    assert_int_equal(after[0].all, 0); /* the line of all cores is none of a core */
}

static void test_only_the_cores_of_the_mask_count(void **state)
{
    struct load load;

    (void)state;
    between("cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 5 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\n" REST,
            "cpu0 9 0 0 1 0 0 0 0 0 0\ncpu1 8 0 0 7 0 0 0 0 0 0\ncpu2 1 0 0 8 0 0 0 1 0 0\n" REST,
            1u << 1 | 1u << 2);
    assert_true(info_load_between(before, after, mask, &load));
    assert_float_equal(load.used, 20, 1e-9);
    assert_float_equal(load.stolen, 5, 1e-9);
    assert_float_equal(load.most, 30, 1e-9);
    assert_int_equal(load.most_core, 1);
}

static void test_stolen_time_makes_a_core_the_most_used(void **state)
{
    struct load load;

    (void)state;
    between("cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n" REST,
            "cpu0 1 0 0 9 0 0 0 0 0 0\ncpu1 0 0 0 5 0 0 0 5 0 0\n" REST, 3);
    assert_true(info_load_between(before, after, mask, &load));
    assert_float_equal(load.most, 50, 1e-9);
    assert_int_equal(load.most_core, 1);
}

static void test_nothing_is_said_without_time(void **state)
{
    static const char text[] = "cpu0 3 0 0 9 0 0 0 0 0 0\n" REST;
    struct load load;

    (void)state;
    between(text, text, 1);
    assert_false(info_load_between(before, after, mask, &load));
    between("", "", 1);
    assert_false(info_load_between(before, after, mask, &load));
    between(text, REST, 1); /* the core is gone */
    assert_false(info_load_between(before, after, mask, &load));
    between("cpu0 0 0 0 0\n", "cpu0 1 0 0 1\n", 1); /* not the columns of today's kernels */
    assert_false(info_load_between(before, after, mask, &load));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_column_is_used_or_stolen_or_idle),
        cmocka_unit_test(test_only_the_cores_of_the_mask_count),
        cmocka_unit_test(test_stolen_time_makes_a_core_the_most_used),
        cmocka_unit_test(test_nothing_is_said_without_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
