/* SPDX-License-Identifier: BSD-3-Clause */
/* Traces of real runs (NCOLL_TRACE), and the merging of them: clocks, lanes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "tools/explain/trace_file.h"
#include "tools/timeline/chrome.h"
#include "tools/timeline/clocks.h"

#define CALLS   50
#define FEW     16 /* events of a small ring */
#define LIMIT_S 60

/* ------------------------------------------------------------------ traces -------------------- */

static char folder[64], files[2][96];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/ncoll-trace-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    for (int r = 0; r < 2; r++)
        snprintf(files[r], sizeof files[r], "%s/trace.%d", folder, r);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int r = 0; r < 2; r++)
        if (unlink(files[r]) != 0 && errno != ENOENT)
            return -1;
    return rmdir(folder);
}

static int add_up(struct rank *r)
{
    for (int i = 0; i < CALLS; i++) {
        int64_t one = 1, sum = 0;
        CHECK_STATUS(ncoll_allreduce(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        CHECK(sum == 2);
    }
    return 0;
}

/* Two processes that meet over shared memory. */
static void run_traced(int events, struct trace_file out[2])
{
    char path[96];
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    snprintf(path, sizeof path, "%s/trace", folder);
    params.trace = path;
    params.transport = "shm";
    if (events > 0)
        params.trace_events = events;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, LIMIT_S, add_up, NULL), 0);
    for (int r = 0; r < 2; r++) {
        trace_file_read(files[r], &out[r]);
        assert_int_equal(out[r].rank, r);
        assert_int_equal(out[r].ranks, 2);
    }
    assert_int_equal(out[0].clock, out[1].clock);
}

static unsigned count_kind(const struct trace_file *file, const char *kind)
{
    unsigned n = 0;

    for (size_t i = 0; i < file->n_lines; i++)
        n += strcmp(file->lines[i].kind, kind) == 0;
    return n;
}

static const struct trace_line *find_arrival(const struct trace_file *file,
                                             const struct trace_line *put)
{
    for (size_t i = 0; i < file->n_lines; i++) {
        const struct trace_line *l = &file->lines[i];
        if (strcmp(l->kind, "wait") == 0 && l->group == put->group && l->epoch == put->epoch &&
            l->slot == put->slot)
            return l;
    }
    return NULL;
}

static void test_puts_arrive(void **state)
{
    struct trace_file traces[2];

    (void)state;
    run_traced(0, traces);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(count_kind(&traces[r], "call"), CALLS);
        assert_true(count_kind(&traces[r], "own") > 0); /* the first barrier */
        assert_true(count_kind(&traces[r], "put") > CALLS);
        assert_int_equal(traces[r].lost, 0);
        for (size_t i = 0; i < traces[r].n_lines; i++) {
            const struct trace_line *put = &traces[r].lines[i];
            if (strcmp(put->kind, "put") != 0)
                continue;
            assert_int_equal(put->peer, 1 - r);
            const struct trace_line *arrival = find_arrival(&traces[1 - r], put);
            assert_non_null(arrival);
            assert_int_equal(arrival->peer, r);
            assert_int_equal(arrival->bytes, put->bytes);
            assert_true(arrival->end_ns >= put->begin_ns);
        }
    }
}

static void test_calls_are_named(void **state)
{
    struct trace_file traces[2];
    uint64_t number = 0;

    (void)state;
    run_traced(0, traces);
    for (size_t i = 0; i < traces[0].n_lines; i++) {
        const struct trace_line *call = &traces[0].lines[i];
        if (strcmp(call->kind, "call") != 0)
            continue;
        assert_string_equal(call->collective, "allreduce");
        assert_int_equal(call->bytes, 8);
        assert_int_equal(call->status, NCOLL_OK);
        assert_true(call->number > number);
        number = call->number;
    }
    assert_int_equal(number, CALLS); /* the first barrier is number 0 */
}

