/* SPDX-License-Identifier: BSD-3-Clause */
/* Single copies (NCOLL_SINGLE_COPY): time-outs, failures, groups in another order. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/run/call.h"
#include "test/unit/single_copy_ranks.h"

/* ------------------------------------------------------------------ time-outs, failures ------- */

struct stage {
    _Atomic int turn;
};

/* The call of the sender stays pending until the receiver has got the message. */
static int time_out(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    fill(vector, FEW, r->rank, 1);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, 1000000), NCOLL_TIMEOUT);
        stage->turn = 1;
    }
    while (stage->turn == 0)
        sched_yield();
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK(is_filled(vector, FEW, 0, 1));
    free(vector);
    return 0;
}

static void a_time_out_changes_nothing(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, time_out, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* After a first call, which connects ranks, the root of the next one has put its vector, which the
 * others may get. */
static int put_single_copy(struct rank *r, int64_t *vector, ncoll_request **request)
{
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_bcast_start(r->world, vector, FEW, NCOLL_INT64, 0, request), NCOLL_OK);
        CHECK_STATUS(ncoll_test(request), NCOLL_TIMEOUT);
    }
    return 0;
}

/* Rank 0 ends when it has put a single copy, or rank 1 when it has one to get; which the
 * survivor is told, by the process's end or by what it cannot read any more. */
static int end_early(struct rank *r)
{
    struct stage *stage = r->shared;
    int victim = stage->turn >= 10;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL && put_single_copy(r, vector, &request) == 0);
    if (r->rank == 0)
        stage->turn = 10 * victim + 1;
    while (stage->turn % 10 == 0)
        sched_yield();
    if (r->rank == victim)
        _exit(0);
    usleep(20000);
    int rc = r->rank == 0 ? ncoll_wait(&request, LIMIT_NS)
                          : ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
    CHECK_STATUS(rc, NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == victim);
    free(vector);
    return 0;
}

static void who_ends_is_blamed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = with_single_copies();

    (void)state;
    for (int victim = 0; victim < 2; victim++) {
        stage->turn = 10 * victim;
        assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, end_early, stage), 0);
    }
    crew_unshare(stage, sizeof *stage);
}

/* Rank 0 gives up, and has its memory back, before rank 1 gets the message. */
static int give_up(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL && put_single_copy(r, vector, &request) == 0);
    if (r->rank == 0) {
        ncoll__fail(r->ctx, NCOLL_ERR_SYSTEM, -1, NULL, "this rank gives up, for a test");
        CHECK_STATUS(ncoll__calls_broke(r->world, NCOLL_ERR_SYSTEM), NCOLL_ERR_SYSTEM);
        memset(vector, 0xee, BYTES);
        stage->turn = 1;
        free(vector);
        return 0;
    }
    while (stage->turn == 0)
        sched_yield();
    int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
    CHECK(rc != NCOLL_OK && rc != NCOLL_TIMEOUT);
    free(vector);
    return 0;
}

static void what_is_taken_back_is_noticed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, give_up, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* Rank 0 gives up while rank 1, a thread of the same process, is copying: rank 1 comes to a page
 * that it may not read, which rank 0 writes to and lets it read when it has its memory back. */
static _Atomic int caught;

static void on_fault(int signal)
{
    (void)signal;
    caught = 2;
    while (caught == 2)
        sched_yield();
}

static int give_up_at_the_worst_time(struct rank *r)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = FEW * sizeof(int64_t);
    int64_t *vector = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *last = (unsigned char *)vector + bytes - page;
    ncoll_request *request;

    CHECK(vector != MAP_FAILED && put_single_copy(r, vector, &request) == 0);
    if (r->rank == 0) {
        CHECK(mprotect(last, page, PROT_NONE) == 0);
        caught = 1;
        while (caught == 1)
            sched_yield();
        ncoll__fail(r->ctx, NCOLL_ERR_SYSTEM, -1, NULL, "this rank gives up, for a test");
        CHECK_STATUS(ncoll__calls_broke(r->world, NCOLL_ERR_SYSTEM), NCOLL_ERR_SYSTEM);
        CHECK(mprotect(last, page, PROT_READ | PROT_WRITE) == 0);
        memset(last, 0xee, page);
        caught = 3;
    } else {
        while (caught == 0)
            sched_yield();
        int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
        CHECK(caught == 3 && vector[FEW - 1] == (int64_t)0xeeeeeeeeeeeeeeee);
        CHECK(rc != NCOLL_OK && rc != NCOLL_TIMEOUT);
    }
    return 0;
}

