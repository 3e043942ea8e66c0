/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that ranks of a node read at their sender. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/run/call.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))
#define COUNT    ((size_t)1 << 16) /* of int64: several segments */
#define BYTES    (COUNT * sizeof(int64_t))

static uint64_t shown_bytes(const struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.shown_bytes : UINT64_MAX;
}

static int64_t value(int rank, int round, size_t i)
{
    return (int64_t)(i * 7919 + (size_t)round * 104729 + (size_t)rank);
}

static void fill(const struct rank *r, int64_t *vector, int round)
{
    for (size_t i = 0; i < COUNT; i++)
        vector[i] = value(r->rank, round, i);
}

static bool is_sum(const struct rank *r, const int64_t *vector, int round)
{
    for (size_t i = 0; i < COUNT; i++)
        if (vector[i] != r->ranks * value(0, round, i) + r->ranks * (r->ranks - 1) / 2)
            return false;
    return true;
}

static int allreduce(struct rank *r, int64_t *in, int64_t *out, int round)
{
    fill(r, in, round);
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    /* IN is the user's again: nobody reads it any more. */
    if (in != out)
        memset(in, 0xee, BYTES);
    CHECK(is_sum(r, out, round));
    return 0;
}

/* ------------------------------------------------------------------ from scratch -------------- */

#define ROUNDS (4 * (int)EPOCHS)

/* The root runs ahead of ranks that take their time, as far as it may. */
static int bcast_to_slow_ranks(struct rank *r)
{
    int64_t *vector = malloc(BYTES);

    CHECK(vector != NULL);
    for (int round = 0; round < ROUNDS; round++) {
        int root = round / 12 % r->ranks;
        if (r->rank == root)
            fill(r, vector, round);
        else if (round % 3 == 0)
            usleep(2000);
        CHECK_STATUS(ncoll_bcast(r->world, vector, COUNT, NCOLL_INT64, root, LIMIT_NS), NCOLL_OK);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(vector[i] == value(root, round, i));
    }
    CHECK(shown_bytes(r) >= (uint64_t)(r->ranks - 1) * BYTES);
    free(vector);
    return 0;
}

static void scratch_stays_until_it_has_been_read(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 60, bcast_to_slow_ranks, NULL), 0);
    assert_int_equal(crew_run(CREW_THREADS, 3, NULL, 60, bcast_to_slow_ranks, NULL), 0);
}

/* The root's context is gone when the others read; of a group, whose window shares a segment. */
static int leave_early(struct rank *r)
{
    _Atomic int *left = r->shared;
    int64_t *vector = malloc(BYTES);
    ncoll_group *group[2];

    CHECK(vector != NULL);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(ncoll_group_split(r->world, 0, r->rank, &group[i], LIMIT_NS), NCOLL_OK);
    for (int i = 0; i < 2; i++) /* connects the ranks */
        CHECK_STATUS(ncoll_bcast(group[i], vector, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    fill(r, vector, 1);
    while (r->rank > 0 && *left == 0)
        sched_yield();
    CHECK_STATUS(ncoll_bcast(group[0], vector, 4096, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    if (r->rank == 0) {
        ncoll_context_destroy(r->ctx);
        r->ctx = NULL;
        *left = 1;
    }
    for (size_t i = 0; i < 4096; i++)
        CHECK(vector[i] == value(0, 1, i));
    free(vector);
    return 0;
}

static void scratch_outlives_its_rank(void **state)
{
    int *left = crew_share(sizeof *left);

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 30, leave_early, left), 0);
    *left = 0;
    assert_int_equal(crew_run(CREW_THREADS, 3, NULL, 30, leave_early, left), 0);
    crew_unshare(left, sizeof *left);
}

/* All ranks read each other's data, whatever would be chosen where they share cores. */
static const ncoll_params *by_slices(void)
{
    static ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.allreduce_algorithm = "direct-slices";
    return &params;
}

/* ------------------------------------------------------------------ from IN ------------------- */

/* Rank 0's memory is known to nobody, if so wished. */
struct wish {
    bool other_memory, in_place;
};

static int reduce_in_known_memory(struct rank *r)
{
    const struct wish *wish = r->shared;
    bool known = !wish->other_memory || r->rank > 0;
    void *memory[2] = {malloc(BYTES), malloc(BYTES)};

    CHECK(memory[0] != NULL && memory[1] != NULL);
    CHECK(allreduce(r, memory[0], memory[1], 0) == 0);
    for (int i = 0; i < 2 && known; i++) {
        free(memory[i]);
        CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &memory[i]), NCOLL_OK);
    }
    uint64_t before = shown_bytes(r);
    CHECK(allreduce(r, memory[0], memory[wish->in_place ? 0 : 1], 1) == 0);
    /* Others read what they combine in IN, and the result, for all of more than one, in scratch. */
    size_t slices = (size_t)(r->ranks - 1) * BYTES / (size_t)r->ranks, slack = 8 * 64;
    uint64_t shown = shown_bytes(r) - before,
             expected = (known ? slices : 0) + (r->ranks > 2 ? slices : 0);
    CHECK(shown + slack >= expected && shown <= expected + slack);
    for (int round = 2; round < 20; round++)
        CHECK(allreduce(r, memory[0], memory[wish->in_place ? 0 : 1], round) == 0);
    for (int i = 0; i < 2; i++)
        if (known)
            CHECK_STATUS(ncoll_free(r->ctx, memory[i]), NCOLL_OK);
        else
            free(memory[i]);
    return 0;
}

