/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare exchange writes where the data of calls lies. A rank that is late to read that of the
 * call before finds it all the same, and so does one whose peers are through and call something.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "test/support/crew.h"

#define RANKS     4
#define STEPS     60
#define COUNT_MAX 3000
#define BYTES     ((size_t)256 << 10)
#define EXCHANGES 3
#define LATE_US   2000

/* In place, and by a rank drawn for each call with a pause between its start and its end. */
static int add_up(struct rank *r, uint64_t step)
{
    static uint64_t own[COUNT_MAX];
    size_t count = 1 + random_below(&r->common, COUNT_MAX);
    bool late = (int)random_below(&r->common, RANKS) == r->rank;

    for (size_t i = 0; i < count; i++)
        own[i] = (step + i) * (uint64_t)(r->rank + 1);
    int rc = ncoll_allreduce(r->world, own, own, count, NCOLL_UINT64, NCOLL_SUM,
                             late ? NCOLL_TEST : NCOLL_BLOCK);
    if (rc == NCOLL_TIMEOUT) {
        usleep(LATE_US);
        rc = ncoll_allreduce(r->world, own, own, count, NCOLL_UINT64, NCOLL_SUM, NCOLL_BLOCK);
    }
    CHECK_STATUS(rc, NCOLL_OK);
    for (size_t i = 0; i < count; i++)
        CHECK(own[i] == (step + i) * RANKS * (RANKS + 1) / 2);
    return 0;
}

static int between_calls(struct rank *r)
{
    uint64_t samples_ns[EXCHANGES];

    for (unsigned step = 0; step < STEPS; step++) {
        if (add_up(r, step) != 0)
            return 1;
        CHECK_STATUS(ncoll__raw_exchange(r->world, 1, BYTES, EXCHANGES, samples_ns), NCOLL_OK);
    }
    return 0;
}

static void test_between_calls(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 60, between_calls, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
