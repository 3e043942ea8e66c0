/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups: who is in them, that they work and are independent of each other, in any number, and what
 * wrong calls on them give.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/internal.h"
#include "test/support/crew.h"

#define LIMIT_S   100
#define RANKS_MAX 8

static void run(int ranks, const ncoll_params *params, crew_body body)
{
    assert_int_equal(crew_run(CREW_PROCESSES, ranks, params, LIMIT_S, body, NULL), 0);
}

static void run_all(crew_body body)
{
    for (int ranks = 1; ranks <= RANKS_MAX; ranks++)
        run(ranks, NULL, body);
}

/* ------------------------------------------------------------------ members ------------------ */

/* Whether the group has these world ranks, in this order, and can add and concatenate. */
static int check_works(struct rank *r, ncoll_group *g, const int *members, int n)
{
    int64_t world = r->rank, sum = -1, expected = 0, all[RANKS_MAX];

    CHECK(ncoll_group_size(g) == n);
    for (int i = 0; i < n; i++) {
        expected += members[i];
        CHECK(ncoll_group_world_rank(g, i) == members[i]);
        CHECK(members[i] != r->rank || ncoll_group_rank(g) == i);
    }
    CHECK(ncoll_group_world_rank(g, n) == -1 && ncoll_group_world_rank(g, -1) == -1);
    CHECK_STATUS(ncoll_allreduce(g, &world, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK(sum == expected);
    CHECK_STATUS(ncoll_allgather(g, &world, all, 1, NCOLL_INT64, NCOLL_BLOCK), NCOLL_OK);
    for (int i = 0; i < n; i++)
        CHECK(all[i] == members[i]);
    for (int root = 0; root < n; root++) {
        int64_t word = ncoll_group_rank(g) == root ? world : -1;
        CHECK_STATUS(ncoll_bcast(g, &word, 1, NCOLL_INT64, root, NCOLL_BLOCK), NCOLL_OK);
        CHECK(word == members[root]);
    }
    return 0;
}

/* Colors in turn, keys downwards; the last color has no group. */
static int split(struct rank *r)
{
    for (int colors = 1; colors <= r->ranks; colors++) {
        int color = r->rank % colors, members[RANKS_MAX], n = 0;
        ncoll_group *g = r->world, *copy = NULL;

        for (int q = r->ranks - 1; q >= 0; q--)
            if (q % colors == color)
                members[n++] = q;
        bool none = colors > 1 && color == colors - 1;
        CHECK_STATUS(
            ncoll_group_split(r->world, none ? NCOLL_NO_GROUP : color, -r->rank, &g, NCOLL_BLOCK),
            NCOLL_OK);
        CHECK((g == NULL) == none);
        if (none)
            continue;
        CHECK(check_works(r, g, members, n) == 0);
        CHECK_STATUS(ncoll_group_dup(g, &copy, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
        CHECK(g == NULL);
        CHECK(check_works(r, copy, members, n) == 0);
        CHECK_STATUS(ncoll_group_free(&copy, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_split(void **state)
{
    (void)state;
    run_all(split);
}

/* Same keys: as in the parent. */
static int split_in_order(struct rank *r)
{
    int members[RANKS_MAX];
    ncoll_group *g;

    for (int q = 0; q < r->ranks; q++)
        members[q] = q;
    CHECK_STATUS(ncoll_group_split(r->world, 7, 3, &g, NCOLL_BLOCK), NCOLL_OK);
    return check_works(r, g, members, r->ranks);
}

static void test_order_of_same_keys(void **state)
{
    (void)state;
    run_all(split_in_order);
}

/* A shuffled part of the ranks, and of these again. */
static int from_ranks(struct rank *r)
{
    for (int round = 0; round < 10; round++) {
        ncoll_group *parents[4] = {r->world}, **g = parents;
        int members[RANKS_MAX] = {0, 1, 2, 3, 4, 5, 6, 7}, n = r->ranks;
        do {
            int places[RANKS_MAX], next[RANKS_MAX], size = n;
            for (int i = 0; i < n; i++)
                places[i] = i;
            for (int i = n - 1; i > 0; i--) {
                int other = (int)random_below(&r->common, (uint64_t)i + 1), was = places[i];
                places[i] = places[other];
                places[other] = was;
            }
            n = 1 + (int)random_below(&r->common, (uint64_t)size);
            for (int i = 0; i < n; i++)
                next[i] = members[places[i]];
            memcpy(members, next, sizeof members);
            if (*g != NULL) {
                CHECK_STATUS(ncoll_group_from_ranks(*g, places, n, g + 1, NCOLL_BLOCK), NCOLL_OK);
                bool in = false;
                for (int i = 0; i < n; i++)
                    in |= members[i] == r->rank;
                CHECK(in == (g[1] != NULL));
                CHECK(!in || check_works(r, g[1], members, n) == 0);
            }
            g++;
        } while (g < parents + 3);
        for (int i = 1; i < 4; i++) /* the parent first */
            if (parents[i] != NULL)
                CHECK_STATUS(ncoll_group_free(&parents[i], NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_from_ranks(void **state)
{
    (void)state;
    run_all(from_ranks);
}

/* ------------------------------------------------------------------ many --------------------- */

static size_t memory(struct rank *r)
{
    ncoll_stats stats = {.size = sizeof stats};

    return ncoll_context_stats(r->ctx, &stats) == NCOLL_OK ? stats.memory_bytes : 0;
}

/* As many as there can be; fewer where each takes long: NCOLL_TEST_GROUPS. */
static unsigned how_many(void)
{
    const char *fewer = getenv("NCOLL_TEST_GROUPS");

    return fewer != NULL ? (unsigned)atoi(fewer) : WINDOWS_MAX - 1;
}

/* One more than there can be is refused on all ranks, and what there is goes on. */
static int make_many(struct rank *r)
{
    static ncoll_group *groups[WINDOWS_MAX];
    size_t before = memory(r);
    ncoll_group *one_more = NULL;

    for (int round = 0; round < 2; round++) {
        unsigned n = round == 0 ? how_many() : 100;
        for (unsigned i = 0; i < n; i++) {
            int members[RANKS_MAX], size = 0, color = (r->rank + (int)i) % 3 > 0;
            for (int q = 0; q < r->ranks; q++)
                if (((q + (int)i) % 3 > 0) == color)
                    members[size++] = q;
            CHECK_STATUS(ncoll_group_split(r->world, color, 0, &groups[i], NCOLL_BLOCK), NCOLL_OK);
            if (i % 50 == 0)
                CHECK(check_works(r, groups[i], members, size) == 0);
        }
        if (n == WINDOWS_MAX - 1) {
            CHECK_STATUS(ncoll_group_dup(r->world, &one_more, NCOLL_BLOCK), NCOLL_ERR_RESOURCE);
            CHECK(one_more == NULL);
        }
        for (unsigned i = 0; i < n; i++) { /* in another order than they were made in */
            unsigned at = i * 7 % n;
            int64_t one = 1, sum = 0;
            CHECK_STATUS(
                ncoll_allreduce(groups[at], &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
                NCOLL_OK);
            CHECK(sum == ncoll_group_size(groups[at]));
        }
        for (unsigned i = 0; i < n; i++)
            CHECK_STATUS(ncoll_group_free(&groups[i], NCOLL_BLOCK), NCOLL_OK);
    }
    CHECK(memory(r) == before);
    return 0;
}

static void test_many(void **state)
{
    (void)state;
    run(4, NULL, make_many);
}

/* Streams that do not synchronise leave credits behind that nobody waits for. */
static int come_and_go(struct rank *r)
{
    for (int round = 0; round < 300; round++) {
        ncoll_group *g;
        int64_t word = r->rank;
        CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
        for (uint64_t i = random_below(&r->common, 20); i > 0; i--) {
            CHECK_STATUS(ncoll_bcast(g, &word, 1, NCOLL_INT64, 0, NCOLL_BLOCK), NCOLL_OK);
            CHECK(word == 0);
        }
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_come_and_go(void **state)
{
    (void)state;
    run(4, NULL, come_and_go);
}

/* ------------------------------------------------------------------ messages ----------------- */

/* Four calls of ceil(log2 P) messages each, whatever the parent. */
static int count_messages(struct rank *r)
{
    ncoll_group *half, *quarter;
    unsigned rounds = 0, rounds_of_half = 0;
    uint64_t before = r->ctx->puts;

    while (1 << rounds < r->ranks)
        rounds++;
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &half, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 4 * rounds);
    while (1 << rounds_of_half < ncoll_group_size(half))
        rounds_of_half++;
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_split(half, r->rank % 4, 0, &quarter, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 4 * rounds_of_half);
    before = r->ctx->puts;
    CHECK_STATUS(ncoll_group_free(&half, NCOLL_BLOCK), NCOLL_OK);
    CHECK(r->ctx->puts - before == 2 * rounds_of_half);
    return 0;
}

static void test_messages(void **state)
{
    (void)state;
    run_all(count_messages);
    run(33, NULL, count_messages);
}

/* ------------------------------------------------------------------ split phase -------------- */

static int poll_creation(struct rank *r)
{
    for (int round = 0; round < 50; round++) {
        ncoll_group *g = NULL, *other = NULL;
        ncoll_request *request;
        int64_t one = 1, sum = 0;
        int timeouts = 0, rc;
        bool late = (int)random_below(&r->common, (uint64_t)r->ranks) == r->rank;

        if (late)
            usleep(300);
        CHECK_STATUS(
            ncoll_allreduce_start(r->world, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, &request),
            NCOLL_OK);
        while ((rc = ncoll_group_split(r->world, r->rank % 2, 5, &g, NCOLL_TEST)) ==
               NCOLL_TIMEOUT) {
            CHECK(g == NULL);
            sched_yield();
            if (timeouts++ > 0)
                continue;
            CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_ERR_BUSY);
            CHECK(strstr(ncoll_last_error(r->ctx)->text, "group_split") != NULL);
            CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 6, &other, NCOLL_BLOCK),
                         NCOLL_ERR_BUSY);
            CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_ERR_BUSY);
        }
        CHECK_STATUS(rc, NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
        CHECK(sum == r->ranks);
        while ((rc = ncoll_group_free(&g, 1000)) == NCOLL_TIMEOUT) {
            CHECK(g != NULL);
            sched_yield();
        }
        CHECK_STATUS(rc, NCOLL_OK);
    }
    return 0;
}

static void test_split_phase(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        run(ranks, NULL, poll_creation);
}

/* ------------------------------------------------------------------ any order ---------------- */

#define GROUPS 6

/* Calls on several groups, each rank in an order of its own, long ones among them. */
static int any_order(struct rank *r)
{
    static int64_t in[GROUPS][20000], out[GROUPS][20000];
    ncoll_group *groups[GROUPS];

    for (int i = 0; i < GROUPS; i++)
        CHECK_STATUS(ncoll_group_split(r->world, (r->rank + i) % 2, i % 2 ? r->rank : -r->rank,
                                       &groups[i], NCOLL_BLOCK),
                     NCOLL_OK);
    for (int round = 0; round < 40; round++) {
        ncoll_request *requests[GROUPS];
        int order[GROUPS] = {0, 1, 2, 3, 4, 5};
        size_t count = random_below(&r->common, 4) == 0 ? 20000 : 5;

        for (int i = GROUPS - 1; i > 0; i--) {
            int other = (int)random_below(&r->own, (uint64_t)i + 1), was = order[i];
            order[i] = order[other];
            order[other] = was;
        }
        for (int i = 0; i < GROUPS; i++) {
            for (size_t k = 0; k < count; k++)
                in[order[i]][k] = (int64_t)k + round;
            CHECK_STATUS(ncoll_allreduce_start(groups[order[i]], in[order[i]], out[order[i]], count,
                                               NCOLL_INT64, NCOLL_SUM, &requests[order[i]]),
                         NCOLL_OK);
        }
        CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
        for (int i = GROUPS - 1; i >= 0; i--) {
            CHECK_STATUS(ncoll_wait(&requests[order[i]], NCOLL_BLOCK), NCOLL_OK);
            for (size_t k = 0; k < count; k++)
                CHECK(out[order[i]][k] ==
                      ((int64_t)k + round) * ncoll_group_size(groups[order[i]]));
        }
    }
    return 0;
}

static void test_any_order(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        run(ranks, NULL, any_order);
}

/* ------------------------------------------------------------------ wrong calls -------------- */

static int wrong_arguments(struct rank *r)
{
    ncoll_group *g = NULL, *stale;
    int ranks[] = {0, 1, 1}, outside[] = {0, 9};
    ncoll_request *request;

    CHECK_STATUS(ncoll_group_split(NULL, 0, 0, &g, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_group_split(r->world, 0, 0, NULL, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_split(r->world, -2, 0, &g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_split(r->world, 0, 0, &g, -1), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_dup(r->world, NULL, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_from_ranks(r->world, NULL, 1, &g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_from_ranks(r->world, ranks, 0, &g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_from_ranks(r->world, ranks, 3, &g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "rank 1 comes twice") != NULL);
    CHECK_STATUS(ncoll_group_from_ranks(r->world, outside, 2, &g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK(g == NULL);

    g = r->world;
    CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_ERR_ARGUMENT);
    CHECK_STATUS(ncoll_group_free(NULL, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_start(g, &request), NCOLL_OK);
    if (ncoll_test(&request) == NCOLL_TIMEOUT)
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_ERR_BUSY);
    if (request != NULL)
        CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    /* one that has ended, but has not been waited for */
    CHECK_STATUS(ncoll_barrier_start(g, &request), NCOLL_OK);
    while (g->first != NULL)
        CHECK_STATUS(ncoll_progress(r->ctx), NCOLL_OK);
    CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_ERR_BUSY);
    CHECK_STATUS(ncoll_wait(&request, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_barrier_init(g, &request), NCOLL_OK);
    stale = g;
    if (ncoll_group_free(&g, NCOLL_TEST) == NCOLL_TIMEOUT) { /* no call comes after that */
        ncoll_request *other = NULL;
        CHECK_STATUS(ncoll_barrier_start(g, &other), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_start(request), NCOLL_ERR_BUSY);
        CHECK_STATUS(ncoll_barrier(g, NCOLL_BLOCK), NCOLL_ERR_BUSY);
        CHECK(other == NULL);
    }
    if (g != NULL)
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_start(request), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_barrier(stale, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    CHECK_STATUS(ncoll_group_free(&stale, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    CHECK(ncoll_group_size(stale) == -1);
    return 0;
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    run(3, NULL, wrong_arguments);
}

/* Rank 1 does something else than the others: all are told by name what. */
static int told(struct rank *r, int rc, const char *mine, const char *other)
{
    const char *text = ncoll_last_error(r->ctx)->text;

    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    if (strstr(text, mine) == NULL || strstr(text, other) == NULL)
        fprintf(stderr, "rank %d: %s\n", r->rank, text);
    CHECK(strstr(text, mine) != NULL && strstr(text, other) != NULL);
    return 0;
}

static int split_or_dup(struct rank *r)
{
    ncoll_group *g;
    int rc = r->rank == 1 ? ncoll_group_dup(r->world, &g, NCOLL_BLOCK)
                          : ncoll_group_split(r->world, 0, 0, &g, NCOLL_BLOCK);
    return told(r, rc, "rank 1 called group_dup", "called group_split");
}

static int split_or_bcast(struct rank *r)
{
    ncoll_group *g;
    int64_t word = 0;
    int rc = r->rank == 1 ? ncoll_bcast(r->world, &word, 1, NCOLL_INT64, 0, NCOLL_BLOCK)
                          : ncoll_group_split(r->world, 0, 0, &g, NCOLL_BLOCK);
    return told(r, rc, "rank 1 called bcast of 1 int64", "called group_split");
}

static int other_ranks(struct rank *r)
{
    ncoll_group *g;
    int ranks[] = {0, 1, 2};
    int rc = ncoll_group_from_ranks(r->world, ranks, r->rank == 1 ? 2 : 3, &g, NCOLL_BLOCK);
    return told(r, rc, "rank 1 called group_from_ranks", "called group_from_ranks");
}

/* In a group of which rank 0 is no member; it is told as well. */
static int other_order_in_group(struct rank *r)
{
    ncoll_group *g;
    int64_t a = 1, b;
    int rc;

    CHECK_STATUS(ncoll_group_split(r->world, r->rank > 0 ? 0 : NCOLL_NO_GROUP, 0, &g, NCOLL_BLOCK),
                 NCOLL_OK);
    if (r->rank == 0)
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    else if (r->rank == 1)
        rc = ncoll_allreduce(g, &a, &b, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    else
        rc = ncoll_group_free(&g, NCOLL_BLOCK);
    return told(r, rc, "rank 1 called allreduce of 1 int64", "called group_free");
}

static void test_mismatch(void **state)
{
    (void)state;
    for (int ranks = 3; ranks <= 5; ranks++) {
        run(ranks, NULL, split_or_dup);
        run(ranks, NULL, split_or_bcast);
        run(ranks, NULL, other_ranks);
        run(ranks, NULL, other_order_in_group);
    }
}

/* ------------------------------------------------------------------ failures ----------------- */

static ncoll_context *poor;

/* One rank cannot have its window: nobody gets the group, everybody is told why. */
static int no_window(struct transport *t, const struct window_shape *shape, struct window **out)
{
    (void)t, (void)shape, (void)out;
    return ncoll__fail(poor, NCOLL_ERR_RESOURCE, -1, NULL, "no windows today");
}

static int one_cannot(struct rank *r)
{
    struct transport_ops ops = *r->ctx->transport->ops;
    const struct transport_ops *real = r->ctx->transport->ops;
    ncoll_group *g = NULL;
    int64_t one = 1, sum = 0;

    poor = r->ctx;
    ops.window_create = no_window;
    r->ctx->transport->ops = r->rank == r->ranks / 2 ? &ops : real;
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &g, NCOLL_BLOCK), NCOLL_ERR_RESOURCE);
    CHECK(g == NULL);
    CHECK(strstr(ncoll_last_error(r->ctx)->text,
                 r->rank == r->ranks / 2 ? "no windows today" : "could not make the group") !=
          NULL);
    r->ctx->transport->ops = real;
    CHECK_STATUS(ncoll_group_split(r->world, r->rank % 2, 0, &g, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_allreduce(g, &one, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK), NCOLL_OK);
    CHECK(sum == ncoll_group_size(g));
    return 0;
}

static void test_one_cannot(void **state)
{
    (void)state;
    run_all(one_cannot);
}

/* Shared: a peer is ready when it has asked, too, as with queue pairs. */
struct asked {
    _Atomic bool by[RANKS_MAX][RANKS_MAX];
};
static struct asked *asked;

static int ready_when_both_ask(struct transport *t, const int *peers, unsigned n)
{
    int own = ncoll_group_rank(poor->world);
    bool all = true;

    (void)t;
    for (unsigned i = 0; i < n; i++) {
        asked->by[own][peers[i]] = true;
        all &= asked->by[peers[i]][own];
    }
    return all ? NCOLL_OK : NCOLL_TIMEOUT;
}

static int accept_nobody(struct transport *t, struct window *w, int peer, const void *peer_desc,
                         size_t peer_desc_len, const struct offer *offer)
{
    (void)t, (void)w, (void)peer_desc, (void)peer_desc_len, (void)offer;
    return ncoll__fail(poor, NCOLL_ERR_RESOURCE, peer, NULL, "nobody is accepted today");
}

/* The others must not wait for it. */
static int one_cannot_accept(struct rank *r)
{
    struct transport_ops ops = *r->ctx->transport->ops;
    const struct transport_ops *real = r->ctx->transport->ops;
    ncoll_group *g = NULL;

    poor = r->ctx;
    asked = r->shared;
    ops.ready = ready_when_both_ask;
    if (r->rank == 1)
        ops.accept = accept_nobody;
    r->ctx->transport->ops = &ops;
    CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_ERR_RESOURCE);
    ops.accept = real->accept;
    CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
    r->ctx->transport->ops = real;
    return 0;
}

static void test_one_cannot_accept(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
        struct asked *shared = crew_share(sizeof *shared);
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 20, one_cannot_accept, shared), 0);
        crew_unshare(shared, sizeof *shared);
    }
}

/* A member dies in the middle of all this. */
static int one_dies(struct rank *r)
{
    int rc = NCOLL_OK, dies = (int)random_below(&r->common, (uint64_t)r->ranks);
    uint64_t after = random_below(&r->common, 300);

    if (r->rank == dies) {
        usleep((useconds_t)after * 100);
        signal(SIGALRM, SIG_DFL);
        for (uint64_t i = 0; i < after; i++)
            ncoll_progress(r->ctx);
        raise(SIGKILL);
    }
    for (int round = 0; rc == NCOLL_OK; round++) {
        ncoll_group *g = NULL;
        rc = ncoll_group_split(r->world, round % 2, r->rank, &g, NCOLL_BLOCK);
        if (rc == NCOLL_OK)
            rc = ncoll_barrier(g, NCOLL_BLOCK);
        if (rc == NCOLL_OK)
            rc = ncoll_group_free(&g, NCOLL_BLOCK);
    }
    CHECK_STATUS(rc, NCOLL_ERR_PEER);
    CHECK(ncoll_last_error(r->ctx)->peer == dies);
    return 0;
}

static void test_one_dies(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 20, one_dies, NULL), 1);
}

/* Some tests: test_groups 'test_m*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),           cmocka_unit_test(test_order_of_same_keys),
        cmocka_unit_test(test_from_ranks),      cmocka_unit_test(test_many),
        cmocka_unit_test(test_come_and_go),     cmocka_unit_test(test_messages),
        cmocka_unit_test(test_split_phase),     cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_wrong_arguments), cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_one_cannot),      cmocka_unit_test(test_one_cannot_accept),
        cmocka_unit_test(test_one_dies),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
