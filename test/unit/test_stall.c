/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of what a rank says of calls that do not get on, in the log and in the last error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS       4
#define ABSENT      3
#define MS          INT64_C(1000000)
#define WARN_NS     (200 * MS)
#define LINES_BYTES 4096

/* The log of a rank; forked along. */
static struct {
    char text[LINES_BYTES];
    unsigned warnings;
    const char *awaited; /* counted in `seen` when a line has it; NULL: none */
} logged;

/* Shared: how many ranks have seen what the late one waits for. */
static _Atomic int *seen;

/* The late rank waits for it: no time is long enough on a busy machine. */
static void await_seen(int n)
{
    while (atomic_load(seen) < n)
        usleep(1000);
}

static int run(int ranks, const ncoll_params *params, crew_body body)
{
    atomic_store(seen, 0);
    return crew_run(CREW_PROCESSES, ranks, params, 30, body, NULL);
}

static void keep(void *arg, ncoll_log_level level, const char *text)
{
    size_t at = strlen(logged.text);

    (void)arg;
    logged.warnings += level == NCOLL_LOG_WARN;
    snprintf(logged.text + at, sizeof logged.text - at, "%d %s\n", (int)level, text);
    if (logged.awaited != NULL && strstr(text, logged.awaited) != NULL) {
        logged.awaited = NULL;
        atomic_fetch_add(seen, 1);
    }
}

static ncoll_params quick(void)
{
    ncoll_params params;

    memset(&logged, 0, sizeof logged);
    ncoll_params_init(&params, sizeof params);
    params.log = keep;
    params.stall_warn_ns = WARN_NS;
    return params;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fprintf(stderr, "no \"%s\" in:\n%s\n", part, text);                                    \
        CHECK(strstr(text, part) != NULL);                                                         \
    } while (0)

/* ------------------------------------------------------------------ the log ------------------- */

/* Warnings that a rank waits for rank 3: the first after WARN_NS, each further one after at least
 * twice the time of the one before. */
static int check_times(struct rank *r)
{
    double due_s = (double)WARN_NS / 1e9, waited_s;

    for (char *line = strtok(logged.text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *waited = strstr(line, "has waited ");
        if (waited == NULL || strstr(line, "rank 3, which does not answer") == NULL)
            continue;
        CHECK(sscanf(waited, "has waited %lf", &waited_s) == 1);
        CHECK(waited_s > due_s - 0.11); /* both are cut to 0.1 */
        due_s = 2 * waited_s;
    }
    return 0;
}

/* Forked along: rank 2 comes when the others have waited for long. */
static bool asks_late;

/* Rank 3 comes late to a barrier, for which ranks 0 and 1 wait for it, and rank 2 for rank 0. Those
 * that wait for it directly warn, the longer they wait the more seldom. The other one knows soon that
 * rank 0 does that, and for whom that waits. If rank 2 asks rank 0 late, rank 0 cannot pass the
 * question on: rank 3 has not read rank 0's own yet. */
static int be_late(struct rank *r)
{
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    logged.text[0] = '\0';
    logged.awaited =
        r->rank == 2 ? "of rank 0, which waits for rank 3" : "rank 3, which does not answer";
    if (r->rank == ABSENT)
        await_seen(RANKS - 1);
    if (r->rank == 2 && asks_late)
        await_seen(2);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == ABSENT)
        return 0;
    CHECK_HAS(logged.text, "2 ncoll: rank ");
    CHECK_HAS(logged.text, "barrier (dissemination, n = 1), on all 4 ranks, has waited ");
    if (r->rank == 2)
        CHECK_HAS(logged.text, "3 ncoll: rank 2: ");
    else
        CHECK_HAS(logged.text, "of rank 3");
    return r->rank == 2 ? 0 : check_times(r);
}

static void test_a_late_rank_is_named(void **state)
{
    ncoll_params params = quick();

    (void)state;
    params.barrier_algorithm = "dissemination";
    params.radix = 1;
    params.log_level = NCOLL_LOG_INFO;
    for (int late = 0; late < 2; late++) {
        asks_late = late != 0;
        assert_int_equal(run(RANKS, &params, be_late), 0);
    }
}

