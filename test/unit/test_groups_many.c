/* SPDX-License-Identifier: BSD-3-Clause */
/* Many groups: as many as there can be at once, and one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "group_ranks.h"

static size_t memory(struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.memory_bytes : 0;
}

/* Returns as many as there can be; NCOLL_TEST_GROUPS asks for fewer, where each takes long. */
static unsigned how_many(void)
{
    const char *fewer = getenv("NCOLL_TEST_GROUPS");

    return fewer != NULL ? (unsigned)atoi(fewer) : WINDOWS_MAX - 1;
}

/* One more than there can be is refused on all ranks, and what there is goes on. */
static int make_many(struct rank *r)
{
    static ncoll_group *groups[WINDOWS_MAX];
    size_t before = memory(r);
    ncoll_group *one_more = NULL;

    for (int round = 0; round < 2; round++) {
        unsigned n = round == 0 ? how_many() : 100;
        for (unsigned i = 0; i < n; i++) {
            int members[GROUP_RANKS], size = 0, color = (r->rank + (int)i) % 3 > 0;
            for (int q = 0; q < r->ranks; q++)
                if (((q + (int)i) % 3 > 0) == color)
                    members[size++] = q;
            CHECK_STATUS(ncoll_group_split(r->world, color, 0, &groups[i], NCOLL_BLOCK), NCOLL_OK);
            if (i % 50 == 0)
                CHECK(group_works(r, groups[i], members, size) == 0);
        }
        if (n == WINDOWS_MAX - 1) {
            CHECK_STATUS(ncoll_group_dup(r->world, &one_more, NCOLL_BLOCK), NCOLL_ERR_RESOURCE);
            CHECK(one_more == NULL);
        }
        for (unsigned i = 0; i < n; i++) { /* in another order than they were made in */
            unsigned at = i * 7 % n;
            int64_t one = 1, sum = 0;
            CHECK_STATUS(
                ncoll_allreduce(groups[at], &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                NCOLL_OK);
            CHECK(sum == ncoll_group_size(groups[at]));
        }
        for (unsigned i = 0; i < n; i++)
            CHECK_STATUS(ncoll_group_free(&groups[i], NCOLL_BLOCK), NCOLL_OK);
    }
    CHECK(memory(r) == before);
    return 0;
}

static void test_many(void **state)
{
    (void)state;
    groups_run(4, NULL, make_many);
}

/* Streams that do not synchronise leave credits behind that nobody waits for. */
static int come_and_go(struct rank *r)
{
    for (int round = 0; round < 300; round++) {
        ncoll_group *g;
        int64_t word = r->rank;
        CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
        for (uint64_t i = random_below(&r->common, 20); i > 0; i--) {
            CHECK_STATUS(ncoll_bcast(g, &word, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
            CHECK(word == 0);
        }
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_come_and_go(void **state)
{
    (void)state;
    groups_run(4, NULL, come_and_go);
}

/* AddressSanitizer's allocator takes new pages in place of those that were freed. */
#if defined(__SANITIZE_ADDRESS__)
#define NEW_PAGES true
#else
#define NEW_PAGES false
#endif

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Thousands one after the other cost three calls of ceil(log2 P) messages each, and nothing of the
 * system: their windows come to lie where the last ones were, which all have mapped. Over verbs there
 * are two calls more, since the device has to say what has arrived, and memory is registered anew. */
static int make_and_free(struct rank *r)
{
    bool shm = strcmp(r->ctx->transport->ops->name, "shm") == 0;
    const unsigned groups = shm ? 1500 : 100;
    uint64_t puts = 0, rounds = 0, calls = shm ? 3 : 5;
    size_t bytes = 0;
    long before = 0;

    while (1 << rounds < r->ranks)
        rounds++;
    for (unsigned i = 0; i <= groups; i++) {
        ncoll_group *g;
        CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
        if (i == groups / 10) /* each place of a window and of memory has been used by then */
            before = faults();
        if (i > 0)
            continue;
        puts = r->ctx->puts;
        bytes = memory(r);
    }
    CHECK(r->ctx->puts - puts == groups * calls * rounds);
    CHECK(memory(r) == bytes);
    /* a new page for each group would be as many faults; the kernel makes some of its own */
    CHECK(!shm || NEW_PAGES || faults() - before < groups / 3);
    return 0;
}

static void test_make_and_free(void **state)
{
    (void)state;
    groups_run(4, NULL, make_and_free);
    groups_run(8, NULL, make_and_free);
}

/* A rank frees groups without waiting, and makes as many again: there is room as soon as the others
 * have freed theirs, whether it has asked again or not. */
static int free_without_waiting(struct rank *r)
{
    static ncoll_group *old[WINDOWS_MAX], *groups[WINDOWS_MAX];
    unsigned n = how_many();

    for (unsigned i = 0; i < n; i++)
        CHECK_STATUS(ncoll_group_dup(r->world, &old[i], NCOLL_BLOCK), NCOLL_OK);
    for (unsigned i = 0; i < n; i++)
        if (r->rank == 0) {
            int rc = ncoll_group_free(&old[i], NCOLL_TEST);
            CHECK(rc == NCOLL_TIMEOUT || rc == NCOLL_OK);
        } else if (i > 0) {
            CHECK_STATUS(ncoll_group_free(&old[i], NCOLL_BLOCK), NCOLL_OK);
        }
    for (unsigned i = 0; i + 1 < n; i++)
        CHECK_STATUS(ncoll_group_dup(r->world, &groups[i], NCOLL_BLOCK), NCOLL_OK);
    for (unsigned i = 0; i < n; i++)
        if (old[i] != NULL)
            CHECK_STATUS(ncoll_group_free(&old[i], NCOLL_BLOCK), NCOLL_OK);
    for (unsigned i = 0; i + 1 < n; i++)
        CHECK_STATUS(ncoll_group_free(&groups[i], NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_free_without_waiting(void **state)
{
    (void)state;
    groups_run(3, NULL, free_without_waiting);
}

/* Some tests: test_groups_many 'test_m*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_come_and_go),
        cmocka_unit_test(test_make_and_free),
        cmocka_unit_test(test_free_without_waiting),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("groups_many", tests, NULL, NULL);
}
