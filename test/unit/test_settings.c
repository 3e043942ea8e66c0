/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings: environment over parameters over defaults, and what each bad value is told. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/environment.h"
#include "lib/inspect.h"
#include "lib/base/settings.h"

#define S INT64_C(1000000000)

static ncoll_params params, resolved;
static struct setting_error error;

/* Every test starts without any NCOLL_ variable. */
static int setup(void **state)
{
    struct setting_view view;

    (void)state;
    for (unsigned i = 0; ncoll__setting_view(NULL, i, &view); i++)
        unsetenv(view.variable);
    return ncoll_params_init(&params, sizeof params);
}

static void resolve(void)
{
    memset(&error, 0, sizeof error);
    assert_int_equal(ncoll__settings_resolve(&params, &resolved, &error), NCOLL_OK);
}

/* ------------------------------------------------------------------ precedence --------------- */

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(ncoll__settings_resolve(NULL, &resolved, &error), NCOLL_OK);
    assert_memory_equal(&resolved, &params, sizeof params);
    assert_int_equal(params.size, sizeof params);
    assert_int_equal(params.bootstrap, NCOLL_BOOTSTRAP_AUTO);
    assert_int_equal(params.rank, -1);
    assert_int_equal(params.ranks, 0);
    assert_int_equal(params.bootstrap_timeout_ns, 60 * S);
    assert_int_equal(params.gid_index, -1);
    assert_int_equal(params.radix, -1);
    assert_int_equal(params.window_bytes, 4 << 20);
    assert_int_equal(params.spin_ns, -1);
    assert_int_equal(params.log_level, NCOLL_LOG_WARN);
    assert_null(params.transport);
}

/* Sets each variable beside a parameter that says otherwise. */
static void test_environment_wins(void **state)
{
    (void)state;
    params.bootstrap = NCOLL_BOOTSTRAP_TCP, setenv("NCOLL_BOOTSTRAP", "self", 1);
    params.rank = 1, setenv("NCOLL_RANK", "3", 1);
    params.ranks = 2, setenv("NCOLL_SIZE", "4", 1);
    params.root = "a:1", setenv("NCOLL_ROOT", "b:2", 1);
    params.bootstrap_timeout_ns = S, setenv("NCOLL_BOOTSTRAP_TIMEOUT", "2.5", 1);
    params.transport = "verbs", setenv("NCOLL_TRANSPORT", "shm", 1);
    params.wiring = "direct", setenv("NCOLL_WIRING", "rdmacm", 1);
    params.device = "a", setenv("NCOLL_DEVICE", "b", 1);
    params.port = 1, setenv("NCOLL_PORT", "2", 1);
    params.gid = "eth0", setenv("NCOLL_GID", "10.1.0.0/16", 1);
    params.barrier_algorithm = "a", setenv("NCOLL_BARRIER_ALGORITHM", "b", 1);
    params.allreduce_algorithm = "a", setenv("NCOLL_ALLREDUCE_ALGORITHM", "c", 1);
    params.radix = 7, setenv("NCOLL_RADIX", "16", 1);
    params.tune = NCOLL_TUNE_MODEL, setenv("NCOLL_TUNE", "off", 1);
    params.tune_file = "a", setenv("NCOLL_TUNE_FILE", "b", 1);
    params.any_order = 0, setenv("NCOLL_ANY_ORDER", "1", 1);
    params.window_bytes = 65536, setenv("NCOLL_WINDOW", "8m", 1);
    params.spin_ns = 5, setenv("NCOLL_SPIN", "20", 1);
    params.ranks_per_core = 2, setenv("NCOLL_RANKS_PER_CORE", "1.5", 1);
    params.log_level = NCOLL_LOG_ERROR, setenv("NCOLL_LOG", "debug", 1);
    resolve();
    assert_int_equal(resolved.bootstrap, NCOLL_BOOTSTRAP_SELF);
    assert_int_equal(resolved.rank, 3);
    assert_int_equal(resolved.ranks, 4);
    assert_string_equal(resolved.root, "b:2");
    assert_int_equal(resolved.bootstrap_timeout_ns, 5 * S / 2);
    assert_string_equal(resolved.transport, "shm");
    assert_string_equal(resolved.wiring, "rdmacm");
    assert_string_equal(resolved.device, "b");
    assert_int_equal(resolved.port, 2);
    assert_string_equal(resolved.gid, "10.1.0.0/16");
    assert_string_equal(resolved.barrier_algorithm, "b");
    assert_string_equal(resolved.allreduce_algorithm, "c");
    assert_int_equal(resolved.radix, 16);
    assert_int_equal(resolved.tune, NCOLL_TUNE_OFF);
    assert_string_equal(resolved.tune_file, "b");
    assert_int_equal(resolved.any_order, 1);
    assert_int_equal(resolved.window_bytes, 8 << 20);
    assert_int_equal(resolved.spin_ns, 20000);
    assert_true(resolved.ranks_per_core == 1.5);
    assert_int_equal(resolved.log_level, NCOLL_LOG_DEBUG);
}