/* A rank that tests again and again says it, too. */
static int test_repeatedly(struct rank *r)
{
    int rc;

    logged.awaited = "has waited";
    if (r->rank == ABSENT)
        await_seen(RANKS - 1);
    while ((rc = ncoll_barrier(r->world, r->rank % 2 == 0 ? NCOLL_TEST : MS)) == NCOLL_TIMEOUT)
        usleep(1000);
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(r->rank == ABSENT || logged.warnings >= 1);
    CHECK(ncoll_last_error(r->ctx)->status == NCOLL_OK);
    return 0;
}

static void test_a_late_rank_is_named_by_those_that_test(void **state)
{
    ncoll_params params = quick();

    (void)state;
    assert_int_equal(run(RANKS, &params, test_repeatedly), 0);
}

static int be_late_unnoticed(struct rank *r)
{
    if (r->rank == ABSENT)
        usleep(WARN_NS * 5 / 2 / 1000);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK(logged.text[0] == '\0');
    return 0;
}

/* By 0 it is turned off, and none of it is logged with the log off. */
static void test_nothing_is_said(void **state)
{
    ncoll_params params = quick();

    (void)state;
    params.stall_warn_ns = 0;
    assert_int_equal(run(RANKS, &params, be_late_unnoticed), 0);
    params.stall_warn_ns = WARN_NS;
    setenv("NCOLL_LOG", "none", 1);
    assert_int_equal(run(RANKS, &params, be_late_unnoticed), 0);
    unsetenv("NCOLL_LOG");
}

/* Each call that gets on starts the clock anew: only one that is too long itself may be logged. */
static int get_on(struct rank *r)
{
    uint64_t longest_ns = 0;

    for (int i = 0; i < 10; i++) {
        if (r->rank == ABSENT)
            usleep(50000);
        uint64_t start_ns = crew_now_ns();
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        uint64_t took_ns = crew_now_ns() - start_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
    }
    CHECK(logged.text[0] == '\0' || longest_ns >= 400 * MS);
    return 0;
}

static void test_calls_that_get_on_are_not_stalled(void **state)
{
    ncoll_params params = quick();

    (void)state;
    params.stall_warn_ns = 400 * MS; /* longer than any, shorter than all */
    assert_int_equal(run(RANKS, &params, get_on), 0);
}

/* ------------------------------------------------------------------ creation ------------------ */

static int come_late(const ncoll_params *given, void *arg)
{
    ncoll_params params = *given;
    ncoll_context *ctx;

    (void)arg;
    memset(&logged, 0, sizeof logged);
    hang_after(20);
    params.log = keep;
    params.stall_warn_ns = WARN_NS;
    logged.awaited = given->rank == 0 ? "rank 1 and 1 more did not come within " : NULL;
    if (given->rank == 1 || given->rank == 3)
        await_seen(1);
    if (ncoll_context_create(&params, &ctx, NULL) != NCOLL_OK)
        return 1;
    bool said = strstr(logged.text, "rank 1 and 1 more did not come within ") != NULL;
    ncoll_context_destroy(ctx);
    if (said == (given->rank == 0))
        return 0;
    fprintf(stderr, "rank %d: %s\n", given->rank, logged.text);
    return 1;
}

/* The ranks that have not come are named, by the lowest that has. */
static void test_ranks_that_have_not_come_are_named(void **state)
{
    (void)state;
    atomic_store(seen, 0);
    assert_int_equal(ncoll_fork_ranks(RANKS, NULL, come_late, NULL, NULL), NCOLL_OK);
}

/* ------------------------------------------------------------------ the last error ------------ */

