/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank makes another call than the others, of all that there are, and most of which do not
 * synchronise: some ranks have done their part, or need nobody, before the call is seen to differ.
 * A barrier comes behind it. At least one rank tells who called what, every rank gets an error, and
 * nobody hangs. So with blocks of an alltoall, whose counts two ranks know, and with calls on
 * groups that ranks make in different orders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test/support/crew.h"
#include "test/support/hang.h"

/* Much longer than it takes to tell. */
#define LIMIT_NS  (HANG_FACTOR * INT64_C(4000000000))
#define COUNT     3
#define RANKS_MAX 5

enum kind {
    BARRIER,
    ALLREDUCE,
    BCAST,
    REDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    ALLTOALLV,
    REDUCE_SCATTER,
    SCAN,
    SPLIT,
    DUP,
};

struct call {
    enum kind kind;
    const char *name; /* as errors have it */
    int root;         /* -1: the last rank */
};

static const struct call calls[] = {
    {BARRIER, "barrier", 0},        {ALLREDUCE, "allreduce of", 0},
    {BCAST, "bcast of", 0},         {BCAST, "bcast of", 1},
    {BCAST, "bcast of", -1},        {REDUCE, "reduce of", 0},
    {REDUCE, "reduce of", 1},       {REDUCE, "reduce of", -1},
    {GATHER, "gather of", 0},       {GATHER, "gather of", 1},
    {GATHER, "gather of", -1},      {SCATTER, "scatter of", 0},
    {SCATTER, "scatter of", 1},     {SCATTER, "scatter of", -1},
    {ALLGATHER, "allgather of", 0}, {ALLTOALL, "alltoall of", 0},
    {ALLTOALLV, "alltoallv of", 0}, {REDUCE_SCATTER, "reduce_scatter of", 0},
    {SCAN, "scan of", 0},           {SPLIT, "group_split", 0},
    {DUP, "group_dup", 0},
};
#define CALLS (sizeof calls / sizeof calls[0])

/* The task of a crew, and what has come of it; shared. */
struct scene {
    const struct call *normal, *other;
    int deviant;
    _Atomic int told, silent, hung, wrong; /* ranks */
};

static int make(struct rank *r, const struct call *c)
{
    static int64_t in[RANKS_MAX * COUNT], out[RANKS_MAX * COUNT];
    static const size_t counts[RANKS_MAX] = {COUNT, COUNT, COUNT, COUNT, COUNT};
    static const size_t displs[RANKS_MAX] = {0, COUNT, 2 * COUNT, 3 * COUNT, 4 * COUNT};
    const ncoll_type type = NCOLL_INT64;
    int root = c->root < 0 ? r->ranks - 1 : c->root;
    ncoll_group *w = r->world, *g = NULL;

    switch (c->kind) {
    case BARRIER:
        return ncoll_barrier(w, LIMIT_NS);
    case ALLREDUCE:
        return ncoll_allreduce(w, in, out, COUNT, type, NCOLL_SUM, LIMIT_NS);
    case BCAST:
        return ncoll_bcast(w, in, COUNT, type, root, LIMIT_NS);
    case REDUCE:
        return ncoll_reduce(w, in, out, COUNT, type, NCOLL_SUM, root, LIMIT_NS);
    case GATHER:
        return ncoll_gather(w, in, out, COUNT, type, root, LIMIT_NS);
    case SCATTER:
        return ncoll_scatter(w, in, out, COUNT, type, root, LIMIT_NS);
    case ALLGATHER:
        return ncoll_allgather(w, in, out, COUNT, type, LIMIT_NS);
    case ALLTOALL:
        return ncoll_alltoall(w, in, out, COUNT, type, LIMIT_NS);
    case ALLTOALLV:
        return ncoll_alltoallv(w, in, counts, displs, out, counts, displs, type, LIMIT_NS);
    case REDUCE_SCATTER:
        return ncoll_reduce_scatter_block(w, in, out, COUNT, type, NCOLL_SUM, LIMIT_NS);
    case SCAN:
        return ncoll_scan(w, in, out, COUNT, type, NCOLL_SUM, LIMIT_NS);
    case SPLIT:
        return ncoll_group_split(w, 0, 0, &g, LIMIT_NS);
    case DUP:
        return ncoll_group_dup(w, &g, LIMIT_NS);
    }
    return NCOLL_ERR_INTERNAL;
}

/* True if the text names two ranks that differ in what they called. A rank that has gone on to the
 * barrier may be named with that. */
