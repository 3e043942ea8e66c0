/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of ncoll_describe(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define RANKS      4
#define ABSENT     3
#define TEXT_BYTES 8192

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

static ncoll_params silent(void)
{
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.log_level = NCOLL_LOG_NONE;
    return params;
}

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        if (strstr(text, part) == NULL)                                                            \
            fprintf(stderr, "no \"%s\" in:\n%s\n", part, text);                                    \
        CHECK(strstr(text, part) != NULL);                                                         \
    } while (0)

static char text[TEXT_BYTES];

static const char *describe(const ncoll_context *ctx)
{
    size_t length = ncoll_describe(ctx, text, sizeof text);

    return length < sizeof text && strlen(text) == length ? text : "a wrong length";
}

/* Buffers of every size: the text is cut, ends with a 0, and nothing behind it is written. */
static int describe_into_little(struct rank *r)
{
    static char whole[TEXT_BYTES], part[TEXT_BYTES + 1];
    size_t length = ncoll_describe(r->ctx, whole, sizeof whole);

    CHECK(length > 100 && length < sizeof whole && whole[length] == '\0');
    CHECK(ncoll_describe(r->ctx, NULL, 0) == length);
    CHECK(ncoll_describe(r->ctx, part, 0) == length);
    for (size_t bytes = 1; bytes <= length + 2; bytes++) {
        memset(part, 7, sizeof part);
        CHECK(ncoll_describe(r->ctx, part, bytes) == length);
        size_t written = bytes <= length ? bytes - 1 : length;
        CHECK(memcmp(part, whole, written) == 0 && part[written] == '\0' && part[bytes] == 7);
    }
    return 0;
}

static int describe_states(struct rank *r)
{
    ncoll_request *request = NULL;
    ncoll_group *group = NULL;
    int64_t in[4] = {1}, out[4];

    CHECK_HAS(describe(r->ctx), "rank ");
    CHECK_HAS(text, "of 4, bootstrap fork, transport shm");
    CHECK_HAS(text, "the job has not failed");
    CHECK_HAS(text, "no unfinished calls");
    CHECK(describe_into_little(r) == 0);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank == 0 ? 1 : 0, 0, &group, NCOLL_BLOCK),
                 NCOLL_OK);
    if (r->rank == ABSENT)
        await_seen(RANKS - 1);
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, 4, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank != ABSENT) {
        do
            CHECK_STATUS(ncoll_barrier(r->world, INT64_C(600000000)), NCOLL_TIMEOUT);
        while (strstr(describe(r->ctx), "rank 3") == NULL);
        atomic_fetch_add(seen, 1);
        CHECK_HAS(text, "world, 4 ranks");
        CHECK_HAS(text, "allreduce of 4 int64, sum (");
        CHECK_HAS(text, "waits for ");
        CHECK_HAS(text, "no progress for ");
        CHECK_HAS(text, "1 groups without unfinished calls");
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK_HAS(describe(r->ctx), "no unfinished calls");
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == ABSENT)
        return 0; /* and destroys its context */
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_PEER);
    CHECK_HAS(describe(r->ctx), "the job has failed: a rank failed or left: rank 3 has left");
    CHECK_HAS(text, "latest error: ncoll: rank ");
    return 0;
}

static void test_each_state_is_described(void **state)
{
    ncoll_params params = silent();

    (void)state;
    assert_int_equal(run(RANKS, &params, describe_states), 0);
}

/* A process that is stopped in the middle of starting a run: the run has its call already, but still
 * the program, the epoch or the next instruction of an earlier one. */
static int describe_amid_a_start(struct rank *r)
{
    struct ncoll_group *g = r->world;
    ncoll_request *request = NULL;
    int64_t in = 1, out;

    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == ABSENT)
        await_seen(RANKS - 1);
    CHECK_STATUS(ncoll_allreduce_start(r->world, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    if (r->rank != ABSENT) {
        struct run *run = run_of(g, g->next_epoch++), before = *run;
        struct program none = {.count = 1};
        run->call = g->first;
        run->epoch = g->next_epoch - 1;
        for (unsigned i = 0; i < 4; i++) {
            run->program = i == 0 ? NULL : i == 1 ? &none : g->first->plan->programs;
            run->next = i == 2 ? UINT32_MAX : 0;
            run->epoch -= i == 3;
            CHECK_HAS(describe(r->ctx), "waits for ");
        }
        *run = before;
        g->next_epoch--;
        atomic_fetch_add(seen, 1);
    }
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK(out == RANKS);
    return 0;
}

static void test_a_run_that_is_being_started_is_left_out(void **state)
{
    ncoll_params params = silent();

    (void)state;
    assert_int_equal(run(RANKS, &params, describe_amid_a_start), 0);
}

static void test_what_is_no_context_is_described(void **state)
{
    static uint64_t none[512];
    char small[4] = "abc";

    (void)state;
    assert_non_null(strstr(describe(NULL), "NULL or not one of this library's"));
    assert_non_null(strstr(describe((ncoll_context *)none), "NULL or not one of this library's"));
    assert_true(ncoll_describe(NULL, small, 2) > 2);
    assert_string_equal(small, "n");
    assert_int_equal(small[2], 'c');
}

/* For a debugger: standard error. */
static void test_the_text_goes_to_standard_error(void **state)
{
    int ends[2], own = dup(STDERR_FILENO);
    ncoll_context *ctx;
    ncoll_params params = silent();
    char printed[TEXT_BYTES] = "";

    (void)state;
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    assert_int_equal(ncoll_context_create(&params, &ctx, NULL), NCOLL_OK);
    assert_int_equal(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    size_t length = ncoll_describe(ctx, NULL, 1);
    dup2(own, STDERR_FILENO);
    close(own);
    assert_int_equal(read(ends[0], printed, sizeof printed), length);
    close(ends[0]);
    close(ends[1]);
    assert_string_equal(printed, describe(ctx));
    ncoll_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_state_is_described),
        cmocka_unit_test(test_a_run_that_is_being_started_is_left_out),
        cmocka_unit_test(test_what_is_no_context_is_described),
        cmocka_unit_test(test_the_text_goes_to_standard_error),
    };

    seen = crew_share(sizeof *seen);
    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
