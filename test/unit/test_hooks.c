/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks: each call of the program has one begin and one end, and what they say is right. */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ncoll_eventual.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define COUNT    20
#define RANKS    5
#define LIMIT_NS (HANG_FACTOR * INT64_C(20000000000))
#define LATE_NS  30000000
#define MOST     64

/* What the hooks have seen. */
struct seen {
    ncoll_context *ctx;
    unsigned begins, ends, open;
    ncoll_call_info at_begin, at_end; /* of the latest call */
    uint64_t id[MOST];                /* of calls that have begun, [begins]; 0: it has ended */
    int status, busy;
};

static void *begins(const ncoll_call_info *call, void *user)
{
    struct seen *s = user;

    s->at_begin = *call;
    s->busy += ncoll_barrier((ncoll_group *)(uintptr_t)call->group, NCOLL_TEST) == NCOLL_ERR_BUSY;
    s->id[s->begins % MOST] = call->id;
    s->open++;
    return &s->id[s->begins++ % MOST];
}

static void ends(const ncoll_call_info *call, int status, void *begun, void *user)
{
    struct seen *s = user;
    uint64_t *id = begun;

    s->at_end = *call;
    s->status = status;
    s->ends += *id == call->id; /* once, and of a call that has begun */
    s->open--;
    *id = 0;
    s->busy += ncoll_progress(s->ctx) == NCOLL_ERR_BUSY;
}

static int set(struct rank *r, struct seen *s)
{
    const ncoll_hooks hooks = {.size = sizeof hooks, .begin = begins, .end = ends, .user = s};

    s->ctx = r->ctx;
    return ncoll_context_set_hooks(r->ctx, &hooks);
}

/* What a call is to be shown as. */
struct expected {
    const char *name;
    ncoll_call_kind kind;
    int root;
    size_t count, in, out; /* elements of int64_t */
};

static int check(struct rank *r, const struct seen *s, const struct expected *e,
                 ncoll_call_mode mode, unsigned before)
{
    const ncoll_call_info *i = &s->at_begin;

    if (s->begins != before + 1 || s->ends != before + 1 || strcmp(i->name, e->name) != 0)
        fprintf(stderr, "%s: %u begins and %u ends after %u, of %s\n", e->name, s->begins, s->ends,
                before, s->begins > 0 ? i->name : "none");
    CHECK(s->begins == before + 1 && s->ends == before + 1 && s->open == 0);
    CHECK(s->status == NCOLL_OK && s->busy == 2 * (int)s->ends);
    CHECK(i->size == sizeof *i && i->kind == e->kind && i->mode == mode);
    CHECK(strcmp(i->name, e->name) == 0 && i->root == e->root && i->count == e->count);
    CHECK(i->in_bytes == e->in * sizeof(int64_t) && i->out_bytes == e->out * sizeof(int64_t));
    CHECK(i->rank == r->rank && i->ranks == r->ranks && i->group == r->world && i->group_id == 0);
    CHECK(i->type == (e->kind == NCOLL_CALL_BARRIER ? 0 : NCOLL_INT64));
    CHECK(s->at_end.id == i->id && s->at_end.algorithm != NULL && s->at_end.radix != 0);
    CHECK(i->algorithm == s->at_end.algorithm || strcmp(e->name, "alltoallv") == 0);
    return 0;
}

static int64_t in[RANKS * COUNT], out[RANKS * COUNT];
static size_t counts[RANKS];

