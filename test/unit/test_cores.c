/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Narrow places in which ranks have to work all the same: one core, limited processor time, a
 * read-only /dev/shm or none, no /sys, machines of other shapes. They know when they share cores.
 */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/hang.h"

#define LIMIT_S 60
#define SKIP    77
#define BYTES   ((size_t)1 << 20)

struct place {
    int (*enter)(int rank); /* 0 or the exit code */
    int oversubscribed;     /* as it has to be; -1: as it likes */
};

/* Short and long calls, in memory of both kinds. */
static int work(ncoll_context *ctx)
{
    ncoll_group *world = ncoll_world(ctx);
    int64_t *in, *out, one = 1, sum = 0;
    int rc = NCOLL_OK;

    for (int i = 0; rc == NCOLL_OK && i < 100; i++)
        rc = ncoll_allreduce(world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc != NCOLL_OK || sum != ncoll_group_size(world) ||
        ncoll_alloc(ctx, BYTES, (void **)&in) != NCOLL_OK ||
        ncoll_alloc(ctx, BYTES, (void **)&out) != NCOLL_OK)
        return 1;
    for (size_t i = 0; i < BYTES / 8; i++)
        in[i] = (int64_t)i;
    if (ncoll_allreduce(world, in, out, BYTES / 8, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK) != NCOLL_OK)
        return 1;
    for (size_t i = 0; i < BYTES / 8; i++)
        if (out[i] != ncoll_group_size(world) * (int64_t)i)
            return 1;
    return 0;
}

static int main_in(const ncoll_params *params, void *arg)
{
    const struct place *place = arg;
    ncoll_stats stats = {.size = sizeof stats};
    ncoll_context *ctx;
    ncoll_error error;
    int code = place->enter(params->rank);

    if (code != 0)
        return code;
    hang_after(LIMIT_S);
    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    code = work(ctx);
    ncoll_context_stats(ctx, &stats);
    if (place->oversubscribed >= 0 && stats.oversubscribed != place->oversubscribed) {
        fprintf(stderr, "rank %d: oversubscribed is %d\n", params->rank, stats.oversubscribed);
        code = 1;
    }
    ncoll_context_destroy(ctx);
    return code;
}

static void try(int ranks, struct place place)
{
    int codes[4];
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = "shm";
    ncoll_fork_ranks(ranks, &params, main_in, &place, codes);
    for (int r = 0; r < ranks; r++)
        if (codes[r] == SKIP)
            skip();
    for (int r = 0; r < ranks; r++)
        assert_int_equal(codes[r], 0);
}

/* ------------------------------------------------------------------ cores --------------------- */

static int nth_core(int n)
{
    cpu_set_t all;

    if (sched_getaffinity(0, sizeof all, &all) != 0)
        return -1;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && n-- == 0)
            return core;
    return -1;
}

static int take_core(int n)
{
    int core = nth_core(n);
    cpu_set_t one;

    if (core < 0)
        return SKIP;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? 0 : 1;
}

static int take_first_core(int rank)
{
    (void)rank;
    return take_core(0);
}

static void test_one_core(void **state)
{
    (void)state;
    try(1, (struct place){take_first_core, 0});
    try(4, (struct place){take_first_core, 1});
}

static void test_core_each(void **state)
{
    (void)state;
    try(2, (struct place){take_core, 0});
}

/* Rank 1 says that its core has ranks that are not in the context. */
static int find_others(const ncoll_params *params, void *arg)
{
    ncoll_stats stats = {.size = sizeof stats};
    ncoll_context *ctx;

    (void)arg;
    hang_after(LIMIT_S);
    if (take_core(params->rank) != 0)
        return SKIP;
    if (params->rank == 1)
        setenv("NCOLL_RANKS_PER_CORE", "2.5", 1);
    if (ncoll_context_create(params, &ctx, NULL) != NCOLL_OK || work(ctx) != 0)
        return 1;
    ncoll_context_stats(ctx, &stats);
    ncoll_context_destroy(ctx);
    return stats.ranks_per_core == 2.5 && stats.oversubscribed == 1 ? 0 : 2;
}

static void test_others_on_the_cores(void **state)
{
    int codes[2];
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    ncoll_fork_ranks(2, &params, find_others, NULL, codes);
    if (codes[0] == SKIP || codes[1] == SKIP)
        skip();
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
}

