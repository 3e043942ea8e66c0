/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of the tools: figures have three digits and a unit that suits, columns are as wide as need be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* after those */
#include <cmocka.h>

#include "tools/table.h"

static void test_times(void **state)
{
    char text[FIGURE_TEXT];

    (void)state;
    assert_string_equal(time_text(0.148, text), "0.148 us");
    assert_string_equal(time_text(0.0456, text), "0.0456 us");
    assert_string_equal(time_text(1.4849, text), "1.48 us");
    assert_string_equal(time_text(10, text), "10.0 us");
    assert_string_equal(time_text(999.4, text), "999 us");
    assert_string_equal(time_text(999.6, text), "1.00 ms");
    assert_string_equal(time_text(12345, text), "12.3 ms");
    assert_string_equal(time_text(2.5e6, text), "2.50 s");
    assert_string_equal(time_text(123456e6, text), "123456 s");
}

static void test_intervals_have_the_unit_of_their_median(void **state)
{
    char text[FIGURE_TEXT];

    (void)state;
    assert_string_equal(interval_text(0.148, 0.145, 0.152, text), "0.145-0.152");
    assert_string_equal(interval_text(999.0, 990.0, 1100.0, text), "990-1100");
    assert_string_equal(interval_text(1234.0, 900.0, 1300.0, text), "0.90-1.30");
}

static void test_sizes(void **state)
{
    char text[FIGURE_TEXT];

    (void)state;
    assert_string_equal(size_text(8, text), "8 B");
    assert_string_equal(size_text(1000, text), "1000 B");
    assert_string_equal(size_text(1536, text), "1.50 KiB");
    assert_string_equal(size_text(65536, text), "64 KiB");
    assert_string_equal(size_text((size_t)3 << 20, text), "3 MiB");
}

/* Returns what a table of three columns prints. The caller frees it. */
static char *printed(size_t width)
{
    struct table t = {0};
    char *memory;
    size_t len;
    FILE *out = open_memstream(&memory, &len);

    assert_non_null(out);
    table_column(&t, true, "n");
    table_column(&t, false, "left");
    table_column(&t, false, "last");
    table_heading(&t, "a heading that is longer than a column");
    table_cell(&t, "%d", 12);
    table_cell(&t, "%s", "x");
    table_cell(&t, "%s", "hierarchical");
    assert_int_equal(table_print(&t, 1, width, out), 0);
    fclose(out);
    return memory;
}

static void test_columns(void **state)
{
    char *whole = printed(0), *cut = printed(20);

    (void)state;
    assert_string_equal(whole, "  n  left  last\n"
                               " a heading that is longer than a column\n"
                               " 12  x     hierarchical\n");
    assert_string_equal(cut, "  n  left  last\n"
                             " a heading that is longer than a column\n"
                             " 12  x     hierarc..\n");
    free(whole);
    free(cut);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_intervals_have_the_unit_of_their_median),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