/* Makes call number `which` in one of its forms. Returns its status; *e says what hooks are told. */
static int make(struct rank *r, unsigned which, ncoll_call_mode mode, ncoll_request **request,
                struct expected *e)
{
    ncoll_group *g = r->world;
    size_t p = (size_t)r->ranks, own = counts[r->rank], all = p * (p + 1) / 2;
    int last = r->ranks - 1;
    bool root = r->rank == last;

#define MAKE(call_name, call_kind, root_, count_, in_, out_, ...)                                  \
    *e = (struct expected){#call_name, NCOLL_CALL_##call_kind, root_, count_, in_, out_};          \
    return mode == NCOLL_MODE_TIMEOUT   ? ncoll_##call_name(__VA_ARGS__, LIMIT_NS)                 \
           : mode == NCOLL_MODE_REQUEST ? ncoll_##call_name##_start(__VA_ARGS__, request)          \
                                        : ncoll_##call_name##_init(__VA_ARGS__, request)
    switch (which) {
    case 0:
        MAKE(barrier, BARRIER, -1, 0, 0, 0, g);
    case 1:
        MAKE(allreduce, ALLREDUCE, -1, COUNT, COUNT, COUNT, g, in, out, COUNT, NCOLL_INT64,
             NCOLL_SUM);
    case 2:
        MAKE(reduce, REDUCE, last, COUNT, COUNT, root ? COUNT : 0, g, in, out, COUNT, NCOLL_INT64,
             NCOLL_SUM, last);
    case 3:
        MAKE(bcast, BCAST, last, COUNT, root ? COUNT : 0, root ? 0 : COUNT, g, in, COUNT,
             NCOLL_INT64, last);
    case 4:
        MAKE(gather, GATHER, last, COUNT, COUNT, root ? p * COUNT : 0, g, in, out, COUNT,
             NCOLL_INT64, last);
    case 5:
        MAKE(gatherv, GATHER, last, 0, own, root ? all : 0, g, in, out, counts, NULL, NCOLL_INT64,
             last);
    case 6:
        MAKE(scatter, SCATTER, last, COUNT, root ? p * COUNT : 0, COUNT, g, in, out, COUNT,
             NCOLL_INT64, last);
    case 7:
        MAKE(scatterv, SCATTER, last, 0, root ? all : 0, own, g, in, counts, NULL, out, NCOLL_INT64,
             last);
    case 8:
        MAKE(allgather, ALLGATHER, -1, COUNT, COUNT, p * COUNT, g, in, out, COUNT, NCOLL_INT64);
    case 9:
        MAKE(allgatherv, ALLGATHER, -1, 0, own, all, g, in, out, counts, NULL, NCOLL_INT64);
    case 10:
        MAKE(alltoall, ALLTOALL, -1, COUNT, p * COUNT, p * COUNT, g, in, out, COUNT, NCOLL_INT64);
    case 11: {
        size_t got[RANKS];
        for (int q = 0; q < r->ranks; q++)
            got[q] = own;
        MAKE(alltoallv, ALLTOALL, -1, 0, all, p * own, g, in, counts, NULL, out, got, NULL,
             NCOLL_INT64);
    }
    case 12:
        MAKE(reduce_scatter, REDUCE_SCATTER, -1, 0, all, own, g, in, out, counts, NCOLL_INT64,
             NCOLL_SUM);
    case 13:
        MAKE(reduce_scatter_block, REDUCE_SCATTER, -1, COUNT, p * COUNT, COUNT, g, in, out, COUNT,
             NCOLL_INT64, NCOLL_SUM);
    case 14:
        MAKE(scan, SCAN, -1, COUNT, COUNT, COUNT, g, in, out, COUNT, NCOLL_INT64, NCOLL_SUM);
    default:
        MAKE(exscan, EXSCAN, -1, COUNT, COUNT, r->rank > 0 ? COUNT : 0, g, in, out, COUNT,
             NCOLL_INT64, NCOLL_SUM);
    }
#undef MAKE
}
#define CALLS 16

/* Every collective in its three forms, loose and strict. */
static int all_calls(struct rank *r)
{
    struct seen s = {0};
    struct expected e;

    for (int q = 0; q < r->ranks; q++)
        counts[q] = (size_t)q + 1;
    CHECK_STATUS(set(r, &s), NCOLL_OK);
    for (unsigned i = 0; i < 4 * CALLS; i++) {
        ncoll_request *request = NULL;
        CHECK_STATUS(ncoll_group_set_sync(r->world, i / CALLS), NCOLL_OK);
        for (int twice = 0; twice < 2; twice++) {
            unsigned before = s.begins;
            CHECK_STATUS(make(r, i % CALLS, NCOLL_MODE_TIMEOUT, NULL, &e), NCOLL_OK);
            CHECK(check(r, &s, &e, NCOLL_MODE_TIMEOUT, before) == 0);
        }
        unsigned before = s.begins;
        CHECK_STATUS(make(r, i % CALLS, NCOLL_MODE_REQUEST, &request, &e), NCOLL_OK);
        CHECK(s.begins == before + 1);
        CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
        CHECK(check(r, &s, &e, NCOLL_MODE_REQUEST, before) == 0);
        CHECK_STATUS(make(r, i % CALLS, NCOLL_MODE_PERSISTENT, &request, &e), NCOLL_OK);
        CHECK(s.begins == ++before); /* it has not been started */
        for (int start = 0; start < 2; start++) {
            CHECK_STATUS(ncoll_start(request), NCOLL_OK);
            CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
            CHECK(check(r, &s, &e, NCOLL_MODE_PERSISTENT, before++) == 0);
        }
        CHECK_STATUS(ncoll_request_free(&request), NCOLL_OK);
    }
    return 0;
}

/* Calls that time out have no end before they are done, and none that go on begin. Rank 0 comes when
 * the others have timed out. */
static int time_outs(struct rank *r)
{
    struct seen s = {0};
    _Atomic int *ranks_in = r->shared; /* that have timed out */
    int64_t one = 1, sum = 0;
    unsigned timed_out = 0;
    int rc;

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    while (r->rank == 0 && atomic_load(ranks_in) < r->ranks - 1)
        usleep(100);
    while ((rc = ncoll_allreduce(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_TEST)) ==
           NCOLL_TIMEOUT) {
        CHECK(s.begins == 2 && s.ends + s.open == 2);
        if (timed_out++ == 0)
            atomic_fetch_add(ranks_in, 1);
    }
    CHECK_STATUS(rc, NCOLL_OK);
    CHECK(s.begins == 2 && s.ends == 2 && sum == r->ranks && (r->rank == 0 || timed_out > 0));

    /* another one ends while the program makes progress, before it is called again */
    if (r->rank == 0)
        usleep(LATE_NS / 1000);
    rc = ncoll_barrier(r->world, NCOLL_TEST);
    for (uint64_t began = crew_now_ns(); s.ends < 3 && crew_now_ns() - began < LIMIT_NS;)
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK(s.begins == 3 && s.ends == 3 && s.open == 0);
    if (rc == NCOLL_TIMEOUT)
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 3 && s.ends == 3);
    return 0;
}