/* ------------------------------------------------------------------ control groups ------------ */

static int write_to(const char *directory, const char *file, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", directory, file);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    close(fd);
    return n == (ssize_t)strlen(text) ? 0 : -1;
}

static char group_dir[96];

/* A group for the ranks that may use one core's time; of either version. */
static int make_limited_group(void)
{
    snprintf(group_dir, sizeof group_dir, "/sys/fs/cgroup/cpu/ncoll-test-%d", (int)getpid());
    if (mkdir(group_dir, 0755) == 0)
        return write_to(group_dir, "cpu.cfs_quota_us", "100000");
    write_to("/sys/fs/cgroup", "cgroup.subtree_control", "+cpu");
    snprintf(group_dir, sizeof group_dir, "/sys/fs/cgroup/ncoll-test-%d", (int)getpid());
    if (mkdir(group_dir, 0755) != 0)
        return -1;
    return write_to(group_dir, "cpu.max", "100000 100000");
}

static int enter_group(int rank)
{
    (void)rank;
    return write_to(group_dir, "cgroup.procs", "0") == 0 ? 0 : SKIP;
}

/* Two ranks on two cores may use the processor time of one core only (control group). */
static void test_limited_time(void **state)
{
    (void)state;
    if (make_limited_group() != 0) {
        rmdir(group_dir);
        skip();
    }
    int codes[2];
    ncoll_params params;
    struct place place = {enter_group, 1};
    ncoll_params_init(&params, sizeof params);
    params.transport = "shm";
    ncoll_fork_ranks(2, &params, main_in, &place, codes);
    for (int i = 0; i < 100 && rmdir(group_dir) != 0; i++)
        usleep(10000);
    if (codes[0] == SKIP || codes[1] == SKIP)
        skip();
    assert_int_equal(codes[0], 0);
    assert_int_equal(codes[1], 0);
}

/* ------------------------------------------------------------------ mounts -------------------- */

/* Also gives this rank its own namespace of control groups, so that it does not use the limit of
 * processor time that its parent has found, but looks for one itself. */
static int own_mounts(void)
{
    return unshare(CLONE_NEWNS | CLONE_NEWCGROUP) != 0 ||
                   mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
               ? SKIP
               : 0;
}

static int read_only_dev_shm(int rank)
{
    (void)rank;
    if (own_mounts() != 0 || mount("none", "/dev/shm", "tmpfs", MS_RDONLY, NULL) != 0)
        return SKIP;
    return open("/dev/shm/x", O_CREAT | O_RDWR, 0600) < 0 ? 0 : 1;
}

static int no_dev_shm(int rank)
{
    (void)rank;
    if (own_mounts() != 0 || mount("none", "/dev", "tmpfs", 0, NULL) != 0)
        return SKIP;
    return access("/dev/shm", F_OK) != 0 ? 0 : 1;
}

static int no_sys(int rank)
{
    (void)rank;
    if (own_mounts() != 0 || mount("none", "/sys", "tmpfs", 0, NULL) != 0)
        return SKIP;
    return access("/sys/fs", F_OK) != 0 ? 0 : 1;
}

static void test_mounts(void **state)
{
    (void)state;
    try(2, (struct place){read_only_dev_shm, -1});
    try(2, (struct place){no_dev_shm, -1});
    try(2, (struct place){no_sys, -1});
}

/* ------------------------------------------------------------------ topologies ---------------- */

static int as_told(int rank)
{
    (void)rank;
    return 0;
}

/* hwloc tells of other machines than this. */
static void test_topologies(void **state)
{
    static const char *const machines[] = {"pu:1", "package:2 core:2 pu:1",
                                           "package:2 l3:4 core:8 pu:1", "numa:4 core:16 pu:1"};

    (void)state;
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        setenv("HWLOC_SYNTHETIC", machines[i], 1);
        try(2, (struct place){as_told, -1});
    }
    unsetenv("HWLOC_SYNTHETIC");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_core),
        cmocka_unit_test(test_core_each),
        cmocka_unit_test(test_others_on_the_cores),
        cmocka_unit_test(test_limited_time),
        cmocka_unit_test(test_mounts),
        cmocka_unit_test(test_topologies),
    };

    return cmocka_run_group_tests_name("cores", tests, NULL, NULL);
}
