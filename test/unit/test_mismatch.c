/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that call different collectives: every rank gets an error that names two of them and what
 * each has called. Nobody hangs, whether or not the ranks were connected before.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/inspect.h"
#include "test/support/crew.h"
#include "test/support/hang.h"

#define LIMIT_NS  INT64_C(3000000000)
#define COUNT_MAX 100000
#define RANKS_MAX 9

struct made_call {
    size_t count; /* SIZE_MAX: barrier */
    ncoll_type type;
    ncoll_op op;
    const char *algorithm; /* NULL: chosen */
    unsigned radix;        /* 0: chosen */
    const char *text;      /* how the error describes it */
};

#define BARRIER      SIZE_MAX
#define LIST(n1, n2) (2u << 28 | ((n2)-1u) << 4 | ((n1)-1u))
#define TYPICAL      3, NCOLL_INT64, NCOLL_SUM

static const struct {
    struct made_call normal, other;
} pairs[] = {
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("}, {BARRIER, .text = "barrier ("}},
    {{BARRIER, .text = "barrier ("}, {TYPICAL, .text = "allreduce of 3 int64, sum ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {4, NCOLL_INT64, NCOLL_SUM, .text = "allreduce of 4 int64, sum ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {COUNT_MAX, NCOLL_INT64, NCOLL_SUM, .text = "allreduce of 100000 int64, sum ("}},
    {{COUNT_MAX, NCOLL_INT64, NCOLL_SUM, .text = "allreduce of 100000 int64, sum ("},
     {0, NCOLL_INT64, NCOLL_SUM, .text = "allreduce of 0 int64, sum ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {3, NCOLL_UINT64, NCOLL_SUM, .text = "allreduce of 3 uint64, sum ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {3, NCOLL_DOUBLE, NCOLL_SUM, .text = "allreduce of 3 double, sum ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {3, NCOLL_INT64, NCOLL_PROD, .text = "allreduce of 3 int64, prod ("}},
    {{TYPICAL, .text = "allreduce of 3 int64, sum ("},
     {3, NCOLL_INT64, NCOLL_MAX, .text = "allreduce of 3 int64, max ("}},
    {{TYPICAL, "two-window", 1, "allreduce of 3 int64, sum (two-window, n = 1)"},
     {TYPICAL, "two-window", 2, "allreduce of 3 int64, sum (two-window, n = 2)"}},
    {{TYPICAL, "two-window", 1, "allreduce of 3 int64, sum (two-window, n = 1)"},
     {TYPICAL, "gather", 1, "allreduce of 3 int64, sum (gather, n = 1)"}},
    {{BARRIER, .radix = 1, .text = "barrier (dissemination, n = 1)"},
     {BARRIER, .radix = 3, .text = "barrier (dissemination, n = 3)"}},
    {{BARRIER, .radix = 1, .text = "barrier (dissemination, n = 1)"},
     {BARRIER, .radix = LIST(1, 3), .text = "barrier (dissemination, n = 1,3)"}},
    {{TYPICAL, "two-window", LIST(2, 1), "allreduce of 3 int64, sum (two-window, n = 2,1)"},
     {TYPICAL, "two-window", LIST(2, 3), "allreduce of 3 int64, sum (two-window, n = 2,3)"}},
};

enum before {
    NOTHING,      /* the call is the first one: nobody is connected */
    NORMAL_CALLS, /* who calls the normal one is connected for it */
    BOTH_CALLS,   /* everybody is connected for both */
    BEFORES
};
enum form { BLOCK, TIME_OUT, TEST, REQUEST, FORMS };

/* The task of a crew; forked along. */
static struct {
    struct made_call calls[RANKS_MAX]; /* of each rank */
    enum before before;
    const struct made_call *normal, *other;
} plan;

static int64_t in[COUNT_MAX], out[COUNT_MAX];

static int force(struct rank *r, const struct made_call *c)
{
    return ncoll__group_force(r->world, c->count == BARRIER ? COLL_BARRIER : COLL_ALLREDUCE,
                              c->algorithm, c->radix);
}

static int call(struct rank *r, const struct made_call *c, int64_t timeout_ns)
{
    if (c->count == BARRIER)
        return ncoll_barrier(r->world, timeout_ns);
    return ncoll_allreduce(r->world, in, out, c->count, c->type, c->op, timeout_ns);
}

static int start_and_wait(struct rank *r, const struct made_call *c)
{
    ncoll_request *request;
    int rc = c->count == BARRIER
                 ? ncoll_barrier_start(r->world, &request)
                 : ncoll_allreduce_start(r->world, in, out, c->count, c->type, c->op, &request);

    return rc == NCOLL_OK ? ncoll_wait(&request, NCOLL_BLOCK) : rc;
}

static int call_in_form(struct rank *r, const struct made_call *c, enum form form)
{
    int rc;

    if (form == REQUEST)
        return start_and_wait(r, c);
    if (form == BLOCK)
        return call(r, c, NCOLL_BLOCK);
    do
        rc = call(r, c, form == TEST ? NCOLL_TEST : 1000000);
    while (rc == NCOLL_TIMEOUT);
    return rc;
}

/* True if the text says truly of exactly two ranks what they have called, and that differs. */
static bool tells_two(struct rank *r, const char *text)
{
    const char *told[RANKS_MAX];
    unsigned n = 0;
    char phrase[128];

    for (int rank = 0; rank < r->ranks; rank++) {
        snprintf(phrase, sizeof phrase, "rank %d called %s", rank, plan.calls[rank].text);
        if (strstr(text, phrase) != NULL)
            told[n++] = plan.calls[rank].text;
    }
    return n == 2 && strcmp(told[0], told[1]) != 0;
}

/* Calls come before on which all agree. A rank may hear of the disagreement while it is still
 * finishing the last of these calls. */
static int agree(struct rank *r)
{
    const struct made_call *calls[] = {plan.normal, plan.normal, plan.normal, plan.other};
    unsigned n = plan.before == NOTHING ? 0 : plan.before == NORMAL_CALLS ? 3 : 4;
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < n && rc == NCOLL_OK; i++)
        if ((rc = force(r, calls[i])) == NCOLL_OK)
            rc = call(r, calls[i], NCOLL_BLOCK);
    return rc == NCOLL_ERR_MISMATCH ? NCOLL_OK : rc;
}

static int disagree(struct rank *r)
{
    const struct made_call *c = &plan.calls[r->rank];
    enum form form = (enum form)random_below(&r->own, FORMS);

    CHECK_STATUS(agree(r), NCOLL_OK);
    CHECK_STATUS(force(r, c), NCOLL_OK);
    uint64_t start_ns = crew_now_ns();
    CHECK_STATUS(call_in_form(r, c, form), NCOLL_ERR_MISMATCH);
    CHECK(crew_now_ns() - start_ns < HANG_FACTOR * LIMIT_NS);
    ncoll_error error = *ncoll_last_error(r->ctx);
    if (!tells_two(r, error.text))
        fprintf(stderr, "not told well: %s\n", error.text);
    CHECK(tells_two(r, error.text));
    CHECK(error.peer >= 0 && error.peer < r->ranks && strlen(error.remedy) > 0);
    CHECK_STATUS(call(r, plan.normal, NCOLL_BLOCK), NCOLL_ERR_MISMATCH);
    CHECK(strcmp(error.text, ncoll_last_error(r->ctx)->text) == 0);
    return 0;
}

static void run_plan(int ranks, const char *what)
{
    for (plan.before = NOTHING; plan.before < BEFORES; plan.before++)
        if (crew_run(CREW_PROCESSES, ranks, NULL, 20, disagree, NULL) != 0)
            fail_msg("%d ranks, %s; connected before: %s", ranks, what,
                     plan.before == NOTHING        ? "nobody"
                     : plan.before == NORMAL_CALLS ? "for one of the calls"
                                                   : "for both");
}

static void test_one_rank_differs(void **state)
{
    char what[256];

    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++)
        for (int ranks = 2; ranks <= 5; ranks++)
            for (int deviant = 0; deviant < ranks; deviant++) {
                plan.normal = &pairs[p].normal;
                plan.other = &pairs[p].other;
                for (int r = 0; r < ranks; r++)
                    plan.calls[r] = r == deviant ? *plan.other : *plan.normal;
                snprintf(what, sizeof what, "all but %d call %s), that one %s)", deviant,
                         plan.normal->text, plan.other->text);
                run_plan(ranks, what);
            }
}

/* More ranks than one is connected with. */
static void test_half_of_the_ranks_differ(void **state)
{
    struct random random = random_stream(test_seed(), 0);

    (void)state;
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        plan.normal = &pairs[p].normal;
        plan.other = &pairs[p].other;
        for (int r = 0; r < RANKS_MAX; r++)
            plan.calls[r] = random_next(&random) & 1 ? *plan.other : *plan.normal;
        plan.calls[0] = *plan.normal;
        plan.calls[RANKS_MAX - 1] = *plan.other;
        run_plan(RANKS_MAX, plan.other->text);
    }
}

/*
 * The root of a tree has put nothing while it waits, and the others have not either, since they
 * wait for it to connect with: no slot tells anybody anything.
 */
static void test_the_root_differs(void **state)
{
    static const struct made_call rooted = {BARRIER, .algorithm = "tree", .radix = 2,
                                            .text = "barrier (tree, n = 2)"};
    static const struct made_call others = {TYPICAL, "tree", 3,
                                            "allreduce of 3 int64, sum (tree, n = 3)"};

    (void)state;
    plan.normal = &rooted;
    plan.other = &others;
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++) {
        for (int r = 0; r < ranks; r++)
            plan.calls[r] = r == 0 ? rooted : others;
        run_plan(ranks, "the root of a tree waits in a barrier");
    }
}

static void test_all_ranks_differ(void **state)
{
    static char texts[RANKS_MAX][64];

    (void)state;
    for (int r = 0; r < RANKS_MAX; r++) {
        snprintf(texts[r], sizeof texts[r], "allreduce of %d int64, sum (", 3 + r);
        plan.calls[r] = (struct made_call){3 + (size_t)r, NCOLL_INT64, NCOLL_SUM, .text = texts[r]};
    }
    plan.normal = &plan.calls[0];
    plan.other = &plan.calls[1];
    for (int ranks = 2; ranks <= RANKS_MAX; ranks++)
        run_plan(ranks, "every one with a count of its own");
}

/* ------------------------------------------------------------------ settings ----------------- */

static const struct {
    const char *transport, *wiring;
    size_t window_bytes;
    ncoll_tune tune;
    const char *cause;
} unlike[] = {
    {"shm", NULL, 4 << 20, NCOLL_TUNE_TABLE, "transport \"shm\""},
    {NULL, "direct", 4 << 20, NCOLL_TUNE_TABLE, "wiring \"direct\""},
    {NULL, NULL, 1 << 20, NCOLL_TUNE_TABLE, "window 1048576"},
    {NULL, NULL, 4 << 20, NCOLL_TUNE_TRIAL, "tuning trial"},
};

/* Rank 1 has settings of its own. Those that calls depend on are compared when the ranks meet. */
static int join_unlike(const ncoll_params *given, void *arg)
{
    size_t i = *(const size_t *)arg;
    ncoll_params params = *given;
    ncoll_context *ctx = NULL;
    ncoll_error error;
    char who[32];

    if (given->rank == 1) {
        params.transport = unlike[i].transport;
        params.wiring = unlike[i].wiring;
        params.window_bytes = unlike[i].window_bytes;
        params.tune = unlike[i].tune;
    }
    hang_after(20);
    int rc = ncoll_context_create(&params, &ctx, &error);
    snprintf(who, sizeof who, "rank %d", given->rank == 1 ? 0 : 1);
    if (rc == NCOLL_ERR_ARGUMENT && strstr(error.cause, unlike[i].cause) != NULL &&
        strstr(error.cause, who) != NULL)
        return 0;
    fprintf(stderr, "rank %d: %s: %s\n", given->rank, unlike[i].cause,
            rc != NCOLL_OK ? error.text : "no error");
    return 1;
}

static void test_settings_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof unlike / sizeof unlike[0]; i++)
        assert_int_equal(ncoll_fork_ranks(3, NULL, join_unlike, &i, NULL), NCOLL_OK);
}

/* Rank 2 has nothing to send, as it says; the root waits for that. The others see in the next call
 * that history hashes differ. All stay until all know. */
static int send_nothing(struct rank *r)
{
    _Atomic int *told = r->shared;
    static int64_t gathered[40];
    size_t counts[] = {10, 10, r->rank == 2 ? 0 : 10, 10};

    hang_after(20);
    uint64_t start_ns = crew_now_ns();
    int rc = ncoll_gatherv(r->world, in, gathered, counts, NULL, NCOLL_INT64, 0, NCOLL_BLOCK);
    if (rc == NCOLL_OK)
        rc = ncoll_barrier(r->world, NCOLL_BLOCK);
    CHECK_STATUS(rc, NCOLL_ERR_MISMATCH);
    CHECK(crew_now_ns() - start_ns < HANG_FACTOR * LIMIT_NS);
    for (atomic_fetch_add(told, 1); *told < r->ranks;)
        sched_yield();
    return 0;
}

static void test_an_empty_block_differs(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        _Atomic int *told = crew_share(sizeof *told);
        assert_int_equal(crew_run(CREW_PROCESSES, 4, NULL, 20, send_nothing, told), 0);
        crew_unshare(told, sizeof *told);
    }
}