static bool tells(struct rank *r, const struct scene *s, const char *text)
{
    bool deviant = false, others = false;

    for (int rank = 0; rank < r->ranks; rank++) {
        const struct call *c = rank == s->deviant ? s->other : s->normal;
        char own[64], barrier[64];
        snprintf(own, sizeof own, "rank %d called %s", rank, c->name);
        snprintf(barrier, sizeof barrier, "rank %d called barrier", rank);
        bool named = strstr(text, own) != NULL || strstr(text, barrier) != NULL;
        *(rank == s->deviant ? &deviant : &others) |= named;
    }
    return deviant && others;
}

/* Everybody is connected for both calls; then one differs. */
static int play(struct rank *r)
{
    struct scene *s = r->shared;
    int rc = NCOLL_OK;

    for (int round = 0; round < 2 && rc == NCOLL_OK; round++) {
        rc = make(r, s->normal);
        if (rc == NCOLL_OK)
            rc = make(r, s->other);
    }
    if (rc == NCOLL_OK) /* else a faster one has seen the difference already */
        rc = make(r, r->rank == s->deviant ? s->other : s->normal);
    if (rc == NCOLL_OK)
        rc = make(r, &calls[0]);
    s->silent += rc == NCOLL_OK;
    s->hung += rc == NCOLL_TIMEOUT;
    if (rc == NCOLL_ERR_MISMATCH) {
        bool told = tells(r, s, ncoll_last_error(r->ctx)->text);
        if (!told)
            fprintf(stderr, "not told well: %s\n", ncoll_last_error(r->ctx)->text);
        *(told ? &s->told : &s->wrong) += 1;
    } else {
        s->wrong += rc != NCOLL_OK && rc != NCOLL_TIMEOUT && rc != NCOLL_ERR_PEER;
    }
    return 0;
}

static bool ends_well(int ranks, const struct call *normal, const struct call *other, int deviant)
{
    struct scene *s = crew_share(sizeof *s);

    *s = (struct scene){.normal = normal, .other = other, .deviant = deviant};
    int failed = crew_run(CREW_PROCESSES, ranks, NULL, 20, play, s);
    bool well = failed == 0 && s->told > 0 && s->silent + s->hung + s->wrong == 0;
    if (!well)
        fprintf(stderr,
                "%d ranks, all but %d call %s %d, that one %s %d: %d ranks tell it, %d notice "
                "nothing, %d hang, %d tell something else\n",
                ranks, deviant, normal->name, normal->root, other->name, other->root, s->told,
                s->silent, s->hung, s->wrong);
    crew_unshare(s, sizeof *s);
    return well;
}

/* Every pair; which rank differs, and of how many, is drawn. */
static void test_pairs(void **state)
{
    struct random random = random_stream(test_seed(), 0);
    unsigned pairs = 0, failed = 0;

    (void)state;
    for (size_t n = 0; n < CALLS; n++)
        for (size_t o = 0; o < CALLS; o++) {
            if (n == o)
                continue;
            int ranks = 3 + (int)random_below(&random, RANKS_MAX - 2);
            int deviant = (int)random_below(&random, (uint64_t)ranks);
            if (calls[n].kind == calls[o].kind &&
                (calls[n].root - calls[o].root) % ranks == 0) /* the same */
                continue;
            pairs++;
            failed += !ends_well(ranks, &calls[n], &calls[o], deviant);
        }
    if (failed > 0)
        fail_msg("%u of %u pairs", failed, pairs);
}

/* ------------------------------------------------------------------ counts of an alltoall ----- */

/* One rank sends so much to another, which expects so much; all other blocks have COUNT
 * elements. */
struct block {
    int from, to;
    size_t sent, expected;
};

static int disagree(struct rank *r)
{
    static int32_t in[RANKS_MAX * 8], out[RANKS_MAX * 8];
    static const size_t displs[RANKS_MAX] = {0, 8, 16, 24, 32};
    const struct block *b = r->shared;
    size_t sends[RANKS_MAX], counts[RANKS_MAX];
    char sender[64], receiver[64];

    for (int q = 0; q < r->ranks; q++) {
        sends[q] = r->rank == b->from && q == b->to ? b->sent : COUNT;
        counts[q] = r->rank == b->to && q == b->from ? b->expected : COUNT;
    }
    int rc =
        ncoll_alltoallv(r->world, in, sends, displs, out, counts, displs, NCOLL_INT32, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    const char *text = ncoll_last_error(r->ctx)->text;
    snprintf(sender, sizeof sender, "rank %d called alltoallv of %zu int32", b->from, b->sent);
    snprintf(receiver, sizeof receiver, "rank %d called alltoallv of %zu int32", b->to,
             b->expected);
    if (strstr(text, sender) == NULL || strstr(text, receiver) == NULL)
        fprintf(stderr, "not told well: %s\n", text);
    CHECK(strstr(text, sender) != NULL && strstr(text, receiver) != NULL);
    return 0;
}

static void test_counts_of_an_alltoall(void **state)
{
    static const size_t pairs[][2] = {{0, 5}, {5, 0}, {4, 5}, {0, COUNT}};
    struct random random = random_stream(test_seed(), 1);

    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
            struct block b = {.sent = pairs[p][0], .expected = pairs[p][1]};
            b.from = (int)random_below(&random, (uint64_t)ranks);
            b.to = (b.from + 1 + (int)random_below(&random, (uint64_t)ranks - 1)) % ranks;
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 10, disagree, &b), 0);
        }
}