static void allocated_memory_is_read_where_it_is(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 3; ranks++)
        for (int kind = 0; kind < 4; kind++) {
            struct wish wish = {kind & 1, kind & 2};
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, ranks > 2 ? by_slices() : NULL, 60,
                                      reduce_in_known_memory, &wish),
                             0);
            assert_int_equal(crew_run(CREW_THREADS, ranks, ranks > 2 ? by_slices() : NULL, 60,
                                      reduce_in_known_memory, &wish),
                             0);
        }
}

static int come_and_go(struct rank *r)
{
    for (int round = 0; round < 30; round++) {
        void *in, *out;
        CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &in), NCOLL_OK);
        CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &out), NCOLL_OK);
        CHECK(allreduce(r, in, out, round) == 0);
        CHECK_STATUS(ncoll_free(r->ctx, in), NCOLL_OK);
        CHECK_STATUS(ncoll_free(r->ctx, out), NCOLL_OK);
    }
    return 0;
}

static void freed_memory_is_read_no_more(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, come_and_go, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, 3, by_slices(), 60, come_and_go, NULL), 0);
}

/* A call that has timed out is still pending: what it shows stays. */
static int time_out(struct rank *r)
{
    _Atomic int *timed_out = r->shared;
    int64_t *in, *out;
    int rc = NCOLL_OK;

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&in), NCOLL_OK);
    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&out), NCOLL_OK);
    CHECK(allreduce(r, in, out, 0) == 0); /* connects the ranks */
    fill(r, in, 1);
    if (r->rank == 0) {
        rc = ncoll_allreduce(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, 1000000);
        CHECK_STATUS(rc, NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_free(r->ctx, in), NCOLL_ERR_BUSY);
        *timed_out = 1;
    }
    while (*timed_out == 0)
        sched_yield();
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    CHECK(is_sum(r, out, 1));
    return 0;
}

static void a_time_out_changes_nothing(void **state)
{
    int *timed_out = crew_share(sizeof *timed_out);

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, time_out, timed_out), 0);
    crew_unshare(timed_out, sizeof *timed_out);
}

/* ------------------------------------------------------------------ what cannot be mapped ----- */

#define FILES_MAX 4096

/* Takes all descriptors that this process may have, and gives them back. */
static int take_files(int *files)
{
    const struct rlimit few = {FILES_MAX, FILES_MAX};
    int n = 0;

    setrlimit(RLIMIT_NOFILE, &few);
    while (n < FILES_MAX && (files[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    return n;
}

static void give_files_back(const int *files, int n)
{
    while (n-- > 0)
        close(files[n]);
}

/* Takes all mappings: every page is one of its own. NULL: there may be too many. */
static char *take_mappings(size_t *pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
    bool known = file != NULL && fscanf(file, "%zu", pages) == 1 && *pages <= 1u << 20;

    if (file != NULL)
        fclose(file);
    char *all = known ? mmap(NULL, *pages * page, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                      : MAP_FAILED;
    if (all == MAP_FAILED)
        return NULL;
    for (size_t i = 1; i < *pages; i += 2)
        if (mprotect(all + i * page, page, PROT_READ) != 0)
            break;
    return all;
}

static int reduce_unmapped(struct rank *r)
{
    bool lacks_files = *(bool *)r->shared;
    int64_t *in, *out, *other = malloc(BYTES);
    static int files[FILES_MAX];
    size_t pages = 0;
    char *mappings = NULL;
    int n = 0;

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&in), NCOLL_OK);
    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&out), NCOLL_OK);
    CHECK(other != NULL && allreduce(r, other, other, 0) == 0); /* connects the ranks */
    uint64_t before = shown_bytes(r);
    if (lacks_files)
        n = take_files(files);
    else if ((mappings = take_mappings(&pages)) == NULL)
        return 0;
    CHECK(!lacks_files || (n > 0 && dup(0) < 0));
    for (int round = 1; round < 20; round++)
        CHECK(allreduce(r, in, out, round) == 0);
    CHECK(shown_bytes(r) > before);
    give_files_back(files, n);
    if (mappings != NULL)
        munmap(mappings, pages * (size_t)sysconf(_SC_PAGESIZE));
    for (int round = 20; round < 25; round++)
        CHECK(allreduce(r, in, out, round) == 0);
    free(other);
    return 0;
}

