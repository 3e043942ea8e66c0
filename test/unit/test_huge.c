/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of ncoll_alloc(): its pages are there from the start, nobody else may open it, it lies in
 * huge pages if the system has set some aside (only then that part is tested: NEED_HUGE=1 makes it
 * a failure if it has not) and in others when these are used up; and nothing of it stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"

#define BYTES ((size_t)8 << 20)
#define COUNT (BYTES / sizeof(int64_t))
#define MANY  64

static long from_meminfo(const char *format)
{
    FILE *f = fopen("/proc/meminfo", "r");
    char line[128];
    long value = 0;

    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        sscanf(line, format, &value);
    if (f != NULL)
        fclose(f);
    return value;
}

static size_t free_huge_bytes(void)
{
    return (size_t)(from_meminfo("HugePages_Free: %ld") - from_meminfo("HugePages_Rsvd: %ld")) *
           (size_t)from_meminfo("Hugepagesize: %ld") * 1024;
}

static size_t huge_bytes(const struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    ncoll_context_stats(r->ctx, &stats);
    return stats.huge_bytes;
}

static int pages_are_there(struct rank *r)
{
    unsigned char *memory, resident[BYTES / 4096];

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&memory), NCOLL_OK);
    CHECK(mincore(memory, BYTES, resident) == 0);
    for (size_t i = 0; i < BYTES / (size_t)sysconf(_SC_PAGESIZE); i++)
        CHECK(resident[i] & 1);
    return 0;
}

static int mine_alone(struct rank *r)
{
    void *memory;
    int found = 0;

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, &memory), NCOLL_OK);
    for (int fd = 0; fd < 256; fd++) {
        char path[64], to[32] = "";
        struct stat stat_of;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (readlink(path, to, sizeof to - 1) < 0 || strncmp(to, "/memfd:ncoll", 12) != 0)
            continue;
        CHECK(fstat(fd, &stat_of) == 0 && (stat_of.st_mode & 0777) == 0600);
        found++;
    }
    CHECK(found >= 2);
    return 0;
}

/* Allocates as often as there are pages, and some more. */
static int until_none_is_left(struct rank *r)
{
    unsigned char *all[MANY];
    size_t total = 0;
    int n = 0;

    while (n < MANY && total < *(size_t *)r->shared + 4 * BYTES) {
        CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&all[n]), NCOLL_OK);
        memset(all[n++], 1, BYTES);
        total += BYTES;
    }
    CHECK(huge_bytes(r) < total);
    CHECK(*(size_t *)r->shared < 2 * BYTES || huge_bytes(r) > 0);
    for (int i = 0; i < n; i++)
        CHECK_STATUS(ncoll_free(r->ctx, all[i]), NCOLL_OK);
    CHECK(huge_bytes(r) == 0);
    return 0;
}

/* Both sides of a call lie there, so that each rank reads or writes in the memory of others. */
static int calls_work(struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};
    int64_t *in, *out;
    bool enough = *(size_t *)r->shared >= 6 * (BYTES + (4 << 20));

    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&in), NCOLL_OK);
    CHECK_STATUS(ncoll_alloc(r->ctx, BYTES, (void **)&out), NCOLL_OK);
    CHECK(huge_bytes(r) == (enough && r->params.huge_pages ? 2 * BYTES : 0) || !enough);
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = 0; i < COUNT; i++)
            in[i] = (int64_t)i + turn + r->rank;
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                     NCOLL_OK);
        for (size_t i = 0; i < COUNT; i++)
            CHECK(out[i] == r->ranks * ((int64_t)i + turn) + r->ranks * (r->ranks - 1) / 2);
    }
    CHECK_STATUS(ncoll_bcast(r->world, out, COUNT, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    ncoll_context_stats(r->ctx, &stats);
    CHECK(stats.landed_bytes + stats.shown_bytes > 0);
    return 0;
}

static void run(int ranks, int huge_pages, crew_body body)
{
    ncoll_params params;
    size_t before = free_huge_bytes();

    ncoll_params_init(&params, sizeof params);
    params.huge_pages = huge_pages;
    if (ranks > 2) /* which shows what it is given, whatever would be chosen on shared cores */
        params.allreduce_algorithm = "direct-slices";
    if (getenv("NEED_HUGE") != NULL)
        assert_true(before > 4 * BYTES);
    assert_int_equal(crew_run(CREW_PROCESSES, ranks, &params, 60, body, &before), 0);
    assert_true(free_huge_bytes() == before || getenv("NEED_HUGE") == NULL);
}

static void test_pages(void **state)
{
    (void)state;
    run(1, 0, pages_are_there);
    run(1, 1, pages_are_there);
    run(1, 0, mine_alone);
    run(1, 1, mine_alone);
}

static void test_shortage(void **state)
{
    (void)state;
    run(1, 1, until_none_is_left);
}

static void test_calls(void **state)
{
    (void)state;
    run(3, 1, calls_work);
    run(3, 0, calls_work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_shortage),
        cmocka_unit_test(test_calls),
    };

    return cmocka_run_group_tests_name("huge", tests, NULL, NULL);
}