static void what_is_taken_back_is_noticed_later_on(void **state)
{
    struct sigaction before, action = {.sa_handler = on_fault};
    ncoll_params params = with_single_copies();

    (void)state;
    caught = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(crew_run(CREW_THREADS, 2, &params, 30, give_up_at_the_worst_time, NULL), 0);
    sigaction(SIGSEGV, &before, NULL);
}

/* Rank 0 leaves with a call unfinished, and has its memory back, before rank 1 gets the message. */
static int leave(struct rank *r)
{
    struct stage *stage = r->shared;
    int64_t *vector = malloc(BYTES);
    ncoll_request *request;

    CHECK(vector != NULL && put_single_copy(r, vector, &request) == 0);
    if (r->rank == 0) {
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        memset(vector, 0xee, BYTES);
        stage->turn = 1;
        while (stage->turn == 1)
            sched_yield();
    } else {
        while (stage->turn == 0)
            sched_yield();
        int rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, LIMIT_NS);
        stage->turn = 2;
        CHECK_STATUS(rc, NCOLL_ERR_PEER);
        CHECK(ncoll_last_error(r->ctx)->peer == 0);
    }
    free(vector);
    return 0;
}

static void who_leaves_too_early_is_blamed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);
    ncoll_params params = with_single_copies();

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, &params, 30, leave, stage), 0);
    stage->turn = 0;
    assert_int_equal(crew_run(CREW_THREADS, 2, &params, 30, leave, stage), 0);
    crew_unshare(stage, sizeof *stage);
}

/* ------------------------------------------------------------------ groups in another order --- */

/* Rank 0 waits until the others get its message; they wait for it in another group. */
static int get_too_late(struct rank *r)
{
    int64_t *vector = calloc(FEW, sizeof *vector);
    ncoll_group *other;
    int rc = NCOLL_OK;

    CHECK(vector != NULL);
    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank > 0)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_bcast(r->world, vector, FEW, NCOLL_INT64, 0, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    free(vector);
    return 0;
}

/* Rank 0 waits for rank 1 to get a message, which is in that call, and waits for rank 2 before;
 * which waits for rank 0 in another group. */
static int get_what_comes_first(struct rank *r)
{
    int64_t *vectors = calloc((size_t)r->ranks * FEW, sizeof *vectors);
    ncoll_group *other;
    int rc = NCOLL_OK;

    CHECK(vectors != NULL);
    CHECK_STATUS(
        ncoll_group_split(r->world, r->rank != 1 ? 0 : NCOLL_NO_GROUP, 0, &other, NCOLL_BLOCK),
        NCOLL_OK);
    int64_t *out = r->rank == 1 ? vectors : NULL;
    CHECK_STATUS(ncoll_gather(r->world, vectors + FEW, out, FEW, NCOLL_INT64, 1, NCOLL_BLOCK),
                 NCOLL_OK);
    if (r->rank == 2)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_gather(r->world, vectors + FEW, out, FEW, NCOLL_INT64, 1, NCOLL_BLOCK);
    if (rc == NCOLL_OK && r->rank == 0)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    free(vectors);
    return 0;
}

static void a_late_get_is_told(void **state)
{
    ncoll_params params = with_single_copies();

    (void)state;
    for (int ranks = 2; ranks <= RANKS; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 30, get_too_late, NULL), 0);
    params.gather_algorithm = "flat";
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, get_what_comes_first, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_time_out_changes_nothing),
        cmocka_unit_test(who_ends_is_blamed),
        cmocka_unit_test(what_is_taken_back_is_noticed),
        cmocka_unit_test(what_is_taken_back_is_noticed_later_on),
        cmocka_unit_test(who_leaves_too_early_is_blamed),
        cmocka_unit_test(a_late_get_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
