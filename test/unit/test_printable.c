/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that are printed hold no commands for the terminal, wherever they come from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/printable.h"
#include "ncoll.h"

static void test_texts(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"rank 3 failed (it's gone); 100 %", "rank 3 failed (it's gone); 100 %"},
        {"a\033[2Jb\007\b\r\nc\td\177", "a?[2Jb????c?d?"},
        {"J\303\274rgen, \342\202\254, \360\237\230\200",
         "J\303\274rgen, \342\202\254, \360\237\230\200"},
        {"\302\233"
         "2J \302\237 \302\240",
         "??2J ?? \302\240"}, /* CSI as U+009B */
        {"\233"
         "2J \377 \200",
         "?2J ? ?"},   /* as a byte */
        {"\303", "?"}, /* cut off */
        {"\342\202", "??"},
        {"\342\033[m", "??[m"},
        {"\300\233 \370\210\200\200\200", "?? ?????"}, /* longer than it need be */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[64];
        strcpy(text, cases[i][0]);
        ncoll__make_printable(text);
        assert_string_equal(text, cases[i][1]);
    }
}

static char logged[1024];

static void keep(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg, (void)level;
    strcat(logged, text);
}

static void expect_printable(const char *text)
{
    assert_true(strlen(text) > 0);
    for (; *text != '\0'; text++)
        assert_true(*text >= ' ' && *text < 0x7f);
}

static void test_errors_and_logs(void **state)
{
    ncoll_context *ctx;
    ncoll_error error;
    ncoll_params params;

    (void)state;
    setenv("NCOLL_LEVEL", "\033[2Jcore", 1);
    assert_int_equal(ncoll_context_create(NULL, &ctx, &error), NCOLL_ERR_ARGUMENT);
    expect_printable(error.cause);
    expect_printable(error.text);
    unsetenv("NCOLL_LEVEL");

    setenv("NCOLL_\033[5mBLINK", "1", 1);
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.log = keep;
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_OK);
    ncoll_context_destroy(ctx);
    expect_printable(logged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_errors_and_logs),
    };
    return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
