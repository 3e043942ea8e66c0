/* SPDX-License-Identifier: BSD-3-Clause */
/* The descriptor on which a program waits: no wake-up is lost, whatever wakes it; it sleeps without
 * using the processor; and it is not woken for nothing. */
#include <linux/futex.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"
#ifdef NCOLL_SOFT_DEVICE
#include "test/support/soft_device.h"
#endif

#define RANKS   4
#define GROUPS  3 /* at most; on one group no other message makes up for a lost wake-up */
#define LOST_MS 10000

#if defined(__SANITIZE_THREAD__)
#define ROUNDS 300
#else
#define ROUNDS 3000
#endif

/* The timer that wakes a rank in any case would hide a lost wake-up, so it does not run. That of a rank
 * which connects, or waits for something else than a message, does. */
static atomic_bool no_slow_ticks;

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                           struct itimerspec *old_value);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                           struct itimerspec *old_value);

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *new_value,
                           struct itimerspec *old_value)
{
    static const struct itimerspec off;

    if (no_slow_ticks && new_value->it_value.tv_nsec > 1000000)
        new_value = &off;
    return __real_timerfd_settime(fd, flags, new_value, old_value);
}

/* The same for a rank that sleeps in a blocking call. The linker gives the library this in place of
 * syscall(). */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    const struct timespec limit = {.tv_sec = 2 * LOST_MS / 1000};

    if (no_slow_ticks && number == SYS_futex && b == FUTEX_WAIT)
        d = (long)&limit;
    return __real_syscall(number, a, b, c, d, e, f);
}

struct scene {
    _Atomic int step;
    int groups;
};

static void await(struct rank *r, int step)
{
    const struct scene *scene = r->shared;

    while (atomic_load(&scene->step) < step)
        usleep(100);
}

static void reach(struct rank *r, int step)
{
    atomic_store(&((struct scene *)r->shared)->step, step);
}

static int groups = 1;

static void run_on(enum crew_kind kind, const char *transport, int ranks, int failures,
                   crew_body body)
{
    struct scene *scene = crew_share(sizeof *scene);
    ncoll_params params;

    scene->groups = groups;
    ncoll_params_init(&params, sizeof params);
    params.transport = transport;
#ifdef NCOLL_SOFT_DEVICE
    soft_reset();
#endif
    assert_int_equal(crew_run(kind, ranks, &params, 120, body, scene), failures);
    crew_unshare(scene, sizeof *scene);
}

static void run(int ranks, crew_body body)
{
    run_on(CREW_PROCESSES, "shm", ranks, 0, body);
}

static int sleep_on(int fd, int timeout_ms)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};

    return poll(&pollfd, 1, timeout_ms);
}

/* ------------------------------------------------------------------ none is lost -------------- */

/* What one rank does: a request at a time on each group, in an order of its own, and a call that is
 * made again and again. */
struct worker {
    int n;
    ncoll_group *groups[GROUPS];
    ncoll_request *requests[GROUPS];
    int64_t in[GROUPS], out[GROUPS];
    int rounds[GROUPS];
    unsigned sleeps, lost;
};

static int start_one(const struct rank *r, struct worker *w, int i)
{
    w->in[i] = r->rank + w->rounds[i];
    w->rounds[i]++;
    return ncoll_allreduce_start(w->groups[i], &w->in[i], &w->out[i], 1, NCOLL_INT64, NCOLL_SUM,
                                 &w->requests[i]);
}

/* Returns NCOLL_OK if all groups have done their rounds. */
static int turn(struct rank *r, struct worker *w)
{
    int unfinished = 0;

    for (int i = 0; i < w->n; i++) {
        if (w->requests[i] != NULL) {
            int status = ncoll_test(&w->requests[i]);
            if (status < 0)
                return status;
            if (status == NCOLL_OK &&
                w->out[i] != r->ranks * (w->rounds[i] - 1) + r->ranks * (r->ranks - 1) / 2)
                return NCOLL_ERR_INTERNAL;
        }
        if (w->requests[i] == NULL && w->rounds[i] < ROUNDS && random_below(&r->own, 3) > 0) {
            int status = start_one(r, w, i);
            if (status != NCOLL_OK)
                return status;
        }
        unfinished += w->requests[i] != NULL || w->rounds[i] < ROUNDS;
    }
    return unfinished > 0 ? NCOLL_TIMEOUT : NCOLL_OK;
}