static void test_parameters_win_over_defaults(void **state)
{
    (void)state;
    params.radix = 3;
    params.window_bytes = 1 << 20;
    params.transport = "verbs";
    setenv("NCOLL_RADIX", "", 1); /* empty is not set */
    resolve();
    assert_int_equal(resolved.radix, 3);
    assert_int_equal(resolved.window_bytes, 1 << 20);
    assert_string_equal(resolved.transport, "verbs");
}

static void test_lists_of_radices(void **state)
{
    static const struct {
        const char *given, *shown;
        unsigned rounds[4]; /* n of rounds 1, 2, 3, 9 */
    } lists[] = {
        {"3,2,2", "3,2", {3, 2, 2, 2}},
        {"16,1", "16,1", {16, 1, 1, 1}},
        {"1,2,3,4,5,6,7", "1,2,3,4,5,6,7", {1, 2, 3, 7}},
        {"2,2,2,2,2,2,2,2,2,2", "2", {2, 2, 2, 2}},
    };
    static const unsigned rounds[] = {1, 2, 3, 9};
    char text[RADIX_TEXT];

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        setenv("NCOLL_RADIX", lists[i].given, 1);
        resolve();
        assert_true(ncoll__radix_is_valid((unsigned)resolved.radix));
        assert_string_equal(ncoll__radix_text((unsigned)resolved.radix, text), lists[i].shown);
        for (size_t r = 0; r < 4; r++)
            assert_int_equal(radix_of_round((unsigned)resolved.radix, rounds[r]),
                             lists[i].rounds[r]);
    }
    unsetenv("NCOLL_RADIX");
    params.radix = ncoll_radix_list((int[]){3, 2, 2}, 3);
    resolve();
    assert_string_equal(ncoll__radix_text((unsigned)resolved.radix, text), "3,2");
    assert_int_equal(ncoll_radix_list((int[]){4}, 1), 4);
    assert_int_equal(ncoll_radix_list(NULL, 1), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_radix_list((int[]){4}, 0), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_radix_list((int[]){4, -1}, 2), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_radix_list((int[]){17, 1}, 2), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_radix_list((int[]){1, 2, 3, 4, 5, 6, 7, 8}, 8), NCOLL_ERR_ARGUMENT);
}

/* ------------------------------------------------------------------ bad values --------------- */