/* Calls that are refused are not shown; hooks may be set and removed at any time. */
static int setting(struct rank *r)
{
    struct seen s = {0}, other = {0};
    ncoll_hooks hooks = {.size = sizeof hooks - 1, .begin = begins, .user = &s};
    ncoll_request *request, *second;
    int64_t one = 1, sum = 0;

    CHECK_STATUS(ncoll_context_set_hooks(NULL, NULL), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_context_set_hooks(r->ctx, &hooks), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_context_set_hooks(r->ctx, NULL), NCOLL_OK);
    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, &one, &sum, 1, NCOLL_INT64, 999, LIMIT_NS),
                 NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_barrier(r->world, -1), NCOLL_ERR_ARGUMENT);
    CHECK(s.begins == 0 && s.ends == 0);
    /* rank 0 begins late, so that its peers' requests are unfinished */
    if (r->rank == 0)
        usleep(LATE_NS / 1000);
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
    CHECK_STATUS(set(r, &other), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(r->world, &second), NCOLL_OK);
    CHECK_STATUS(ncoll_context_set_hooks(r->ctx, NULL), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&second, LIMIT_NS), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 1 && s.ends == 1 && other.begins == 1 && other.ends == 1);
    /* a request from before has no end; it must not get one */
    if (r->rank == 0)
        usleep(LATE_NS / 1000);
    CHECK_STATUS(ncoll_barrier_start(r->world, &request), NCOLL_OK);
    CHECK_STATUS(set(r, &other), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK(other.begins == 1 && other.ends == 1);
    hooks = (ncoll_hooks){.size = sizeof hooks, .begin = begins, .user = &s};
    CHECK_STATUS(ncoll_context_set_hooks(r->ctx, &hooks), NCOLL_OK); /* without an end */
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 2 && s.ends == 1);
    return ncoll_context_set_hooks(r->ctx, NULL) != NCOLL_OK;
}

