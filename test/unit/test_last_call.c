/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Last calls that some ranks make and others do not, and that wait for nobody: they are found when
 * the ranks destroy their contexts, whichever does so first, and no correct program is accused.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/support/crew.h"

#ifdef NCOLL_SOFT_DEVICE
#include "test/support/soft_device.h"
#endif

#define RANKS_MAX 9
#define LINES_MAX 64
#define GROUPS    6

/* The one who destroys its context first, or last: the culprit, or nobody in particular. */
enum order { CULPRIT_FIRST, CULPRIT_LAST, TOGETHER, ORDERS };

struct scenario;

/* Shared by the ranks of a crew. */
struct job {
    const struct scenario *scenario;
    enum order order;
    _Atomic int made, left; /* ranks that have made their calls; that have left */
    _Atomic int roots;      /* roots whose bcast has ended: other_roots() */
    _Atomic unsigned lines;
    char line[LINES_MAX][768];
};

struct scenario {
    const char *name;
    int (*body)(
        struct rank *r); /* the calls after those that all have made alike; 0: as expected */
    bool (*tells_truth)(const char *line, int ranks); /* NULL: nothing is to be said */
    bool culprit_is_last;                             /* the last rank, not rank 0 */
};

static int64_t in[RANKS_MAX], out[RANKS_MAX];

static void on_log(void *arg, ncoll_log_level level, const char *text)
{
    struct job *j = arg;
    unsigned n = atomic_fetch_add(&j->lines, 1);

    (void)level;
    if (n < LINES_MAX)
        snprintf(j->line[n], sizeof j->line[n], "%s", text);
}

static void wait_until(const _Atomic int *count, int n)
{
    while (atomic_load(count) < n)
        sched_yield();
}

static bool is_culprit(const struct rank *r)
{
    const struct job *j = r->shared;

    return r->rank == (j->scenario->culprit_is_last ? r->ranks - 1 : 0);
}

static int leave(struct rank *r)
{
    struct job *j = r->shared;

    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    atomic_fetch_add(&j->left, 1);
    return 0;
}

/* ------------------------------------------------------------------ calls --------------------- */