/* ------------------------------------------------------------------ groups in another order --- */

/* Rank p blocks in one group with the next rank, and only then in one with the rank before. */
static int round_in_a_ring(struct rank *r)
{
    ncoll_group *next = NULL, *before = NULL;
    int rc = NCOLL_OK;

    for (int p = 0; p < r->ranks; p++) {
        bool in = r->rank == p || r->rank == (p + 1) % r->ranks;
        ncoll_group *g;
        CHECK_STATUS(ncoll_group_split(r->world, in ? 0 : NCOLL_NO_GROUP, 0, &g, NCOLL_BLOCK),
                     NCOLL_OK);
        if (in)
            *(r->rank == p ? &next : &before) = g;
    }
    rc = ncoll_barrier(next, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_barrier(before, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    return 0;
}

/* Every rank draws which of three groups of all it calls first, some with a request unfinished. */
static int in_any_order(struct rank *r)
{
    ncoll_group *groups[3];
    ncoll_request *request;
    int first = r->rank == 0 ? 0 : r->rank == 1 ? 1 : (int)random_below(&r->own, 3), rc = 0;
    int64_t word = 0;

    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_group_dup(r->world, &groups[i], NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast_start(r->world, &word, 1, NCOLL_INT64, 0, &request), NCOLL_OK);
    for (int i = 0; i < 3 && rc == NCOLL_OK; i++)
        rc = ncoll_barrier(groups[(first + i) % 3], NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    return 0;
}

/* Rank 0 blocks as root of a bcast that is so long that it cannot run ahead to the end: the
 * others have yet to read what it put. They wait for it in another group. */
static int root_of_long_bcast(struct rank *r)
{
    static unsigned char vector[4 << 20];
    ncoll_group *other;
    int rc = NCOLL_OK;

    CHECK_STATUS(ncoll_group_dup(r->world, &other, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, vector, sizeof vector, NCOLL_UINT8, 0, NCOLL_BLOCK),
                 NCOLL_OK);
    CHECK_STATUS(ncoll_barrier(other, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank > 0)
        rc = ncoll_barrier(other, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_bcast(r->world, vector, sizeof vector, NCOLL_UINT8, 0, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "of another group") != NULL);
    return 0;
}

/* Such an order is right if nobody blocks, or not for ever. */
static int with_requests(struct rank *r)
{
    ncoll_group *groups[3];
    ncoll_request *requests[3];

    for (int i = 0; i < 3; i++)
        CHECK_STATUS(ncoll_group_dup(r->world, &groups[i], NCOLL_BLOCK), NCOLL_OK);
    for (int i = 1; i < 3; i++)
        CHECK_STATUS(ncoll_barrier_start(groups[(r->rank + i) % 3], &requests[(r->rank + i) % 3]),
                     NCOLL_OK);
    if (r->rank == 1)
        usleep(300000);
    CHECK_STATUS(ncoll_barrier(groups[r->rank % 3], NCOLL_BLOCK), NCOLL_OK);
    for (int i = 1; i < 3; i++)
        CHECK_STATUS(ncoll_wait(&requests[(r->rank + i) % 3], NCOLL_BLOCK), NCOLL_OK);
    /* rank 0 waits in one, the others in another until it has come */
    if (r->rank == 0) {
        CHECK_STATUS(ncoll_barrier(groups[0], 200000000), NCOLL_TIMEOUT);
        CHECK_STATUS(ncoll_barrier_start(groups[1], &requests[1]), NCOLL_OK);
        CHECK_STATUS(ncoll_barrier(groups[0], NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_wait(&requests[1], NCOLL_BLOCK), NCOLL_OK);
    } else {
        CHECK_STATUS(ncoll_barrier(groups[1], NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_barrier(groups[0], NCOLL_BLOCK), NCOLL_OK);
    }
    return 0;
}

static void test_groups_in_another_order(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
        for (int i = 0; i < 3; i++)
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, in_any_order, NULL), 0);
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, with_requests, NULL), 0);
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, root_of_long_bcast, NULL), 0);
        if (ranks > 2)
            assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 60, round_in_a_ring, NULL), 0);
    }
}

/* Some tests: test_order 'test_c*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_counts_of_an_alltoall),
        cmocka_unit_test(test_groups_in_another_order),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
