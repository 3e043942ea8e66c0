/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that runs into a limit of its own while it connects further peers: it says which one, and
 * the others hear that it, and nobody else, has failed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS (HANG_FACTOR * INT64_C(5000000000))
#define RANKS    8 /* more than the first barrier connects */
#define COUNT    10
#define UNLUCKY  1

static double in[RANKS * COUNT], out[RANKS * COUNT];

static int call(struct rank *r)
{
    return ncoll_alltoall(r->world, in, out, COUNT, NCOLL_DOUBLE, LIMIT_NS);
}

static int run_out_of_descriptors(struct rank *r)
{
    const struct rlimit none = {3, 3};
    bool unlucky = r->rank == UNLUCKY;
    int expected = unlucky ? NCOLL_ERR_RESOURCE : NCOLL_ERR_PEER;

    if (unlucky)
        CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
    CHECK_STATUS(call(r), expected);
    ncoll_error error = *ncoll_last_error(r->ctx);
    if (unlucky) {
        CHECK(strstr(error.cause, "no file descriptor left") != NULL);
        CHECK(strstr(error.remedy, "ulimit -n") != NULL);
    } else {
        /* not that it has left, which it does next */
        CHECK(error.peer == UNLUCKY && strstr(error.cause, "rank 1 failed") != NULL);
    }
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), expected);
    CHECK(strcmp(error.text, ncoll_last_error(r->ctx)->text) == 0);
    return 0;
}

static void test_no_file_descriptor_is_left(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, run_out_of_descriptors, NULL), 0);
}

/* One descriptor that is free is enough to connect any number of peers. */
static int have_one_descriptor(struct rank *r)
{
    int fd = dup(0);
    const struct rlimit one = {(rlim_t)fd + 1, (rlim_t)fd + 1};

    close(fd);
    CHECK(setrlimit(RLIMIT_NOFILE, &one) == 0);
    CHECK_STATUS(call(r), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    fd = dup(0);
    CHECK(fd >= 0); /* and it is free again */
    close(fd);
    return 0;
}

static void test_one_file_descriptor_is_left(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 30, have_one_descriptor, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_file_descriptor_is_left),
        cmocka_unit_test(test_one_file_descriptor_is_left),
    };

    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