static void test_bad_environment(void **state)
{
    static const struct {
        const char *variable, *value, *remedy;
    } bad[] = {
        {"NCOLL_BOOTSTRAP", "mpi", "pmix"},
        {"NCOLL_RANK", "-1", "0 to"},
        {"NCOLL_RANK", "one", "own rank"},
        {"NCOLL_SIZE", "0", "1 to"},
        {"NCOLL_SIZE", "4294967297", "1 to"},
        {"NCOLL_BOOTSTRAP_TIMEOUT", "-1", "seconds"},
        {"NCOLL_BOOTSTRAP_TIMEOUT", "nan", "seconds"},
        {"NCOLL_BOOTSTRAP_TIMEOUT", "10s", "seconds"},
        {"NCOLL_PORT", "256", "0 to 255"},
        {"NCOLL_PORT", "1.5", "0 to 255"},
        {"NCOLL_PKEY", "0x10000", "P_Key"},
        {"NCOLL_SL", "16", "service level"},
        {"NCOLL_TRAFFIC_CLASS", "256", "traffic class"},
        {"NCOLL_RADIX", "0", "1 to 16"},
        {"NCOLL_RADIX", "17", "1 to 16"},
        {"NCOLL_RADIX", "2 ", "1 to 16"},
        {"NCOLL_RADIX", "nan", "1 to 16"},
        {"NCOLL_RADIX", "3,", "3,2,2"},
        {"NCOLL_RADIX", ",3", "3,2,2"},
        {"NCOLL_RADIX", "3,,2", "3,2,2"},
        {"NCOLL_RADIX", "3,0", "3,2,2"},
        {"NCOLL_RADIX", "3,17", "3,2,2"},
        {"NCOLL_RADIX", "3;2", "3,2,2"},
        {"NCOLL_RADIX", "-1,2", "3,2,2"},
        {"NCOLL_RADIX", "1,2,3,4,5,6,7,8", "at most 7"},
        {"NCOLL_TUNE", "always", "trial"},
        {"NCOLL_ANY_ORDER", "yes", "0 to 1"},
        {"NCOLL_WINDOW", "4k", "k, m, g"},
        {"NCOLL_WINDOW", "1x", "k, m, g"},
        {"NCOLL_WINDOW", "1mm", "k, m, g"},
        {"NCOLL_WINDOW", "inf", "k, m, g"},
        {"NCOLL_WINDOW", "nan", "k, m, g"},
        {"NCOLL_WINDOW", "-1m", "k, m, g"},
        {"NCOLL_SPIN", "-2", "microseconds"},
        {"NCOLL_SPIN", "1e300", "microseconds"},
        {"NCOLL_RANKS_PER_CORE", "-1", "0 to 100000"},
        {"NCOLL_RANKS_PER_CORE", "nan", "0 to 100000"},
        {"NCOLL_RANKS_PER_CORE", "two", "0 to 100000"},
        {"NCOLL_LOG", "loud", "debug"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char assignment[64];
        setup(state);
        setenv(bad[i].variable, bad[i].value, 1);
        snprintf(assignment, sizeof assignment, "%s=%s ", bad[i].variable, bad[i].value);
        memset(&error, 0, sizeof error);
        if (ncoll__settings_resolve(&params, &resolved, &error) != NCOLL_ERR_ARGUMENT)
            fail_msg("%s is taken", assignment);
        assert_ptr_equal(strstr(error.cause, assignment), error.cause);
        if (strstr(error.remedy, bad[i].remedy) == NULL)
            fail_msg("%s: remedy \"%s\"", assignment, error.remedy);
    }
}

static void expect_bad(const char *cause)
{
    memset(&error, 0, sizeof error);
    assert_int_equal(ncoll__settings_resolve(&params, &resolved, &error), NCOLL_ERR_ARGUMENT);
    if (strstr(error.cause, cause) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.cause, cause);
    assert_true(strlen(error.remedy) > 0);
    ncoll_params_init(&params, sizeof params);
}

static void *allocate(void *arg, size_t bytes)
{
    (void)arg;
    return malloc(bytes);
}

static void test_bad_parameters(void **state)
{
    (void)state;
    params.radix = 0, expect_bad("NCOLL_RADIX=0");
    params.radix = 17, expect_bad("NCOLL_RADIX=17");
    params.radix = 3 << 28, expect_bad("NCOLL_RADIX=");
    params.radix = -2, expect_bad("NCOLL_RADIX=-2");
    params.rank = -2, expect_bad("NCOLL_RANK=-2");
    params.ranks = -1, expect_bad("NCOLL_SIZE=-1");
    params.port = -1, expect_bad("NCOLL_PORT=-1");
    params.tune = (ncoll_tune)4, expect_bad("ncoll_tune");
    params.any_order = -1, expect_bad("NCOLL_ANY_ORDER=-1");
    params.window_bytes = 100, expect_bad("NCOLL_WINDOW=100");
    params.ranks_per_core = -1, expect_bad("NCOLL_RANKS_PER_CORE=-1");
    params.ranks_per_core = 0.0 / 0.0, expect_bad("NCOLL_RANKS_PER_CORE=");
    params.bootstrap = (ncoll_bootstrap)10, expect_bad("bootstrap");
    params.bootstrap = (ncoll_bootstrap)-1, expect_bad("bootstrap");
    params.bootstrap_timeout_ns = -1, expect_bad("time-out");
    params.log_level = (ncoll_log_level)5, expect_bad("log");
    params.allocate = allocate, expect_bad("allocate");
    params.size = 0, expect_bad("size is 0");
    params.size = sizeof params + 8, expect_bad("size is");
}

/* ------------------------------------------------------------------ ncoll-info's view -------- */

static const char *view_of(const char *variable, const char **origin)
{
    static struct setting_view view;

    for (unsigned i = 0; ncoll__setting_view(&params, i, &view); i++)
        if (strcmp(view.variable, variable) == 0) {
            *origin = view.origin;
            return view.value;
        }
    fail_msg("there is no %s", variable);
    return NULL;
}

/* A short time would give many lines at once, since it doubles with each. */
static void test_least_stall_warn(void **state)
{
    const char *const bad[] = {"0.00001", "0.099"}, *const good[] = {"0", "0.1", "0.2"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        setenv("NCOLL_STALL_WARN", bad[i], 1);
        assert_int_equal(ncoll__settings_resolve(NULL, &resolved, &error), NCOLL_ERR_ARGUMENT);
        assert_non_null(strstr(error.cause, "NCOLL_STALL_WARN) is less than 0.1 s"));
    }
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        setenv("NCOLL_STALL_WARN", good[i], 1);
        resolve();
    }
}

