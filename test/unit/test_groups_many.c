/* SPDX-License-Identifier: BSD-3-Clause */
/* Many groups: as many as there can be at once, and one after the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "group_ranks.h"

static size_t memory(struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.memory_bytes : 0;
}

/* As many as there can be; fewer where each takes long: NCOLL_TEST_GROUPS. */
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

/* Some tests: test_groups_many 'test_m*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_come_and_go),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("groups_many", tests, NULL, NULL);
}