/* True if the program itself has something left to start. */
static bool has_own_work(const struct worker *w)
{
    for (int i = 0; i < w->n; i++)
        if (w->requests[i] == NULL && w->rounds[i] < ROUNDS)
            return true;
    return false;
}

/* Sleeps in the library for once. */
static int block(struct worker *w)
{
    uint64_t begin_ns = crew_now_ns();
    size_t index;
    int rc = ncoll_wait_any(w->requests, (size_t)w->n, &index, NCOLL_BLOCK);

    w->lost += crew_now_ns() - begin_ns > (uint64_t)LOST_MS * 1000000;
    return rc;
}

static int work(struct rank *r)
{
    struct worker w = {.n = ((struct scene *)r->shared)->groups, .groups = {r->world}};
    int fd, status;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_group_dup(r->world, &w.groups[1], NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, 0, -r->rank, &w.groups[2], NCOLL_BLOCK), NCOLL_OK);
    while ((status = turn(r, &w)) == NCOLL_TIMEOUT) {
        for (volatile unsigned delay = (unsigned)random_below(&r->own, 2000); delay > 0; delay--)
            ;
        if (has_own_work(&w))
            continue;
        if (random_below(&r->own, 4) == 0) {
            CHECK_STATUS(block(&w), NCOLL_OK);
            continue;
        }
        status = ncoll_context_arm(r->ctx);
        CHECK(status >= 0);
        if (status == NCOLL_TIMEOUT)
            continue;
        w.sleeps++;
        if (sleep_on(fd, LOST_MS) != 1)
            w.lost++;
        CHECK(w.lost == 0);
    }
    CHECK_STATUS(status, NCOLL_OK);
    CHECK(w.lost == 0);
    CHECK(w.n > 1 || w.sleeps > ROUNDS / 100);
    return 0;
}

static void test_none_is_lost(void **state)
{
    (void)state;
    no_slow_ticks = true;
    for (groups = 1; groups <= GROUPS; groups += GROUPS - 1) {
        for (int ranks = 2; ranks <= RANKS; ranks++)
            run(ranks, work);
        run_on(CREW_THREADS, "shm", 2, 0, work);
        run_on(CREW_THREADS, "shm", 3, 0, work);
    }
    no_slow_ticks = false;
}

#ifdef NCOLL_SOFT_DEVICE
static void test_none_is_lost_over_verbs(void **state)
{
    (void)state;
    no_slow_ticks = true;
    for (groups = 1; groups <= GROUPS; groups += GROUPS - 1) {
        run_on(CREW_THREADS, "verbs", 2, 0, work);
        run_on(CREW_THREADS, "verbs", 3, 0, work);
        run_on(CREW_THREADS, "shm+verbs", 3, 0, work);
    }
    no_slow_ticks = false;
}
#endif

/* ------------------------------------------------------------------ sleeping ------------------ */

#define LATE_US 400000

/* Rank 0 waits for a late one: it uses no processor, and is woken a few times at most. */
static int wait_for_late(struct rank *r)
{
    ncoll_request *request;
    unsigned sleeps = 0;
    int fd, status;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1)
        usleep(LATE_US);
    uint64_t begin_us = crew_cpu_us();
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
    while ((status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
        status = ncoll_context_arm(r->ctx);
        CHECK(status >= 0);
        if (status == NCOLL_OK)
            sleeps += sleep_on(fd, LOST_MS) == 1;
    }
    CHECK_STATUS(status, NCOLL_OK);
    CHECK(r->rank == 1 || (sleeps > 0 && sleeps < 30));
    CHECK(crew_cpu_us() - begin_us < LATE_US / 20 * HANG_FACTOR);
    return 0;
}

static void test_uses_no_processor(void **state)
{
    (void)state;
    run(2, wait_for_late);
}

/* A rank without calls is not woken by messages for calls that it makes later. */
static int idle(struct rank *r)
{
    int fd;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1) {
        while (ncoll_context_arm(r->ctx) == NCOLL_TIMEOUT)
            ;
        reach(r, 1);
        CHECK(sleep_on(fd, 100) == 0);
    } else {
        await(r, 1);
    }
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static void test_idle(void **state)
{
    (void)state;
    run(2, idle);
}

