/* SPDX-License-Identifier: BSD-3-Clause */
/* A context by itself: sizes of its parameters, the caller's memory, clock and log, statistics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/crew.h"

#define COUNT 1000

static ncoll_params params;
static ncoll_error error;

static int setup(void **state)
{
    (void)state;
    int rc = ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    return rc;
}

/* ------------------------------------------------------------------ sizes -------------------- */

static void test_sizes_of_params(void **state)
{
    ncoll_context *ctx = NULL;

    (void)state;
    assert_int_equal(ncoll_params_init(NULL, sizeof params), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_params_init(&params, 0), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_params_init(&params, sizeof params - 1), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_params_init(&params, sizeof params + 1), NCOLL_ERR_ARGUMENT);
    params.size = 8; /* not initialised */
    assert_int_equal(ncoll_context_create(&params, &ctx, &error), NCOLL_ERR_ARGUMENT);
    assert_non_null(strstr(error.text, "ncoll_params_init"));
    assert_null(ctx);
    assert_int_equal(ncoll_context_create(NULL, NULL, &error), NCOLL_ERR_ARGUMENT);
}

static void test_stats(void **state)
{
    ncoll_stats stats = {.size = sizeof stats};
    ncoll_context *ctx;

    (void)state;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    assert_int_equal(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK), NCOLL_OK);
    assert_int_equal(ncoll_context_stats(ctx, &stats), NCOLL_OK);
    assert_string_equal(stats.bootstrap, "self");
    assert_int_equal(stats.rank, 0);
    assert_int_equal(stats.ranks, 1);
    assert_int_equal(stats.nodes, 1);
    assert_int_equal(stats.node_ranks, 1);
    assert_int_equal(stats.connections, 0);
    assert_int_equal(stats.puts, 0);
    assert_true(stats.memory_bytes >= params.window_bytes);
    stats.size = 4;
    assert_int_equal(ncoll_context_stats(ctx, &stats), NCOLL_ERR_ARGUMENT);
    assert_int_equal(ncoll_context_stats(ctx, NULL), NCOLL_ERR_ARGUMENT);
    ncoll_context_destroy(ctx);
}

static void test_texts(void **state)
{
    (void)state;
    assert_string_equal(ncoll_status_text(NCOLL_OK), "success");
    for (int status = NCOLL_ERR_CODEC; status <= NCOLL_TIMEOUT; status++)
        assert_string_not_equal(ncoll_status_text(status), "unknown status");
    assert_string_equal(ncoll_status_text(NCOLL_ERR_CODEC - 1), "unknown status");
    assert_string_equal(ncoll_status_text(2), "unknown status");
    assert_string_equal(ncoll_version(), "0.2.0");
}

/* ------------------------------------------------------------------ memory ------------------- */

struct heap {
    unsigned requests, live;
    unsigned fails_at; /* this request gets nothing */
};

static void *allocate(void *arg, size_t bytes)
{
    struct heap *heap = arg;
    void *memory = ++heap->requests == heap->fails_at ? NULL : malloc(bytes);

    heap->live += memory != NULL;
    if (memory != NULL)
        memset(memory, 0xa5, bytes);
    return memory;
}

static void release(void *arg, void *memory)
{
    struct heap *heap = arg;

    heap->live -= memory != NULL;
    free(memory);
}

static void multiply(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                     void *arg)
{
    (void)type, (void)arg;
    for (size_t i = 0; i < count; i++)
        ((int32_t *)out)[i] = ((const int32_t *)left)[i] * ((const int32_t *)right)[i];
}

/* A life with a bit of everything in it. */
static int live(ncoll_context **ctx)
{
    static const ncoll_op_def def = {sizeof def, NCOLL_OP_COMMUTATIVE, multiply, NULL, NULL};
    int32_t in[COUNT] = {1, 2, 3}, out[COUNT];
    ncoll_op op;
    int rc;

    *ctx = NULL;
    if ((rc = ncoll_context_create(&params, ctx, &error)) != NCOLL_OK ||
        (rc = ncoll_barrier(ncoll_world(*ctx), NCOLL_BLOCK)) != NCOLL_OK ||
        (rc = ncoll_op_create(*ctx, &def, &op)) != NCOLL_OK ||
        (rc = ncoll_allreduce(ncoll_world(*ctx), in, out, COUNT, NCOLL_INT32, op, NCOLL_BLOCK)) !=
            NCOLL_OK)
        return rc;
    assert_memory_equal(in, out, sizeof in);
    return NCOLL_OK;
}

static void test_all_memory_is_the_callers(void **state)
{
    struct heap heap = {.fails_at = 0};
    ncoll_context *ctx;

    (void)state;
    params.allocate = allocate;
    params.release = release;
    params.allocate_arg = &heap;
    assert_int_equal(live(&ctx), NCOLL_OK);
    assert_true(heap.live > 0);
    ncoll_context_destroy(ctx);
    assert_int_equal(heap.live, 0);
}

