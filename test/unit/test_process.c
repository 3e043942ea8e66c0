/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of noticing that another process has ended, also without a file descriptor to ask with. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "transport/process.h"
#include "test/support/hang.h"

static pid_t start(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        hang_after(20); /* if a test fails */
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

static rlim_t set_limit(rlim_t descriptors)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = descriptors;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return before;
}

/* With so many descriptors when it starts watching, and when it looks; 0: all that there are. */
static void watch(rlim_t first, rlim_t then, bool by_descriptor)
{
    rlim_t all = set_limit(64);
    pid_t pid = start();
    struct process p;

    set_limit(first > 0 ? first : all);
    assert_int_equal(ncoll__process_watch(&p, pid), 0);
    assert_int_equal(p.fd >= 0, by_descriptor);
    set_limit(then > 0 ? then : all);
    assert_false(ncoll__process_ended(&p));
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    set_limit(all);
    assert_true(ncoll__process_ended(&p)); /* a zombie */
    waitpid(pid, NULL, 0);
    set_limit(then > 0 ? then : all);
    assert_true(ncoll__process_ended(&p));
    set_limit(all);
    ncoll__process_forget(&p);
    assert_int_equal(ncoll__process_watch(&p, pid), -ESRCH);
}

static void test_by_descriptor(void **state)
{
    (void)state;
    watch(0, 0, true);
}

/* Half of the descriptors are left to the program. */
static void test_few_descriptors(void **state)
{
    (void)state;
    watch(5, 5, false);
}

static void test_no_descriptor_to_look_with(void **state)
{
    (void)state;
    watch(5, 3, false);
    watch(3, 0, false);
    watch(3, 3, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_descriptor),
        cmocka_unit_test(test_few_descriptors),
        cmocka_unit_test(test_no_descriptor_to_look_with),
    };

    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
