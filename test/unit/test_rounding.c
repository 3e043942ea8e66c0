/* SPDX-License-Identifier: BSD-3-Clause */
/* How often floating-point results are rounded. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/inspect.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))
#define LEAST    65
#define COUNT    35

/* The fifth powers of 65 to 99. Squares and cubes are exact in a float, fourth powers are not: the product of a
 * cube and a square is rounded once, and then it is the float that is nearest to the power. */
static int multiply_five(struct rank *r)
{
    for (int n = 1; n <= 4; n++) {
        float in[COUNT], out[COUNT];

        CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "gather", n), NCOLL_OK);
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)(LEAST + i);
        CHECK_STATUS(ncoll_allreduce(r->world, in, out, COUNT, NCOLL_FLOAT, NCOLL_PROD, LIMIT_NS),
                     NCOLL_OK);
        for (int i = 0; i < COUNT; i++)
            CHECK(out[i] == (float)pow(LEAST + i, 5));
    }
    return 0;
}

static void test_halves(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 5, NULL, 60, multiply_five, NULL), 0);
}

/* A 1, and seven numbers of which it swallows each by itself. In halves they are added to each other first, but for
 * one. */
static int add_small_ones(struct rank *r)
{
    float small = 1.0f / (1 << 24), in = r->rank == 0 ? 1 : small, out = 0;

    CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "gather", 1), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, &in, &out, 1, NCOLL_FLOAT, NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    CHECK(out == 1 + 6 * small);
    return 0;
}

static void test_small_ones(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 8, NULL, 60, add_small_ones, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_small_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
