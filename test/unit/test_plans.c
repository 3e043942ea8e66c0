/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that repeat find their plans again; what differs in anything that a plan depends on has one
 * of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/internal.h"
#include "test/support/crew.h"

#define RANKS 3

static unsigned n_plans(const struct rank *r)
{
    unsigned n = 0;

    for (unsigned i = 0; i < PLANS; i++)
        n += r->world->plans[i] != NULL;
    return n;
}

/* Every block has `count` elements, but that from rank 0 to rank 1, which has `one`. */
static int alltoallv(struct rank *r, size_t count, size_t one)
{
    static int32_t in[RANKS * 8], out[RANKS * 8];
    static const size_t displs[RANKS] = {0, 8, 16};
    size_t sends[RANKS] = {count, count, count}, counts[RANKS] = {count, count, count};

    if (r->rank == 0)
        sends[1] = one;
    if (r->rank == 1)
        counts[0] = one;
    return ncoll_alltoallv(r->world, in, sends, displs, out, counts, displs, NCOLL_INT32,
                           NCOLL_BLOCK);
}

static int repeat_alltoallv(struct rank *r)
{
    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    unsigned before = n_plans(r);
    for (int i = 0; i < 10; i++)
        CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before);
    /* Rank 2 has the same counts as before; the longest block of all is another one. */
    CHECK_STATUS(alltoallv(r, 4, 7), NCOLL_OK);
    CHECK(n_plans(r) == before + 1);
    CHECK_STATUS(alltoallv(r, 4, 7), NCOLL_OK);
    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before + 1);
    return 0;
}

/* One for the agreement, one for the call. */
static int one_alltoallv(struct rank *r)
{
    unsigned before = n_plans(r);

    CHECK_STATUS(alltoallv(r, 4, 4), NCOLL_OK);
    CHECK(n_plans(r) == before + 2);
    return 0;
}

static void test_alltoallv(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, one_alltoallv, NULL), 0);
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 20, repeat_alltoallv, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alltoallv)};

    return cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