static void test_view(void **state)
{
    const char *origin;

    (void)state;
    params.window_bytes = 65536;
    setenv("NCOLL_BOOTSTRAP_TIMEOUT", "90", 1);
    setenv("NCOLL_LOG", "loud", 1);
    assert_string_equal(view_of("NCOLL_RADIX", &origin), "-1");
    assert_string_equal(origin, "default");
    assert_string_equal(view_of("NCOLL_WINDOW", &origin), "65536");
    assert_string_equal(origin, "parameters");
    assert_string_equal(view_of("NCOLL_BOOTSTRAP_TIMEOUT", &origin), "90");
    assert_string_equal(origin, "environment");
    assert_string_equal(view_of("NCOLL_LOG", &origin), "loud (refused)");
    assert_string_equal(view_of("NCOLL_BOOTSTRAP", &origin), "auto");
}

/* ------------------------------------------------------------------ names that are none ------ */

/* How many unknown variables there are; of one of them, what it is taken for. */
static unsigned look_for(const char *name, struct unknown_variable *out)
{
    struct unknown_variable unknown;
    unsigned n = 0;

    memset(out, 0, sizeof *out);
    for (; ncoll__unknown_variable(n, &unknown); n++)
        if (strcmp(unknown.name, name) == 0)
            *out = unknown;
    return n;
}

