/* SPDX-License-Identifier: BSD-3-Clause */
/* This file tests that forked ranks print the cause of a failure, and not that others have failed. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/cg/support.h"

enum { RANKS = 4, UNLUCKY = 2 };

static char said[4096];

/* Joins the job. One rank then leaves it by `leave`, and the others call a barrier, which fails. */
static int join(const ncoll_params *params, int (*leave)(ncoll_context *ctx))
{
    ncoll_params own = *params;
    ncoll_context *ctx;
    ncoll_error error;

    own.log = failure_log;
    if (ncoll_context_create(&own, &ctx, &error) != NCOLL_OK)
        return EXIT_FAILURE;
    if (own.rank == UNLUCKY)
        return leave(ctx);
    int status = failure_of_call(ctx, ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK));
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The others hear of it before the rank says why. */
static int leave_without_memory(ncoll_context *ctx)
{
    const struct timespec late = {.tv_nsec = 200000000};

    ncoll_context_destroy(ctx);
    nanosleep(&late, NULL);
    failure_no_memory();
    return EXIT_FAILURE;
}

/* Nobody is there who could say why. */
static int leave_by_a_signal(ncoll_context *ctx)
{
    (void)ctx;
    return raise(SIGKILL);
}

static int unlucky_rank(const ncoll_params *params, void *arg)
{
    (void)arg;
    return join(params, leave_without_memory);
}

static int killed_rank(const ncoll_params *params, void *arg)
{
    (void)arg;
    return join(params, leave_by_a_signal);
}

/* Runs ranks in a process of their own, and keeps what they print. The ranks of a process share one
 * message. */
static void run(int (*rank_main)(const ncoll_params *params, void *arg))
{
    FILE *out = tmpfile();
    int status;

    assert_non_null(out);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(fileno(out), STDERR_FILENO);
        _exit(fork_ranks(RANKS, false, NULL, rank_main, NULL));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    rewind(out);
    said[fread(said, 1, sizeof said - 1, out)] = '\0';
    fclose(out);
    print_message("%s", said);
    assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
}

static void test_the_rank_that_knows_the_cause_speaks(void **state)
{
    (void)state;
    run(unlucky_rank);
    assert_non_null(strstr(said, "out of memory"));
    assert_null(strstr(said, "a rank failed or left"));
}

static void test_another_rank_speaks_if_nobody_knows_the_cause(void **state)
{
    (void)state;
    run(killed_rank);
    assert_non_null(strstr(said, "rank 2"));
    assert_non_null(strstr(said, "a rank failed or left"));
    assert_non_null(strstr(said, "was ended by signal"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_rank_that_knows_the_cause_speaks),
        cmocka_unit_test(test_another_rank_speaks_if_nobody_knows_the_cause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