/* A rank that waits searches its slots for messages of other calls. It reads only those that have
 * been written, since reading the others would give them memory. */
#define WRITTEN_MOST 8u

static int wait_for_the_last(struct rank *r)
{
    const struct window *w = r->world->window;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)w->slots / page * page;
    size_t bytes = (uintptr_t)window_slot(w, 0, w->shape.n_slots) - first, written = 0;
    unsigned char *present = calloc(bytes / page + 2, 1);

    CHECK(present != NULL);
    if (r->rank == r->ranks - 1)
        usleep(150000);
    CHECK_STATUS(ncoll_barrier(r->world, NCOLL_BLOCK), NCOLL_OK);
    CHECK(mincore((void *)first, bytes, present) == 0);
    for (size_t i = 0; i < bytes / page; i++)
        written += present[i] & 1;
    free(present);
    CHECK(written <= WRITTEN_MOST);
    return 0;
}

/* True if the kernel gives shared memory in huge pages, which are in memory as a whole. */
static bool has_huge_pages(void)
{
    FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re");
    char line[128] = "";

    if (f != NULL && fgets(line, sizeof line, f) == NULL)
        line[0] = '\0';
    if (f != NULL)
        fclose(f);
    return strstr(line, "[always]") != NULL || strstr(line, "[force]") != NULL;
}

static void test_a_search_takes_no_memory(void **state)
{
    ncoll_params params;

    (void)state;
    if (has_huge_pages())
        skip();
    ncoll_params_init(&params, sizeof params);
    params.transport = "shm";
    params.ranks_per_core = 2; /* ranks with a core of their own touch their slots at once */
    assert_int_equal(crew_run(CREW_PROCESSES, 4, &params, 20, wait_for_the_last, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_rank_differs),
        cmocka_unit_test(test_half_of_the_ranks_differ),
        cmocka_unit_test(test_the_root_differs),
        cmocka_unit_test(test_all_ranks_differ),
        cmocka_unit_test(test_settings_differ),
        cmocka_unit_test(test_an_empty_block_differs),
        cmocka_unit_test(test_a_search_takes_no_memory),
    };

    return cmocka_run_group_tests_name("mismatch", tests, NULL, NULL);
}