static void test_unknown_variables(void **state)
{
    static const struct {
        const char *name, *nearest;
    } wrong[] = {
        {"NCOLL_TUEN", "NCOLL_TUNE"},
        {"NCOLL_TUN", "NCOLL_TUNE"},
        {"NCOLL_WINDOWS", "NCOLL_WINDOW"},
        {"NCOLL_RADDIX", "NCOLL_RADIX"},
        {"NCOLL_BARIER_ALGORYTHM", "NCOLL_BARRIER_ALGORITHM"},
        {"NCOLL_BOOTSTRAP_TIME_OUT", "NCOLL_BOOTSTRAP_TIMEOUT"},
        {"NCOLL_radix", NULL},
        {"NCOLL_FOO", NULL},
        {"NCOLL_", NULL},
        {"NCOLL_AN_ACCOUNT_OF_WHAT_IS_LONGER_THAN_ANY_NAME_OF_A_SETTING_HERE", NULL},
    };
    struct unknown_variable unknown;
    unsigned before = look_for("", &unknown); /* the caller's own */

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char name[VARIABLE_BYTES];
        snprintf(name, sizeof name, "%s", wrong[i].name);
        setenv(wrong[i].name, "1", 1);
        unsigned found = look_for(name, &unknown);
        unsetenv(wrong[i].name);
        assert_int_equal(found, before + 1);
        if (wrong[i].nearest != NULL)
            assert_string_equal(unknown.nearest, wrong[i].nearest);
        else
            assert_null(unknown.nearest);
    }
    setenv("NCOLL_RADIX", "3", 1);
    setenv("NCOLL_TEST_SEED", "1", 1);
    setenv("NCOLL_BENCH_ROUNDS", "1", 1);
    setenv("NCOLLECTION", "1", 1);
    assert_int_equal(look_for("", &unknown), before);
    setenv("NCOLL_SMALL", "1", 1);
    setenv("NCOLL_LARGE", "1", 1);
    assert_int_equal(look_for("NCOLL_SMALL", &unknown), before + 2);
    unsetenv("NCOLL_SMALL"), unsetenv("NCOLL_LARGE"), unsetenv("NCOLL_BENCH_ROUNDS");
    unsetenv("NCOLL_TEST_SEED"), unsetenv("NCOLLECTION");
}

/* ------------------------------------------------------------------ locale ------------------- */

/* Makes the program's decimal point a comma, if the tools to make such a locale are here. */
static bool take_commas(char *directory, size_t size)
{
    char command[512];

    snprintf(directory, size, "%s/ncoll-locale-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(directory) == NULL)
        return false;
    snprintf(command, sizeof command,
             "localedef -c -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >'%s/log' 2>&1", directory,
             directory);
    setenv("LOCPATH", directory, 1);
    return system(command) != -1 && setlocale(LC_ALL, "de_DE.UTF-8") != NULL &&
           strcmp(localeconv()->decimal_point, ",") == 0;
}

static void drop_commas(const char *directory)
{
    char command[512];

    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

/* A program in which numbers have a comma is started with the same settings as any. */
static void test_decimal_point(void **state)
{
    char directory[128], text[16];
    struct setting_view view;
    unsigned i = 0;

    (void)state;
    bool commas = take_commas(directory, sizeof directory);
    setenv("NCOLL_BOOTSTRAP_TIMEOUT", "0.5", 1);
    setenv("NCOLL_WINDOW", "1.5m", 1);
    int rc = ncoll__settings_resolve(NULL, &resolved, &error);
    while (ncoll__setting_view(NULL, i, &view) &&
           strcmp(view.variable, "NCOLL_BOOTSTRAP_TIMEOUT") != 0)
        i++;
    setenv("NCOLL_BOOTSTRAP_TIMEOUT", "0,5", 1);
    int with_comma = ncoll__settings_resolve(NULL, &params, &error);
    snprintf(text, sizeof text, "%.1f", 0.5); /* the program's own numbers are left alone */
    drop_commas(directory);
    assert_int_equal(rc, NCOLL_OK);
    assert_int_equal(resolved.bootstrap_timeout_ns, S / 2);
    assert_int_equal(resolved.window_bytes, 3 << 19);
    assert_string_equal(view.value, "0.5");
    assert_int_equal(with_comma, NCOLL_ERR_ARGUMENT);
    assert_string_equal(text, commas ? "0,5" : "0.5");
    if (!commas)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, setup),
        cmocka_unit_test_setup(test_environment_wins, setup),
        cmocka_unit_test_setup(test_parameters_win_over_defaults, setup),
        cmocka_unit_test_setup(test_lists_of_radices, setup),
        cmocka_unit_test_setup(test_bad_environment, setup),
        cmocka_unit_test_setup(test_bad_parameters, setup),
        cmocka_unit_test_setup(test_least_stall_warn, setup),
        cmocka_unit_test_setup(test_view, setup),
        cmocka_unit_test_setup(test_unknown_variables, setup),
        cmocka_unit_test_setup(test_decimal_point, setup),
    };

    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
