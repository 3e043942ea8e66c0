/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A limit of locked memory that is too low. The device, which is made of memory, refuses to register
 * more, as a kernel does. A window is registered as far as calls use it, so the limit may be enough
 * for a context, and for short calls. The call that needs more says what the limit is, how much it
 * needs, and how to raise it. Ranks are threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/blackboard.h"
#include "test/support/hang.h"
#include "test/support/soft_device.h"

#define RANKS      4
#define LONG_COUNT ((size_t)1 << 18)
#define LOCK_KIB   1024

struct member {
    pthread_t thread;
    ncoll_params params;
    int created, shorts, longs;
    ncoll_error error;
};
static struct member members[RANKS];

/* The limit, how much is needed, and the remedy. */
static bool says_limit(const ncoll_error *error)
{
    unsigned long long limit_kib, more_kib;
    const char *at = strstr(error->cause, "the limit of locked memory (memlock) is ");

    return at != NULL &&
           sscanf(at,
                  "the limit of locked memory (memlock) is %llu KiB and memory for messages needs "
                  "%llu KiB more",
                  &limit_kib, &more_kib) == 2 &&
           limit_kib == LOCK_KIB && more_kib > 0 &&
           strstr(error->remedy, "ulimit -l unlimited") != NULL;
}

static int sum_up(ncoll_context *ctx, size_t count)
{
    int64_t *x = calloc(count, sizeof *x);

    x[count - 1] = 1;
    int rc = ncoll_allreduce(ncoll_world(ctx), x, x, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (rc == NCOLL_OK && x[count - 1] != RANKS)
        rc = 1;
    free(x);
    return rc;
}

static void *take_part(void *arg)
{
    struct member *m = arg;
    ncoll_context *ctx;

    if ((m->created = ncoll_context_create(&m->params, &ctx, &m->error)) != NCOLL_OK)
        return NULL;
    for (int i = 0; i < 20 && m->shorts == NCOLL_OK; i++)
        m->shorts = sum_up(ctx, 1);
    if (m->shorts == NCOLL_OK)
        m->longs = sum_up(ctx, LONG_COUNT);
    m->error = *ncoll_last_error(ctx);
    ncoll_context_destroy(ctx);
    return NULL;
}

static void run(size_t lock_bytes)
{
    struct blackboard *board = blackboard_create(RANKS);

    soft_reset();
    soft.lock_most = lock_bytes;
    hang_after(120);
    for (int r = 0; r < RANKS; r++) {
        members[r] = (struct member){0};
        ncoll_params_init(&members[r].params, sizeof members[r].params);
        blackboard_join(board, r, &members[r].params);
        members[r].params.transport = "verbs";
        members[r].params.log_level = 0;
        assert_int_equal(pthread_create(&members[r].thread, NULL, take_part, &members[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(members[r].thread, NULL);
    hang_after(0);
    blackboard_destroy(board);
    assert_int_equal(soft.objects, 0);
}

/* The ranks that find it say so. Another one may hear of their failure before it finds the same, and
 * then names one of them. */
static void test_long_call(void **state)
{
    unsigned own = 0;

    (void)state;
    run(0);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(members[r].longs, NCOLL_OK);
    run((size_t)LOCK_KIB << 10);
    for (int r = 0; r < RANKS; r++) {
        const struct member *m = &members[r];
        assert_int_equal(m->created, NCOLL_OK);
        assert_int_equal(m->shorts, NCOLL_OK);
        bool finds = m->longs == NCOLL_ERR_RESOURCE, hears = m->longs == NCOLL_ERR_PEER;
        if (!(finds && says_limit(&m->error)) &&
            !(hears && m->error.peer >= 0 && members[m->error.peer].longs == NCOLL_ERR_RESOURCE))
            fail_msg("rank %d: %d, %s", r, m->longs, m->error.text);
        own += finds;
    }
    assert_true(own > 0);
}

/* Not enough for a context. Here the reason reaches all ranks. */
static void test_creation(void **state)
{
    unsigned own = 0;

    (void)state;
    run(4096);
    for (int r = 0; r < RANKS; r++) {
        const struct member *m = &members[r];
        own += m->created == NCOLL_ERR_RESOURCE;
        if (!(m->created == NCOLL_ERR_RESOURCE && says_limit(&m->error)) &&
            !(m->created == NCOLL_ERR_PEER && strstr(m->error.cause, "(memlock) is") != NULL))
            fail_msg("rank %d: %d, %s", r, m->created, m->error.text);
    }
    assert_true(own > 0);
}

static int lower(void **state)
{
    struct rlimit limit;

    (void)state;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return -1;
    limit.rlim_cur = (rlim_t)LOCK_KIB << 10;
    return limit.rlim_max >= limit.rlim_cur ? setrlimit(RLIMIT_MEMLOCK, &limit) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_call),
        cmocka_unit_test(test_creation),
    };

    return cmocka_run_group_tests_name("memlock", tests, lower, NULL);
}
