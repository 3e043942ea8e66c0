/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on memory that the library knows. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))

/* Memory that an unfinished call works on is not given back. */
static int free_too_early(struct rank *r)
{
    int64_t *in, *out;
    static int64_t plain[2];
    ncoll_request *request;

    CHECK_STATUS(ncoll_alloc(r->ctx, 8, (void **)&in), NCOLL_OK);
    CHECK_STATUS(ncoll_mem_register(r->ctx, plain, sizeof plain), NCOLL_OK);
    out = plain + 1;
    *in = r->rank;
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_allreduce_start(r->world, in, out, 1, NCOLL_INT64, NCOLL_SUM, &request),
                     NCOLL_OK);
        CHECK_STATUS(ncoll_test(&request), NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_free(r->ctx, in), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_mem_deregister(r->ctx, plain), NCOLL_ERR_BUSY);
        *(volatile int *)r->shared = 1;
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    } else {
        while (*(volatile int *)r->shared == 0)
            continue;
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, 1, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                     NCOLL_OK);
    }
    CHECK(*out == r->ranks * (r->ranks - 1) / 2);
    CHECK_STATUS(ncoll_free(r->ctx, in), NCOLL_OK);
    CHECK_STATUS(ncoll_mem_deregister(r->ctx, plain), NCOLL_OK);
    return 0;
}

static void memory_is_kept_while_a_call_needs_it(void **state)
{
    int *entered = crew_share(sizeof *entered);

    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 30, free_too_early, entered), 0);
    crew_unshare(entered, sizeof *entered);
}

/* ------------------------------------------------------------------ placed in OUT ------------- */

#define COUNT   ((size_t)1 << 17) /* of int64: several segments */
#define REPEATS 40

struct scene {
    _Atomic int entered; /* receivers that are in their call */
    bool other_memory;   /* on every other rank, which the library does not know */
};

static uint64_t landed_bytes(const struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.landed_bytes : UINT64_MAX;
}

static int64_t value(int round, size_t i)
{
    return (int64_t)(i * 7919 + (size_t)round);
}

/* The root begins when all others have. */
static int bcast_late(struct rank *r, struct scene *scene, int64_t *vector, int round)
{
    ncoll_request *request;

    for (size_t i = 0; i < COUNT; i++)
        vector[i] = r->rank == 0 ? value(round, i) : -1;
    while (r->rank == 0 && scene->entered < (r->ranks - 1) * (round + 1))
        sched_yield();
    CHECK_STATUS(ncoll_bcast_start(r->world, vector, COUNT, NCOLL_INT64, 0, &request), NCOLL_OK);
    if (r->rank > 0)
        scene->entered++;
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(vector[i] == value(round, i));
    return 0;
}

static int place(struct rank *r)
{
    struct scene *scene = r->shared;
    bool known = !scene->other_memory || r->rank % 2 == 0;
    int64_t *vector = NULL, *plain = malloc(COUNT * sizeof *plain);

    if (known)
        CHECK_STATUS(ncoll_alloc(r->ctx, COUNT * sizeof *vector, (void **)&vector), NCOLL_OK);
    CHECK(bcast_late(r, scene, plain, 0) == 0); /* connects the ranks */
    CHECK(landed_bytes(r) == 0);
    CHECK(bcast_late(r, scene, known ? vector : plain, 1) == 0);
    CHECK(landed_bytes(r) == (known && r->rank > 0 ? COUNT * sizeof *vector : 0));
    CHECK(bcast_late(r, scene, plain, 2) == 0);
    CHECK(landed_bytes(r) == (known && r->rank > 0 ? COUNT * sizeof *vector : 0));
    CHECK_STATUS(ncoll_free(r->ctx, vector), NCOLL_OK);
    free(plain);
    return 0;
}

/* Nothing is shown: the root puts it there. */
static void run_placed(enum crew_kind kind, bool other_memory)
{
    struct scene *scene = crew_share(sizeof *scene);
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0;
    scene->other_memory = other_memory;
    assert_int_equal(crew_run(kind, 4, &params, 60, place, scene), 0);
    crew_unshare(scene, sizeof *scene);
}

static void messages_are_placed_in_allocated_memory(void **state)
{
    (void)state;
    run_placed(CREW_PROCESSES, false);
    run_placed(CREW_THREADS, false);
}

static void ranks_with_other_memory_take_part(void **state)
{
    (void)state;
    run_placed(CREW_PROCESSES, true);
    run_placed(CREW_THREADS, true);
}

static unsigned mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned n = 0;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        n += strstr(line, "memfd:ncoll") != NULL;
    if (maps != NULL)
        fclose(maps);
    return n;
}

static int come_and_go(struct rank *r)
{
    unsigned at_first = 0;

    for (int round = 0; round < REPEATS; round++) {
        int64_t *vector;
        CHECK_STATUS(ncoll_alloc(r->ctx, COUNT * sizeof *vector, (void **)&vector), NCOLL_OK);
        CHECK(bcast_late(r, r->shared, vector, round) == 0);
        CHECK_STATUS(ncoll_free(r->ctx, vector), NCOLL_OK);
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
        if (round == 1)
            at_first = mappings();
    }
    CHECK(mappings() <= at_first);
    return 0;
}

static void freed_memory_is_forgotten(void **state)
{
    struct scene *scene = crew_share(sizeof *scene);
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.show_bytes = 0;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, &params, 60, come_and_go, scene), 0);
    crew_unshare(scene, sizeof *scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_kept_while_a_call_needs_it),
        cmocka_unit_test(messages_are_placed_in_allocated_memory),
        cmocka_unit_test(ranks_with_other_memory_take_part),
        cmocka_unit_test(freed_memory_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
