/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places that keep ranks from sharing memory: limits, filtered system calls, containers. No rank
 * gets a context, each hears why and what to do, and nobody is ended by a signal.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
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

#include "lib/base/context.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_S 30
#define SKIP    77

struct sandbox {
    int (*enter)(void);
    int status;
    const char *cause, *remedy; /* each a part */
};

/* Shared: how many ranks have their error. One that ended sooner would be gone for the other. */
static _Atomic int *through;

static void await_both(void)
{
    for (atomic_fetch_add(through, 1); atomic_load(through) < 2;)
        usleep(1000);
}

static int main_in(const ncoll_params *params, void *arg)
{
    const struct sandbox *sandbox = arg;
    ncoll_context *ctx;
    ncoll_error error;

    hang_after(LIMIT_S);
    int code = sandbox->enter();
    hang_after(LIMIT_S); /* in a child, if it goes on in one */
    if (code != 0) {
        await_both();
        return code;
    }
    int rc = ncoll_context_create(params, &ctx, &error);
    await_both();
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
    atomic_store(through, 0);
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

/* A rank whose limit (KiB) does not even leave room for the board of the fork bootstrap. */
static int create_in_little(const ncoll_params *params, void *arg)
{
    const rlim_t bytes = *(const rlim_t *)arg * 1024;
    const struct rlimit limit = {bytes, bytes};
    ncoll_context *ctx;
    ncoll_error error;

    hang_after(LIMIT_S);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return SKIP;
    int rc = ncoll_context_create(params, &ctx, &error);
    await_both();
    if (rc == NCOLL_ERR_RESOURCE && strstr(error.remedy, "ulimit -f") != NULL)
        return 0;
    if (rc == NCOLL_ERR_PEER) /* the other one has failed first */
        return 1;
    fprintf(stderr, "%d: %s\n", rc, error.text);
    return 2;
}

static void test_no_room_for_the_board(void **state)
{
    int codes[2];

    (void)state;
    for (rlim_t kib = 1; kib <= 9; kib++) {
        atomic_store(through, 0);
        ncoll_fork_ranks(2, NULL, create_in_little, &kib, codes);
        if (codes[0] == SKIP)
            skip();
        assert_true(codes[0] <= 1 && codes[1] <= 1 && (codes[0] == 0 || codes[1] == 0));
    }
}

static int filter_call(uint32_t call, uint32_t verdict)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, verdict),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return SKIP;
    return 0;
}

static int filter(uint32_t verdict)
{
    return filter_call(SYS_memfd_create, verdict);
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

/* hwloc asks for the affinity until it is told. A context does without. */
static int create_without_affinity(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    ncoll_error error;
    int code = filter_call(SYS_sched_getaffinity, SECCOMP_RET_ERRNO | EPERM);

    (void)arg;
    if (code != 0)
        return code;
    hang_after(LIMIT_S);
    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return rc != NCOLL_OK;
}

static void test_no_affinity(void **state)
{
    int codes[2];

    (void)state;
    ncoll_fork_ranks(2, NULL, create_without_affinity, NULL, codes);
    if (codes[0] == SKIP && codes[1] == SKIP)
        skip();
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
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

/* Runs as any user, with a /proc that shows no process that it may not trace; and after it has
 * changed its user no process may be traced. */
static int hide_from_others(void)
{
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 || setgid(65534) != 0 ||
        setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0)
        return SKIP;
    return 0;
}

static void test_hidden_processes(void **state)
{
    (void)state;
    try((struct sandbox){hide_from_others, NCOLL_ERR_SYSTEM, "runs, but is hidden in /proc",
                         "hidepid"},
        "shm");
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

/* A thread that takes a context over has to see whether the former one is inside. */
static void *call_from_another(void *arg)
{
    ncoll_context *ctx = arg;

    if (ncoll_progress(ctx) != NCOLL_ERR_BUSY)
        return NULL;
    return strstr(ncoll_last_error(ctx)->cause, "membarrier()") != NULL ? arg : NULL;
}

static int lose_membarrier(const ncoll_params *params, void *arg)
{
    ncoll_context *ctx;
    pthread_t thread;
    void *well;

    (void)arg;
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK)
        return 1;
    if (!ctx->has_membarrier || filter_call(SYS_membarrier, SECCOMP_RET_ERRNO | EPERM) != 0)
        return SKIP;
    if (ncoll_progress(ctx) != NCOLL_OK ||
        pthread_create(&thread, NULL, call_from_another, ctx) != 0 ||
        pthread_join(thread, &well) != 0 || well == NULL || ncoll_progress(ctx) != NCOLL_OK)
        return 1;
    ncoll_context_destroy(ctx);
    return 0;
}

static void test_membarrier_is_lost(void **state)
{
    int code = 0;

    (void)state;
    ncoll_fork_ranks(1, NULL, lose_membarrier, NULL, &code);
    if (code == SKIP)
        skip();
    assert_int_equal(code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_size),        cmocka_unit_test(test_no_room_for_the_board),
        cmocka_unit_test(test_filtered),         cmocka_unit_test(test_no_affinity),
        cmocka_unit_test(test_no_proc),          cmocka_unit_test(test_containers),
        cmocka_unit_test(test_hidden_processes), cmocka_unit_test(test_membarrier_is_lost),
    };

    through = crew_share(sizeof *through);
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
