/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on memory that the library knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/crew.h"

#define LIMIT_NS INT64_C(20000000000)

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_kept_while_a_call_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
