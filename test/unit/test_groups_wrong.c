/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests of wrong calls on groups, and of ranks that cannot make a group, or die. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "group_ranks.h"

/* ------------------------------------------------------------------ wrong calls -------------- */

#define KNOWN_STALE 63 /* groups that are freed later, as ncoll.h says */

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
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "rank 1 is in the list twice") != NULL);
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
    for (int freed = 0; freed < KNOWN_STALE; freed++) {
        CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_free(&stale, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
        CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_OK);
        CHECK_STATUS(ncoll_group_free(&stale, NCOLL_BLOCK), NCOLL_ERR_HANDLE);
    }
    return 0;
}

static void test_wrong_arguments(void **state)
{
    (void)state;
    groups_run(3, NULL, wrong_arguments);
}

/* A window that is large enough for what the world does, but not for this group: it is the group's
 * own that the error is about. */
static int too_small(struct rank *r)
{
    static unsigned char element[200000];
    ncoll_group *g = NULL;
    ncoll_type type;

    CHECK_STATUS(ncoll_type_create(r->ctx, sizeof element, &type), NCOLL_OK);
    CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, element, 1, type, 0, NCOLL_BLOCK), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(g, element, 1, type, 0, NCOLL_BLOCK), NCOLL_ERR_UNSUPPORTED);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "the window of 65536 bytes") != NULL);
    CHECK(strstr(ncoll_last_error(r->ctx)->text, "NCOLL_GROUP_WINDOW") != NULL);
    CHECK_STATUS(ncoll_type_create(r->ctx, PTRDIFF_MAX, &type), NCOLL_OK);
    CHECK_STATUS(ncoll_bcast(r->world, element, 1, type, 0, NCOLL_BLOCK), NCOLL_ERR_UNSUPPORTED);
    return 0;
}

static void test_too_small(void **state)
{
    ncoll_params params;

    (void)state;
    ncoll_params_init(&params, sizeof params);
    params.group_window_bytes = 65536;
    groups_run(3, &params, too_small);
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

/* In a group of which rank 0 is no member; it is told as well. A rank that is still making the
 * group when others are at odds is told there. */
static int other_order_in_group(struct rank *r)
{
    ncoll_group *g;
    int64_t a = 1, b;

    int rc = ncoll_group_split(r->world, r->rank > 0 ? 0 : NCOLL_NO_GROUP, 0, &g, NCOLL_BLOCK);
    if (rc == NCOLL_OK && r->rank == 0)
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    else if (rc == NCOLL_OK && r->rank == 1)
        rc = ncoll_allreduce(g, &a, &b, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    else if (rc == NCOLL_OK)
        rc = ncoll_group_free(&g, NCOLL_BLOCK);
    return told(r, rc, "rank 1 called allreduce of 1 int64", "called group_free");
}

static void test_mismatch(void **state)
{
    (void)state;
    for (int ranks = 3; ranks <= 5; ranks++) {
        groups_run(ranks, NULL, split_or_dup);
        groups_run(ranks, NULL, split_or_bcast);
        groups_run(ranks, NULL, other_ranks);
        groups_run(ranks, NULL, other_order_in_group);
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
    groups_run_all(one_cannot);
}

/* Shared: a peer is ready when it has asked, too, as with queue pairs. */
struct asked {
    _Atomic bool by[GROUP_RANKS][GROUP_RANKS];
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
    r->ctx->transport->at_once = false; /* as over a device */
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
    for (int ranks = 2; ranks <= GROUP_RANKS; ranks++) {
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
    for (int ranks = 2; ranks <= GROUP_RANKS; ranks++)
        assert_int_equal(crew_run(CREW_PROCESSES, ranks, NULL, 20, one_dies, NULL), 1);
}

/* Once the job has failed a group can be freed, whatever is unfinished on it. */
static int free_after_failure(struct rank *r)
{
    ncoll_group *g = NULL;

    CHECK_STATUS(ncoll_group_dup(r->world, &g, NCOLL_BLOCK), NCOLL_OK);
    if (r->rank == 1) {
        signal(SIGALRM, SIG_DFL);
        raise(SIGKILL);
    }
    CHECK_STATUS(ncoll_barrier(g, NCOLL_TEST), NCOLL_TIMEOUT);
    while (ncoll_progress(r->ctx) == NCOLL_OK)
        sched_yield();
    CHECK_STATUS(ncoll_group_free(&g, NCOLL_BLOCK), NCOLL_ERR_PEER);
    CHECK(g == NULL && ncoll_last_error(r->ctx)->peer == 1);
    return 0;
}

static void test_free_after_failure(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, 3, NULL, 20, free_after_failure, NULL), 1);
}

/* Some tests: test_groups_wrong 'test_m*'. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_arguments),    cmocka_unit_test(test_too_small),
        cmocka_unit_test(test_mismatch),           cmocka_unit_test(test_one_cannot),
        cmocka_unit_test(test_one_cannot_accept),  cmocka_unit_test(test_one_dies),
        cmocka_unit_test(test_free_after_failure),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("groups_wrong", tests, NULL, NULL);
}