/* A request that another call has ended is tested before the program sleeps. */
static int ended_meanwhile(struct rank *r)
{
    ncoll_request *requests[2];
    ncoll_group *other;
    int fd, status;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1)
        await(r, 1);
    CHECK_STATUS(ncoll_barrier_start(r->world, &requests[0]), NCOLL_OK);
    if (r->rank == 1) {
        CHECK_STATUS(ncoll_wait(&requests[0], NCOLL_BLOCK), NCOLL_OK);
        reach(r, 2);
        return 0;
    }
    CHECK_STATUS(ncoll_test(&requests[0]), NCOLL_TIMEOUT);
    while ((status = ncoll_context_arm(r->ctx)) == NCOLL_TIMEOUT)
        ;
    CHECK_STATUS(status, NCOLL_OK);
    reach(r, 1);
    await(r, 2);
    CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK); /* ends it */
    CHECK_STATUS(ncoll_context_arm(r->ctx), NCOLL_TIMEOUT);
    CHECK_STATUS(ncoll_test(&requests[0]), NCOLL_OK);
    CHECK_STATUS(ncoll_context_arm(r->ctx), NCOLL_OK);
    return 0;
}

static void test_ended_meanwhile(void **state)
{
    (void)state;
    run(2, ended_meanwhile);
}

/* ------------------------------------------------------------------ failures ------------------ */

/* The end of a peer wakes a rank that sleeps, as soon as the kernel knows it. */
static int outlive(struct rank *r)
{
    ncoll_request *request;
    int fd, status;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1) {
        await(r, 1);
        usleep(100000);
        raise(SIGKILL);
    }
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
    while ((status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
        status = ncoll_context_arm(r->ctx);
        if (status < 0)
            break;
        if (status == NCOLL_OK) {
            reach(r, 1);
            CHECK(sleep_on(fd, LOST_MS) == 1);
        }
    }
    CHECK_STATUS(status, NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == 1);
    return 0;
}

static void test_death_wakes(void **state)
{
    (void)state;
    no_slow_ticks = true;
    run_on(CREW_PROCESSES, "shm", 2, 1, outlive);
    no_slow_ticks = false;
}

/* A sender without a descriptor for the bell of its peer wakes it all the same. */
static int wake_without_descriptors(struct rank *r)
{
    ncoll_request *request;
    struct rlimit limit;
    int fd, status;

    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1) {
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = 64;
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        while (dup(0) >= 0)
            ;
    }
    for (int round = 0; round < 20; round++) {
        if (r->rank == 1) {
            await(r, round + 1);
            usleep(2000);
        }
        CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
        while ((status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
            status = r->rank == 0 ? ncoll_context_arm(r->ctx) : NCOLL_TIMEOUT;
            CHECK(status >= 0);
            if (status == NCOLL_OK) {
                reach(r, round + 1);
                CHECK(sleep_on(fd, LOST_MS) == 1);
            }
        }
        CHECK_STATUS(status, NCOLL_OK);
    }
    return 0;
}

static void test_no_descriptors(void **state)
{
    (void)state;
    no_slow_ticks = true;
    run(2, wake_without_descriptors);
    no_slow_ticks = false;
}

/* ------------------------------------------------------------------ wrong calls --------------- */

static int wrong(struct rank *r)
{
    int fd = -1, again = -2;

    CHECK_STATUS(ncoll_context_arm(NULL), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_context_fd(NULL, &fd), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_context_arm(r->ctx), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_context_fd(r->ctx, NULL), NCOLL_ERR_ARGUMENT);
    CHECK(fd == -1);
    CHECK_STATUS(ncoll_context_fd(r->ctx, &fd), NCOLL_OK);
    CHECK_STATUS(ncoll_context_fd(r->ctx, &again), NCOLL_OK);
    CHECK(fd >= 0 && fd == again);
    return 0;
}

static void test_wrong(void **state)
{
    (void)state;
    run(1, wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_uses_no_processor),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_ended_meanwhile),
        cmocka_unit_test(test_death_wakes),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_none_is_lost),
#ifdef NCOLL_SOFT_DEVICE
        cmocka_unit_test(test_none_is_lost_over_verbs),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
