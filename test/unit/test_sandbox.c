/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places that keep ranks from sharing memory: limits, filtered system calls, containers. No rank
 * gets a context, each hears why and what to do, and nobody is ended by a signal.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll.h"

#define LIMIT_S 30
#define SKIP    77

struct sandbox {
    int (*enter)(void);
    int status;
    const char *cause, *remedy; /* each a part */
};

static int main_in(const ncoll_params *params, void *arg)
{
    const struct sandbox *sandbox = arg;
    ncoll_context *ctx;
    ncoll_error error;
    int code = sandbox->enter();

    if (code != 0)
        return code;
    alarm(LIMIT_S);
    int rc = ncoll_context_create(params, &ctx, &error);
    if (rc == sandbox->status && strstr(error.cause, sandbox->cause) != NULL &&
        strstr(error.remedy, sandbox->remedy) != NULL)
        return 0;
    fprintf(stderr, "%d: %s\n", rc, error.text);
    return 1;
}

/* Two ranks. */
static void try(struct sandbox sandbox, const char *transport)
{
    int codes[2];
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = transport;
    params.bootstrap_timeout_ns = INT64_C(10000000000);
    ncoll_fork_ranks(2, &params, main_in, &sandbox, codes);
    if (codes[0] == SKIP && codes[1] == SKIP)
        skip();
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
}

static int limit_files(void)
{
    const struct rlimit limit = {65536, 65536};

    return setrlimit(RLIMIT_FSIZE, &limit);
}

static void test_file_size(void **state)
{
    (void)state;
    try((struct sandbox){limit_files, NCOLL_ERR_RESOURCE, "file sizes", "ulimit -f"}, "shm");
}

static int filter(uint32_t verdict)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return SKIP;
    return 0;
}

static int forbid_memfd(void)
{
    return filter(SECCOMP_RET_ERRNO | EPERM);
}

static int lack_memfd(void)
{
    return filter(SECCOMP_RET_ERRNO | ENOSYS);
}

static void test_filtered(void **state)
{
    (void)state;
    try((struct sandbox){forbid_memfd, NCOLL_ERR_SYSTEM, "shared memory", "seccomp"}, "shm");
    try((struct sandbox){lack_memfd, NCOLL_ERR_SYSTEM, "shared memory", "seccomp"}, "shm");
}

static int hide_proc(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/proc", "tmpfs", 0, NULL) != 0)
        return SKIP;
    return 0;
}

static void test_no_proc(void **state)
{
    (void)state;
    try((struct sandbox){hide_proc, NCOLL_ERR_SYSTEM, "/proc", "mount"}, "shm");
}

/* Goes on as the first process of a namespace; the one outside passes on how it ends. */
static int enter_container(void)
{
    int status;

    if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0)
        return SKIP;
    pid_t pid = fork();
    if (pid == 0) {
        if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("proc", "/proc", "proc", 0, NULL) != 0)
            _exit(SKIP);
        return 0;
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void test_containers(void **state)
{
    (void)state;
    try((struct sandbox){enter_container, NCOLL_ERR_UNSUPPORTED, "different containers", "--pid"},
        "shm");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_size),
        cmocka_unit_test(test_filtered),
        cmocka_unit_test(test_no_proc),
        cmocka_unit_test(test_containers),
    };

    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
