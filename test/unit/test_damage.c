/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that are changed on their way through the bootstrap, a few in one blob of a job, drawn by
 * seed. Whatever they are: each rank gets an error or goes on with right results, in time, and no
 * memory is touched that should not be.
 *
 * Most damage is found by the sum of a blob. So half of the time the sum is made right again: what is
 * in the blob then has to be checked for what it can be.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ncoll.h"
#include "test/support/blackboard.h"
#include "test/support/hang.h"
#include "test/support/seed.h"
#ifdef NCOLL_HAVE_VERBS
#include "test/support/soft_device.h"
#endif

#define RANKS     3
#define TRIALS    24
#define TIMEOUT   INT64_C(300000000)
#define SUM_AT    8 /* of a blob's first word, see lib/job/exchange.c */
#define BLOB_FROM 16

struct trial {
    struct random dice;
    int victim, from, blob; /* who gets the damaged blob, whose, and which of them, from 0 */
    bool repaired;
    const char *transport;
    struct seat {
        struct trial *trial;
        ncoll_params params;
        ncoll_bootstrap_callbacks real;
        int gets; /* from `from` */
        int created, called;
        int64_t sum;
        ncoll_error error;
    } seats[RANKS];
};

static uint64_t add(uint64_t sum, const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, len - at < 8 ? len - at : 8);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        sum ^= sum >> 29;
    }
    return sum;
}

/* Makes the sum of a blob right, as lib/job/exchange.c does. */
static void repair(unsigned char *blob, size_t len)
{
    uint64_t sum = add(add(len - BLOB_FROM, blob, SUM_AT), blob + BLOB_FROM, len - BLOB_FROM);

    memcpy(blob + SUM_AT, &sum, sizeof sum);
}

/* The sum of a blob that is not damaged is right already; if not, this test has another sum than
 * the library. */
static void check_repair(unsigned char *blob, size_t len)
{
    uint64_t sum, again;

    memcpy(&sum, blob + SUM_AT, sizeof sum);
    repair(blob, len);
    memcpy(&again, blob + SUM_AT, sizeof again);
    if (sum != again) {
        fprintf(stderr, "repair() makes another sum than lib/job/exchange.c\n");
        abort();
    }
}

/* An odd number of bits is turned: of an even one all could be the same bit, and nothing would have changed. */
static void damage(struct trial *t, unsigned char *blob, size_t *len)
{
    size_t begin = t->repaired && *len > BLOB_FROM ? BLOB_FROM : 0;

    if (*len >= BLOB_FROM)
        check_repair(blob, *len);
    if (random_below(&t->dice, 8) == 0)
        *len -= random_below(&t->dice, *len - begin + 1);
    for (uint64_t n = 1 + 2 * random_below(&t->dice, 2); n > 0 && *len > begin; n--)
        blob[begin + random_below(&t->dice, *len - begin)] ^= 1u << random_below(&t->dice, 8);
    if (t->repaired && *len >= BLOB_FROM)
        repair(blob, *len);
}

static int put(void *arg, const char *key, const void *value, size_t len)
{
    struct seat *s = arg;

    return s->real.put(s->real.arg, key, value, len);
}

static int fence(void *arg, int64_t timeout_ns)
{
    struct seat *s = arg;

    return s->real.fence(s->real.arg, timeout_ns);
}

static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    struct seat *s = arg;
    struct trial *t = s->trial;
    size_t room = *len;
    int rc = s->real.get(s->real.arg, rank, key, value, len);

    if (rc == 0 && rank == t->from && s == &t->seats[t->victim] && *len <= room && *len > 0 &&
        s->gets++ == t->blob)
        damage(t, value, len);
    return rc;
}

static void *run_rank(void *arg)
{
    struct seat *s = arg;
    int64_t in = s->params.rank + 1;
    ncoll_context *ctx;

    s->created = ncoll_context_create(&s->params, &ctx, &s->error);
    if (s->created != NCOLL_OK)
        return NULL;
    s->called = ncoll_allreduce(ncoll_world(ctx), &in, &s->sum, 1, NCOLL_INT64, NCOLL_SUM, TIMEOUT);
    ncoll_context_destroy(ctx);
    return NULL;
}

static void run(struct trial *t)
{
    struct blackboard *board = blackboard_create(RANKS);
    pthread_t threads[RANKS];

#ifdef NCOLL_HAVE_VERBS
    soft_reset();
#endif
    for (int r = 0; r < RANKS; r++) {
        struct seat *s = &t->seats[r];
        *s = (struct seat){.trial = t};
        ncoll_params_init(&s->params, sizeof s->params);
        blackboard_join(board, r, &s->params);
        s->real = s->params.callbacks;
        s->params.callbacks = (ncoll_bootstrap_callbacks){put, fence, get, s};
        s->params.transport = t->transport;
        s->params.bootstrap_timeout_ns = TIMEOUT;
        s->params.log_level = NCOLL_LOG_NONE;
        s->params.window_bytes = 1 << 16;
        if (pthread_create(&threads[r], NULL, run_rank, s) != 0)
            abort();
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    blackboard_destroy(board);
}

/* A rank that has a result has the right one; a damaged blob of which the sum tells is an error. */
static void expect_error_or_right(const struct trial *t, uint64_t i)
{
    for (int r = 0; r < RANKS; r++) {
        const struct seat *s = &t->seats[r];
        if (s->created == NCOLL_OK && s->called == NCOLL_OK && s->sum != RANKS * (RANKS + 1) / 2)
            fail_msg("trial %llu: rank %d has the sum %lld", (unsigned long long)i, r,
                     (long long)s->sum);
        if (s->created > 0)
            fail_msg("trial %llu: rank %d: status %d", (unsigned long long)i, r, s->created);
    }
    const struct seat *victim = &t->seats[t->victim];
    if (!t->repaired && victim->gets > t->blob && victim->created == NCOLL_OK)
        fail_msg("trial %llu: rank %d believes what was changed", (unsigned long long)i, t->victim);
}

static void run_trials(const char *transport, bool may_repair)
{
    uint64_t seed = test_seed();

    for (uint64_t i = 0; i < TRIALS; i++) {
        struct trial t = {.dice = random_stream(seed, i), .transport = transport};
        t.victim = (int)random_below(&t.dice, RANKS);
        t.from = (t.victim + 1 + (int)random_below(&t.dice, RANKS - 1)) % RANKS;
        t.blob = (int)random_below(&t.dice, 3);
        t.repaired = may_repair && i % 2 == 1;
        hang_after(60);
        run(&t);
        expect_error_or_right(&t, i);
    }
}

static void test_shm(void **state)
{
    (void)state;
    run_trials("shm", true);
}

#ifdef NCOLL_HAVE_VERBS
/* Addresses that are wrong and look right are refused by a device, which this one in the process is
 * not: here the sum is never made right. */
static void test_verbs(void **state)
{
    (void)state;
    run_trials("verbs", false);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shm),
#ifdef NCOLL_HAVE_VERBS
        cmocka_unit_test(test_verbs),
#endif
    };
    return cmocka_run_group_tests_name("damage", tests, NULL, NULL);
}