static int time_out(struct rank *r)
{
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == ABSENT)
        await_seen(RANKS - 1);
    else {
        const ncoll_error *e = ncoll_last_error(r->ctx);
        CHECK_STATUS(ncoll_barrier(r->world, 100 * MS), NCOLL_TIMEOUT);
        CHECK(e->status == NCOLL_OK);
        do { /* until the ranks between have told it for whom they wait */
            CHECK_STATUS(ncoll_barrier(r->world, 1000 * MS), NCOLL_TIMEOUT);
            e = ncoll_last_error(r->ctx);
        } while (strstr(e->cause, "rank 3") == NULL);
        atomic_fetch_add(seen, 1);
        CHECK(e->status == NCOLL_TIMEOUT && e->rank == r->rank && e->peer >= 0);
        CHECK_HAS(e->cause, "barrier");
        CHECK_HAS(e->text, "ncoll_describe()");
        const char *again = strstr(e->text, "call again");
        CHECK(again != NULL && strstr(again + 1, "call again") == NULL);
        CHECK(logged.warnings == 0);
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_a_long_time_out_names_the_rank(void **state)
{
    ncoll_params params = quick();

    (void)state;
    params.stall_warn_ns = 100000 * MS;
    assert_int_equal(run(RANKS, &params, time_out), 0);
}

/* Requests and calls on groups are told of in the same way. */
static int time_out_otherwise(struct rank *r)
{
    ncoll_request *request = NULL;
    ncoll_group *group = NULL;
    int64_t in = 1, out = 0;

    if (r->rank == 1)
        await_seen(1);
    CHECK_STATUS(ncoll_allreduce_start(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_wait(&request, 1000 * MS), NCOLL_TIMEOUT);
        atomic_store(seen, 1);
        const ncoll_error *e = ncoll_last_error(r->ctx);
        CHECK(e->status == NCOLL_TIMEOUT && e->peer == 1);
        CHECK_HAS(e->cause, "allreduce of 1 int64, sum");
        CHECK_HAS(e->cause, "rank 1, which does not answer");
    }
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1)
        await_seen(2);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_group_dup(r->world, &group, 1000 * MS), NCOLL_TIMEOUT);
        atomic_store(seen, 2);
        CHECK_HAS(ncoll_last_error(r->ctx)->cause, "group_dup");
        CHECK(ncoll_last_error(r->ctx)->peer == 1);
    }
    CHECK_STATUS(ncoll_group_dup(r->world, &group, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_free(&group, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_requests_and_groups_name_the_rank(void **state)
{
    (void)state;
    assert_int_equal(run(2, NULL, time_out_otherwise), 0);
}

/* ------------------------------------------------------------------ levels of the log --------- */

static void create_with(ncoll_log_level level)
{
    ncoll_params params = quick();
    int64_t in = 1, out;
    ncoll_context *ctx;

    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    params.log_level = level;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    assert_int_equal(
        ncoll_allreduce(ncoll_world(ctx), &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
        NCOLL_OK);
    ncoll_context_destroy(ctx);
}

static void test_levels_of_the_log(void **state)
{
    (void)state;
    for (ncoll_log_level level = NCOLL_LOG_NONE; level <= NCOLL_LOG_WARN; level++) {
        create_with(level);
        assert_string_equal(logged.text, "");
    }
    create_with(NCOLL_LOG_INFO);
    assert_non_null(strstr(logged.text, "3 ncoll: rank 0: ncoll "));
    assert_non_null(strstr(logged.text, ": 1 rank on 1 node, bootstrap self, transport shm"));
    assert_non_null(strstr(logged.text, "tuning table: 0 entries for this machine; rules: 0"));
    assert_non_null(strstr(logged.text, "device: none"));
    assert_null(strstr(logged.text, "plan:"));
    create_with(NCOLL_LOG_DEBUG);
    assert_non_null(strstr(logged.text, "4 ncoll: rank 0: plan: allreduce of 1 int64, sum ("));
    assert_non_null(strstr(logged.text, "chosen by "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_late_rank_is_named),
        cmocka_unit_test(test_a_late_rank_is_named_by_those_that_test),
        cmocka_unit_test(test_nothing_is_said),
        cmocka_unit_test(test_calls_that_get_on_are_not_stalled),
        cmocka_unit_test(test_ranks_that_have_not_come_are_named),
        cmocka_unit_test(test_a_long_time_out_names_the_rank),
        cmocka_unit_test(test_requests_and_groups_name_the_rank),
        cmocka_unit_test(test_levels_of_the_log),
    };

    seen = crew_share(sizeof *seen);
    return cmocka_run_group_tests_name("stall", tests, NULL, NULL);
}