static int groups(struct rank *r)
{
    struct seen s = {0};
    ncoll_group *half, *copy, *list;
    int ranks[] = {1, 0};

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &half, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 1 && s.ends == 1 && s.at_end.kind == NCOLL_CALL_GROUP_SPLIT);
    CHECK(strcmp(s.at_end.name, "group_split") == 0 && s.at_end.group == r->world);
    CHECK_STATUS(ncoll_group_dup(half, &copy, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 2 && s.ends == 2 && s.at_end.group == half);
    CHECK_STATUS(ncoll_barrier(copy, LIMIT_NS), NCOLL_OK);
    CHECK(s.at_end.group == copy && s.at_end.group_id != 0);
    CHECK_STATUS(ncoll_group_from_ranks(r->world, ranks, 2, &list, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 4 && s.ends == 4 && s.at_end.kind == NCOLL_CALL_GROUP_FROM_RANKS);
    CHECK_STATUS(ncoll_group_free(&copy, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 5 && s.ends == 5 && s.at_end.kind == NCOLL_CALL_GROUP_FREE);
    CHECK(s.at_begin.group != NULL && s.at_end.group == NULL);
    CHECK_STATUS(ncoll_group_free(&r->world, LIMIT_NS), NCOLL_ERR_ARGUMENT);
    CHECK(s.begins == 5);
    /* one that is not finished ends with the context */
    if (r->rank == 0)
        CHECK_STATUS(ncoll_group_dup(half, &copy, NCOLL_TEST), NCOLL_TIMEOUT);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    ncoll_context_destroy(r->ctx);
    r->ctx = NULL;
    CHECK(s.begins == s.ends && s.begins == 6 + (r->rank == 0) && s.open == 0);
    return s.status != (r->rank == 0 ? NCOLL_ERR_PEER : NCOLL_OK);
}

/* A compressor that is busy refuses another call, which has not begun. */
static int busy_compressor(struct rank *r, struct seen *s, ncoll_compressor *compressor)
{
    double x[COUNT] = {1}, y[COUNT];
    ncoll_request *request, *refused;
    ncoll_group *other;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, LIMIT_NS), NCOLL_OK);
    unsigned begun = s->begins;
    for (int turn = 0; turn < 2;
         turn++) /* rank 0 starts first, and tries again before others start */
        if ((turn == 0) == (r->rank == 0)) {
            CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressor, x, y, COUNT,
                                                          NCOLL_DOUBLE, NCOLL_SUM, &request),
                         NCOLL_OK);
            if (r->rank == 0)
                CHECK_STATUS(ncoll_allreduce_compressed_start(r->world, compressor, x, y, COUNT,
                                                              NCOLL_DOUBLE, NCOLL_SUM, &refused),
                             NCOLL_ERR_BUSY);
            CHECK(s->begins == begun + 1 + (r->rank > 0));
        } else if (turn == 0 || r->rank == 0) {
            CHECK_STATUS(ncoll_barrier(other, LIMIT_NS), NCOLL_OK);
        }
    CHECK_STATUS(ncoll_wait(&request, LIMIT_NS), NCOLL_OK);
    CHECK(s->begins == begun + 2 && s->ends == s->begins && s->open == 0);
    return ncoll_group_free(&other, LIMIT_NS);
}

/* Collectives of ncoll_eventual.h. */
static int eventual(struct rank *r)
{
    struct seen s = {0};
    double x[COUNT] = {1}, y[COUNT];
    ncoll_stale *stale;
    ncoll_compressor *compressor;
    ncoll_codec codec = {.size = sizeof codec};
    const ncoll_stale_params params = {.size = sizeof params, .max_slack = 2};
    const ncoll_threshold part = {.size = sizeof part, .of = NCOLL_THRESHOLD_DATA, .fraction = 0.5};

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(
        ncoll_stale_create(r->world, &params, COUNT, NCOLL_DOUBLE, NCOLL_SUM, &stale, LIMIT_NS),
        NCOLL_OK);
    CHECK(s.begins == 0);
    for (int slack = 0; slack < 3; slack++) {
        CHECK_STATUS(
            ncoll_allreduce_ssp(stale, x, y, COUNT, NCOLL_DOUBLE, NCOLL_SUM, slack, NULL, LIMIT_NS),
            NCOLL_OK);
        CHECK(s.begins == (unsigned)slack + 1 && s.ends == s.begins && s.busy == 2 * (int)s.ends);
        CHECK(strcmp(s.at_end.name, "allreduce_ssp") == 0 && s.at_end.count == COUNT);
        CHECK(s.at_end.kind == NCOLL_CALL_ALLREDUCE && s.at_end.root == -1);
    }
    CHECK_STATUS(ncoll_stale_free(&stale, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 3);
    CHECK_STATUS(ncoll_codec_round16(&codec, NCOLL_BFLOAT16), NCOLL_OK);
    CHECK_STATUS(ncoll_compressor_create(r->world, &codec, COUNT, NCOLL_DOUBLE, 0, &compressor),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce_compressed(r->world, compressor, x, y, COUNT, NCOLL_DOUBLE,
                                            NCOLL_SUM, LIMIT_NS),
                 NCOLL_OK);
    CHECK(s.begins == 4 && s.ends == 4 && s.open == 0);
    CHECK(strcmp(s.at_end.name, "allreduce_compressed") == 0 &&
          s.at_end.in_bytes == COUNT * sizeof(double) && s.at_end.algorithm == NULL);
    CHECK_STATUS(ncoll_bcast_threshold(r->world, x, COUNT, NCOLL_DOUBLE, 0, &part, NULL, LIMIT_NS),
                 NCOLL_OK);
    CHECK(s.begins == 5 && s.ends == 5 && s.open == 0);
    CHECK(strcmp(s.at_end.name, "bcast_threshold") == 0 && s.at_end.count == COUNT &&
          s.at_end.in_bytes + s.at_end.out_bytes == COUNT * sizeof(double));
    return busy_compressor(r, &s, compressor);
}

/* A trial plans calls after they have begun, and makes many of its own. */
static int trial(struct rank *r)
{
    struct seen s = {0};
    double x = 1, y;

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(r->world, &x, &y, 1, NCOLL_DOUBLE, NCOLL_SUM, LIMIT_NS), NCOLL_OK);
    CHECK(s.begins == 1 && s.ends == 1 && s.open == 0);
    CHECK(s.at_begin.algorithm == NULL && s.at_end.algorithm != NULL);
    return 0;
}