static int bcast(struct rank *r, ncoll_group *group, int root)
{
    int64_t number = r->rank;

    CHECK_STATUS(ncoll_bcast(group, &number, 1, NCOLL_INT64, root, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static int reduce(struct rank *r)
{
    int64_t mine = r->rank, sum;

    CHECK_STATUS(ncoll_reduce(r->world, &mine, &sum, 1, NCOLL_INT64, NCOLL_SUM, 0, NCOLL_BLOCK),
                 NCOLL_OK);
    return 0;
}

/* All are connected for what comes then, and have made the same calls. */
static int agree(struct rank *r)
{
    CHECK(bcast(r, r->world, 0) == 0 && bcast(r, r->world, 1) == 0 && reduce(r) == 0);
    CHECK_STATUS(ncoll_gather(r->world, in, out, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

static int bcast_alone(struct rank *r)
{
    return is_culprit(r) ? bcast(r, r->world, 0) : 0;
}

static int several_alone(struct rank *r)
{
    if (!is_culprit(r))
        return 0;
    CHECK(bcast(r, r->world, 0) == 0);
    CHECK_STATUS(ncoll_scatter(r->world, in, out, 0, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
    return bcast(r, r->world, 0);
}

static int reduce_alone(struct rank *r)
{
    return is_culprit(r) ? reduce(r) : 0;
}

/* The two roots write to the same slots, which is this program's mistake: one does so after the
 * other. */
static int other_roots(struct rank *r)
{
    struct job *j = r->shared;
    int failed;

    if (r->rank > 1)
        return 0;
    wait_until(&j->roots, r->rank);
    failed = bcast(r, r->world, r->rank);
    atomic_fetch_add(&j->roots, 1);
    return failed;
}

static int on_copy(struct rank *r)
{
    ncoll_group *copy;

    CHECK_STATUS(ncoll_group_dup(r->world, &copy, NCOLL_BLOCK), NCOLL_OK);
    CHECK(bcast(r, copy, 0) == 0);
    CHECK_STATUS(ncoll_barrier(copy, NCOLL_BLOCK), NCOLL_OK);
    return is_culprit(r) ? bcast(r, copy, 0) : 0;
}

static int on_first_of_many(struct rank *r)
{
    ncoll_group *copies[GROUPS];

    for (unsigned i = 0; i < GROUPS; i++) {
        CHECK_STATUS(ncoll_group_dup(r->world, &copies[i], NCOLL_BLOCK), NCOLL_OK);
        CHECK(bcast(r, copies[i], 0) == 0);
        CHECK_STATUS(ncoll_barrier(copies[i], NCOLL_BLOCK), NCOLL_OK);
    }
    return is_culprit(r) ? bcast(r, copies[0], 0) : 0;
}

/* ------------------------------------------------------------------ what is said -------------- */

/* "rank A called CALL, which rank B did not", for the culprit and another one. */
static bool tells_one(const char *line, int ranks, int culprit, const char *call, const char *where)
{
    char phrase[128], other[64];
    int others = 0;

    snprintf(phrase, sizeof phrase, "rank %d called %s", culprit, call);
    for (int r = 0; r < ranks; r++) {
        snprintf(other, sizeof other, ", rank %d did not", r);
        others += r != culprit && strstr(line, other) != NULL;
    }
    return strstr(line, phrase) != NULL && others == 1 && strstr(line, where) != NULL;
}

static bool tells_bcast(const char *line, int ranks)
{
    return tells_one(line, ranks, 0, "bcast of 1 int64, root 0 (", "on the world");
}

static bool tells_reduce(const char *line, int ranks)
{
    return tells_one(line, ranks, ranks - 1, "reduce of 1 int64, sum, root 0 (", "on the world");
}

static bool tells_copy(const char *line, int ranks)
{
    return tells_one(line, ranks, 0, "bcast of 1 int64, root 0 (", "on a group of");
}

static bool tells_ranks(const char *line, int ranks)
{
    char phrase[64];
    int others = 0;

    for (int r = 1; r < ranks; r++) {
        snprintf(phrase, sizeof phrase, "rank 0 and rank %d ", r);
        others += strstr(line, phrase) != NULL;
        snprintf(phrase, sizeof phrase, "rank %d and rank 0 ", r);
        others += strstr(line, phrase) != NULL;
    }
    return others == 1;
}

static bool tells_roots(const char *line, int ranks)
{
    return (strstr(line, "rank 0 called bcast of 1 int64, root 0 (") != NULL &&
            strstr(line, "rank 1 called bcast of 1 int64, root 1 (") != NULL) ||
           tells_bcast(line, ranks) ||
           tells_one(line, ranks, 1, "bcast of 1 int64, root 1 (", "on the world");
}

/* ------------------------------------------------------------------ correct programs ---------- */

static int nothing(struct rank *r)
{
    (void)r;
    return 0;
}

/* The culprit, who has done nothing, has gone before the others make the call. */
static int leave_early(struct rank *r)
{
    struct job *j = r->shared;

    CHECK(!is_culprit(r) || (bcast(r, r->world, 0) == 0 && leave(r) == 0));
    wait_until(&j->left, 1);
    return is_culprit(r) ? 0 : bcast(r, r->world, 0);
}

/* Frees go on together, in any order. */
static int free_in_any_order(struct rank *r)
{
    ncoll_group *copies[GROUPS];
    int freed = 0;

    for (unsigned i = 0; i < GROUPS; i++)
        CHECK_STATUS(ncoll_group_dup(r->world, &copies[i], NCOLL_BLOCK), NCOLL_OK);
    for (unsigned i = (unsigned)r->rank; freed < GROUPS; i++) {
        ncoll_group **copy = &copies[i % GROUPS];
        int rc = *copy != NULL ? ncoll_group_free(copy, NCOLL_TEST) : NCOLL_TIMEOUT;
        CHECK(rc == NCOLL_OK || rc == NCOLL_TIMEOUT);
        freed += rc == NCOLL_OK;
    }
    return 0;
}

/* Groups that others are not in, or nobody else: what is called there is nobody else's matter. */
static int on_groups_of_some(struct rank *r)
{
    ncoll_group *even, *own;
    int color = r->rank % 2 == 0 ? 0 : -1;

    CHECK_STATUS(ncoll_group_split(r->world, color, 0, &even, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank, 0, &own, NCOLL_BLOCK), NCOLL_OK);
    for (int i = 0; i <= r->rank; i++)
        CHECK(bcast(r, own, 0) == 0);
    if (even != NULL)
        CHECK_STATUS(ncoll_barrier(even, NCOLL_BLOCK), NCOLL_OK);
    return 0;
}

/* A rank that gives up a call says nothing of it, and nothing is said of the rank. */
static int leave_unfinished(struct rank *r)
{
    int rc = is_culprit(r) ? ncoll_barrier(r->world, NCOLL_TEST) : NCOLL_TIMEOUT;

    CHECK_STATUS(rc, NCOLL_TIMEOUT);
    return 0;
}

/* Without the culprit the others' call fails, which they know already. */
static int leave_too_early(struct rank *r)
{
    struct job *j = r->shared;
    int64_t number;

    atomic_fetch_add(&j->made, 1); /* nobody is in an earlier call when it fails */
    wait_until(&j->made, r->ranks);
    if (is_culprit(r))
        return leave(r);
    wait_until(&j->left, 1);
    CHECK_STATUS(ncoll_allreduce(r->world, in, &number, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_ERR_PEER);
    return 0;
}

static const struct scenario scenarios[] = {
    {"bcast by the root alone", bcast_alone, tells_bcast},
    {"several calls by the root alone", several_alone, tells_bcast},
    {"reduce by a leaf alone", reduce_alone, tells_reduce, true},
    {"bcasts with other roots", other_roots, tells_roots},
    {"bcast on a copy", on_copy, tells_copy},
    {"bcast on the first of many copies", on_first_of_many, tells_ranks},
    {"nothing", nothing, NULL},
    {"early leaver", leave_early, NULL},
    {"groups freed in any order", free_in_any_order, NULL},
    {"groups of some ranks", on_groups_of_some, NULL},
    {"unfinished call", leave_unfinished, NULL},
    {"rank that left too early", leave_too_early, NULL, true},
};

/* ------------------------------------------------------------------ running ------------------- */

static int body(struct rank *r)
{
    struct job *j = r->shared;

    CHECK(agree(r) == 0 && j->scenario->body(r) == 0);
    if (r->ctx == NULL)
        return 0;
    atomic_fetch_add(&j->made, 1);
    if (j->scenario->body == leave_early || j->scenario->body == leave_too_early)
        return leave(r);
    wait_until(&j->made, r->ranks);
    if (j->order != TOGETHER && is_culprit(r) == (j->order == CULPRIT_LAST))
        wait_until(&j->left, j->order == CULPRIT_LAST ? r->ranks - 1 : 1);
    return leave(r);
}

static void run(enum crew_kind kind, const char *transport, const struct scenario *scenario,
                int ranks, enum order order)
{
    struct job *j = crew_share(sizeof *j);
    ncoll_params params;

    ncoll_params_init(&params, sizeof params);
    params.transport = transport;
    params.log = on_log;
    params.log_arg = j;
    params.log_level = NCOLL_LOG_WARN;
    j->scenario = scenario;
    j->order = order;
#ifdef NCOLL_SOFT_DEVICE
    soft_reset();
#endif
    int failed = crew_run(kind, ranks, &params, 60, body, j);
    unsigned lines = atomic_load(&j->lines);
    if (failed > 0 || lines > LINES_MAX || (lines > 0) != (scenario->tells_truth != NULL))
        fail_msg("%s, %s, %d ranks, order %d: %d ranks failed, %u lines, %s", scenario->name,
                 transport, ranks, order, failed, lines, j->line[0]);
    for (unsigned i = 0; i < lines; i++)
        if (!scenario->tells_truth(j->line[i], ranks))
            fail_msg("%s, %s, %d ranks, order %d: %s", scenario->name, transport, ranks, order,
                     j->line[i]);
    assert_true(lines <= (unsigned)ranks);
    crew_unshare(j, sizeof *j);
}

static void run_all(enum crew_kind kind, const char *transport)
{
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        for (int ranks = 2; ranks <= RANKS_MAX;
             ranks += kind == CREW_PROCESSES || ranks < 3 ? 1 : 3)
            for (enum order order = 0; order < ORDERS; order++)
                run(kind, transport, &scenarios[i], ranks, order);
}

static void test_processes(void **state)
{
    (void)state;
    run_all(CREW_PROCESSES, "shm");
}

static void test_threads(void **state)
{
    (void)state;
    run_all(CREW_THREADS, "shm");
}

#ifdef NCOLL_SOFT_DEVICE
static void test_verbs(void **state)
{
    (void)state;
    run_all(CREW_THREADS, "verbs");
}

static void test_shm_verbs(void **state)
{
    (void)state;
    run_all(CREW_THREADS, "shm+verbs");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_threads),
#ifdef NCOLL_SOFT_DEVICE
        cmocka_unit_test(test_verbs),
        cmocka_unit_test(test_shm_verbs),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