/* Whichever request fails: an error, nothing leaks, and what could be made can be used. */
static void test_no_memory(void **state)
{
    struct heap heap = {.live = 0};
    ncoll_context *ctx;
    unsigned n = 1;

    (void)state;
    params.allocate = allocate;
    params.release = release;
    params.allocate_arg = &heap;
    for (int rc = NCOLL_ERR_MEMORY; rc != NCOLL_OK; n++) {
        heap = (struct heap){.fails_at = n};
        if ((rc = live(&ctx)) != NCOLL_OK) {
            assert_int_equal(rc, NCOLL_ERR_MEMORY);
            assert_int_equal(ctx != NULL ? ncoll_last_error(ctx)->status : error.status, rc);
        }
        if (ctx != NULL)
            assert_int_equal(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK), NCOLL_OK);
        ncoll_context_destroy(ctx);
        assert_int_equal(heap.live, 0);
    }
    assert_true(n > 10);
}

/* ------------------------------------------------------------------ clock, log --------------- */

static uint64_t tick(void *arg)
{
    return *(uint64_t *)arg += 1000;
}

static void keep_log(void *arg, ncoll_log_level level, const char *text)
{
    char *kept = arg;

    if (level == NCOLL_LOG_INFO)
        snprintf(kept, sizeof error.text, "%s", text);
}

static void test_clock_and_log_are_the_callers(void **state)
{
    char kept[sizeof error.text] = "";
    uint64_t now_ns = 0;
    ncoll_context *ctx;

    (void)state;
    params.clock_ns = tick;
    params.clock_arg = &now_ns;
    params.log = keep_log;
    params.log_arg = kept;
    params.log_level = NCOLL_LOG_INFO;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    assert_true(now_ns > 0);
    assert_int_equal(ncoll_barrier(ncoll_world(ctx), -1), NCOLL_ERR_ARGUMENT);
    assert_string_equal(kept, ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
}

/* ------------------------------------------------------------------ the environment ---------- */

/* Warnings that say so, of all ranks. */
struct warnings {
    const char *text;
    _Atomic unsigned count;
};

static void count_warnings(void *arg, ncoll_log_level level, const char *text)
{
    struct warnings *warnings = arg;

    warnings->count += level == NCOLL_LOG_WARN && strstr(text, warnings->text) != NULL;
}

static int do_nothing(struct rank *r)
{
    (void)r;
    return 0;
}

static void test_unknown_variables_are_told_once(void **state)
{
    struct warnings *warnings = crew_share(sizeof *warnings);

    (void)state;
    warnings->text = "NCOLL_TUEN is unknown, and ignored; did you mean NCOLL_TUNE?";
    params.bootstrap = NCOLL_BOOTSTRAP_AUTO;
    params.log = count_warnings;
    params.log_arg = warnings;
    setenv("NCOLL_TUEN", "off", 1);
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, do_nothing, NULL), 0);
    unsetenv("NCOLL_TUEN");
    assert_int_equal(warnings->count, 1);
    crew_unshare(warnings, sizeof *warnings);
}

/* Ranks that are numbered, but not told where to meet, are refused; a single one is a job. */
static void test_numbers_without_a_root_are_told(void **state)
{
    struct warnings warnings = {.text = "NCOLL_ROOT is not set: this is a job of 1 rank "};
    ncoll_context *ctx;

    (void)state;
    if (getenv("PMIX_NAMESPACE") != NULL)
        skip();
    params.log = count_warnings;
    params.log_arg = &warnings;
    setenv("NCOLL_RANK", "1", 1);
    setenv("NCOLL_SIZE", "2", 1);
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    ncoll_context_destroy(ctx);
    assert_int_equal(warnings.count, 0); /* it is what was asked for */
    params.bootstrap = NCOLL_BOOTSTRAP_AUTO;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_ERR_BOOTSTRAP);
    assert_int_equal(warnings.count, 0); /* the error says it: test_launchers.c */
    unsetenv("NCOLL_SIZE");
    setenv("NCOLL_RANK", "0", 1); /* alone */
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    ncoll_context_destroy(ctx);
    unsetenv("NCOLL_RANK");
    assert_int_equal(warnings.count, 1);
}

/* ------------------------------------------------------------------ children ----------------- */

/* Rank 0's child runs the exit handlers of a program that destroys what it has. */
static int fork_a_child(struct rank *r)
{
    int status;

    if (r->rank == 0) {
        pid_t child = fork();
        if (child == 0) {
            ncoll_context_destroy(r->ctx);
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
        usleep(50000); /* rank 1 waits, and looks after it */
    }
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_a_child_does_not_leave(void **state)
{
    (void)state;
    params.bootstrap = NCOLL_BOOTSTRAP_AUTO;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, fork_a_child, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sizes_of_params, setup),
        cmocka_unit_test_setup(test_stats, setup),
        cmocka_unit_test_setup(test_texts, setup),
        cmocka_unit_test_setup(test_all_memory_is_the_callers, setup),
        cmocka_unit_test_setup(test_no_memory, setup),
        cmocka_unit_test_setup(test_clock_and_log_are_the_callers, setup),
        cmocka_unit_test_setup(test_a_child_does_not_leave, setup),
        cmocka_unit_test_setup(test_unknown_variables_are_told_once, setup),
        cmocka_unit_test_setup(test_numbers_without_a_root_are_told, setup),
    };

    return cmocka_run_group_tests_name("context", tests, NULL, NULL);
}