/* The last rank dies: calls that have begun end with the error, and later ones do not begin. */
static int peer_dies(struct rank *r)
{
    struct seen s = {0};
    ncoll_request *requests[2];

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_OK);
    if (r->rank == r->ranks - 1)
        kill(getpid(), SIGKILL);
    for (int i = 0; i < 2; i++)
        CHECK_STATUS(ncoll_barrier_start(r->world, &requests[i]), NCOLL_OK);
    CHECK_STATUS(ncoll_wait(&requests[0], LIMIT_NS), NCOLL_ERR_PEER);
    CHECK(s.begins == 3 && s.ends == 3 && s.open == 0 && s.status == NCOLL_ERR_PEER);
    CHECK_STATUS(ncoll_wait(&requests[1], LIMIT_NS), NCOLL_ERR_PEER);
    CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_ERR_PEER);
    CHECK(s.begins == 3 && s.ends == 3);
    return 0;
}

/* Ranks call different collectives: the call that has begun ends with the mismatch. */
static int mismatch(struct rank *r)
{
    struct seen s = {0};
    int64_t one = 1, sum;

    CHECK_STATUS(set(r, &s), NCOLL_OK);
    if (r->rank == 0)
        CHECK_STATUS(ncoll_barrier(r->world, LIMIT_NS), NCOLL_ERR_MISMATCH);
    else
        CHECK_STATUS(ncoll_allreduce(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, LIMIT_NS),
                     NCOLL_ERR_MISMATCH);
    CHECK(s.begins == 1 && s.ends == 1 && s.open == 0 && s.status == NCOLL_ERR_MISMATCH);
    return 0;
}

static void run(crew_body body, int least, const ncoll_params *base)
{
    for (int ranks = least; ranks <= RANKS; ranks += 2)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, base, 60, body, NULL), 0);
}

static void test_all_calls(void **state)
{
    (void)state;
    run(all_calls, 1, NULL);
}

static void test_time_outs(void **state)
{
    (void)state;
    for (int ranks = 3; ranks <= RANKS; ranks += 2) {
        void *ranks_in = crew_share(sizeof(_Atomic int));
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, time_outs, ranks_in), 0);
        crew_unshare(ranks_in, sizeof(_Atomic int));
    }
}

static void test_setting(void **state)
{
    (void)state;
    run(setting, 3, NULL);
}

static void test_groups(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 60, groups, NULL), 0);
}

static void test_eventual(void **state)
{
    (void)state;
    run(eventual, 3, NULL);
}

static void test_trial(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.tune = NCOLL_TUNE_TRIAL;
    run(trial, 3, &params);
}

static void test_peer_dies(void **state)
{
    (void)state;
    /* the rank that dies is one that fails */
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 60, peer_dies, NULL), 1);
}

static void test_mismatch(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 2, NULL, 60, mismatch, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_calls), cmocka_unit_test(test_time_outs),
        cmocka_unit_test(test_setting),   cmocka_unit_test(test_groups),
        cmocka_unit_test(test_eventual),  cmocka_unit_test(test_trial),
        cmocka_unit_test(test_peer_dies), cmocka_unit_test(test_mismatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