/* A small ring has the end of what a large one has. */
static void test_latest_are_kept(void **state)
{
    struct trace_file all[2], few[2];

    (void)state;
    run_traced(0, all);
    run_traced(FEW, few);
    for (int r = 0; r < 2; r++) {
        assert_int_equal(few[r].n_lines, FEW);
        assert_true(few[r].lost > 0);
        const struct trace_line *last = &few[r].lines[FEW - 1];
        assert_string_equal(last->kind, "call");
        assert_int_equal(last->number, CALLS);
        for (size_t i = 1; i < FEW; i++)
            assert_true(few[r].lines[i].end_ns >= few[r].lines[i - 1].end_ns);
    }
}

/* ------------------------------------------------------------------ failures ------------------ */

static unsigned warnings;

static void count_warnings(void *arg, ncoll_log_level level, const char *text)
{
    (void)arg;
    if (level == NCOLL_LOG_WARN && strstr(text, "the trace cannot be written to ") != NULL)
        warnings++;
}

static void expect_warning(const char *trace)
{
    ncoll_params params;
    ncoll_context *ctx;

    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.trace = trace;
    params.log = count_warnings;
    warnings = 0;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    assert_int_equal(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK), NCOLL_OK);
    ncoll_context_destroy(ctx);
    assert_int_equal(warnings, 1);
}

/* In no folder; and in a pipe that nobody reads. */
static void test_unwritable_warns(void **state)
{
    char path[96];

    (void)state;
    expect_warning("/dev/null/trace");
    assert_int_equal(mkfifo(files[0], 0600), 0);
    snprintf(path, sizeof path, "%s/trace", folder);
    expect_warning(path);
}

/* ------------------------------------------------------------------ clocks -------------------- */

/* Messages between ranks with these clocks, in both directions; the fastest take 1000 ns. */
static void test_planted_offsets(void **state)
{
    static const int64_t planted[] = {0, 123456789, -5000000000, 77};
    struct clock_message messages[400];
    struct clock_offset found[4];
    uint64_t seed = 20261123;
    size_t n = 0;

    (void)state;
    while (n < sizeof messages / sizeof messages[0]) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        unsigned from = (unsigned)(seed >> 60) % 4, to = (unsigned)(seed >> 50) % 4;
        /* 0 and 2 never exchange messages: their offset goes over others */
        if (from == to || from + to == 2)
            continue;
        int64_t took = 1000 + (n % 5 == 0 ? 0 : (int64_t)(seed >> 40) % 50000);
        messages[n++] = (struct clock_message){from, to, took + planted[to] - planted[from]};
    }
    assert_true(clocks_estimate(messages, n, 4, found));
    for (unsigned i = 0; i < 4; i++) {
        assert_true(found[i].error_ns >= 0 && found[i].error_ns <= 20000);
        assert_true(llabs(found[i].offset_ns - planted[i]) <= found[i].error_ns);
    }
}

static void test_one_direction(void **state)
{
    const struct clock_message messages[] = {{0, 1, 700}, {0, 1, 500}, {0, 1, 900}};
    struct clock_offset found[3];

    (void)state;
    assert_true(clocks_estimate(messages, 3, 3, found));
    assert_int_equal(found[1].offset_ns, 500);
    assert_int_equal(found[1].error_ns, -1);
    assert_int_equal(found[2].offset_ns, 0);
    assert_int_equal(found[2].error_ns, -1);
}

/* ------------------------------------------------------------------ lanes --------------------- */

static void test_lanes(void **state)
{
    struct lanes lanes = {0};

    (void)state;
    assert_int_equal(lanes_take(&lanes, 0, 100), 0);
    assert_int_equal(lanes_take(&lanes, 10, 20), 0);  /* inside */
    assert_int_equal(lanes_take(&lanes, 20, 40), 0);  /* after it */
    assert_int_equal(lanes_take(&lanes, 50, 150), 1); /* ends later than the first */
    assert_int_equal(lanes_take(&lanes, 60, 100), 0);
    assert_int_equal(lanes_take(&lanes, 100, 200), 0);
    assert_int_equal(lanes_take(&lanes, 120, 300), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_puts_arrive, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_calls_are_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_latest_are_kept, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_unwritable_warns, make_folder, remove_folder),
        cmocka_unit_test(test_planted_offsets),
        cmocka_unit_test(test_one_direction),
        cmocka_unit_test(test_lanes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