static void what_cannot_be_mapped_is_copied(void **state)
{
    bool lacks_files = true;

    (void)state;
    for (int ranks = 2; ranks <= 3; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, ranks > 2 ? by_slices() : NULL, 60,
                                  reduce_unmapped, &lacks_files),
                         0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which need mappings, too */
    lacks_files = false;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, by_slices(), 60, reduce_unmapped, &lacks_files),
                     0);
#endif
}

/* ------------------------------------------------------------------ failures ------------------ */

#define FEW 4096 /* elements: one segment */

struct stage {
    _Atomic int turn;
    bool leaves;
};

/* Rank 0 gives up, or leaves, when all that it had to put has been put, and takes its memory back,
 * before rank 1 reads there. Rank 1 has all it needs to end its call, but what it has read was not
 * sent. */
static int give_up(struct rank *r)
{
    struct stage *stage = r->shared;
    _Atomic int *turn = &stage->turn;
    ncoll_request *request;
    int64_t *in, *out;
    int rc;

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&in), NCOLL_OK);
    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&out), NCOLL_OK);
    CHECK(allreduce(r, in, out, 0) == 0); /* connects the ranks */
    CHECK_STATUS(ncoll_allreduce(r->world, in, out, FEW, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    fill(r, in, 1);
    while (*turn != 1 - r->rank)
        sched_yield();
    CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, FEW, NCOLL_INT64, NCOLL_SUM, &request),
                 NCOLL_OK);
    *turn = 2 - r->rank;
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        if (stage->leaves) {
            ncoll_context_destroy(r->ctx);
            r->ctx = NULL;
        } else {
            ncoll__fail(r->ctx, NCOLL_ERR_SYSTEM, -1, NULL, "this rank gives up, for a test");
            CHECK_STATUS(ncoll__calls_broke(r->world, NCOLL_ERR_SYSTEM), NCOLL_ERR_SYSTEM);
            memset(in, 0xee, BYTES);
        }
        *turn = 3;
        return 0;
    }
    while (*turn != 3)
        sched_yield();
    rc = ncoll_wait(&request, LIMIT_NS);
    bool right = true;
    for (size_t i = 0; i < FEW; i++)
        right &= out[i] == 2 * value(0, 1, i) + 1;
    CHECK(rc != NCOLL_OK || right);
    CHECK(rc != NCOLL_OK);
    return 0;
}

static void what_is_taken_back_is_noticed(void **state)
{
    struct stage *stage = crew_share(sizeof *stage);

    (void)state;
    for (int leaves = 0; leaves < 2; leaves++) {
        stage->turn = 0;
        stage->leaves = leaves == 1;
        assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, give_up, stage), 0);
    }
    crew_unshare(stage, sizeof *stage);
}

/* ------------------------------------------------------------------ not at all ---------------- */

static int no_peer_reads(struct rank *r)
{
    void *in, *out;

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &in), NCOLL_OK);
    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &out), NCOLL_OK);
    for (int round = 0; round < 3; round++)
        CHECK(allreduce(r, in, out, round) == 0);
    CHECK_STATUS(ncoll_bcast(r->world, in, COUNT, NCOLL_INT64, 0, LIMIT_NS), NCOLL_OK);
    CHECK(shown_bytes(r) == 0);
    return 0;
}

static void no_peer_reads_if_so_wished(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 30, no_peer_reads, NULL), 0);
}

static int wish_for_others(struct rank *r)
{
    ncoll_params params = r->params;
    ncoll_context *ctx;
    ncoll_error error;

    params.show_bytes = r->rank == 0 ? 4096 : 0;
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(ncoll_context_create(&params, &ctx, &error) == NCOLL_ERR_ARGUMENT);
    CHECK(strstr(error.text, "NCOLL_SHOW alike") != NULL);
    return 0;
}

static void all_have_to_wish_for_the_same(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, wish_for_others, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_stays_until_it_has_been_read),
        cmocka_unit_test(scratch_outlives_its_rank),
        cmocka_unit_test(allocated_memory_is_read_where_it_is),
        cmocka_unit_test(freed_memory_is_read_no_more),
        cmocka_unit_test(a_time_out_changes_nothing),
        cmocka_unit_test(what_cannot_be_mapped_is_copied),
        cmocka_unit_test(what_is_taken_back_is_noticed),
        cmocka_unit_test(no_peer_reads_if_so_wished),
        cmocka_unit_test(all_have_to_wish_for_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
