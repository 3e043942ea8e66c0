/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in parts: what is planned on many ranks, and what few ranks do if a run may use few slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lib/base/group.h"
#include "lib/base/names.h"
#include "lib/choose/planned.h"
#include "lib/inspect.h"
#include "test/support/crew.h"
#include "test/support/planner.h"

#define ELEMENT sizeof(int64_t)

/* ------------------------------------------------------------------ plans --------------------- */

static const struct {
    enum collective collective;
    const char *algorithm;
    unsigned ranks, parts;
} planned[] = {
    {COLL_ALLTOALL, "direct", 4097, 1},  {COLL_ALLTOALL, "direct", 4098, 2},
    {COLL_ALLGATHER, "direct", 9000, 3}, {COLL_GATHER, "flat", 9000, 3},
    {COLL_ALLGATHER, "ring", 4096, 1},   {COLL_ALLGATHER, "ring", 5000, 2},
    {COLL_ALLREDUCE, "ring", 2049, 1},   {COLL_ALLREDUCE, "ring", 2050, 2},
    {COLL_ALLREDUCE, "ring", 10000, 5},
};

/* Counts the turns of a plan, which are its waits, or its puts on ranks other than a root. Fails if a
 * run takes more slots than there are. */
static unsigned turns_of(const struct plan *plan)
{
    unsigned puts = 0, waits = 0;

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            const struct instruction *s = &plan->programs[p].instructions[i];
            bool message = s->kind == STEP_PUT || s->kind == STEP_WAIT;
            assert_true(!message || s->slot < SLOTS_MAX);
            puts += s->kind == STEP_PUT;
            waits += s->kind == STEP_WAIT;
        }
    return puts > waits ? puts : waits;
}

static void check_planned(unsigned i)
{
    struct planner_job job = {.ranks = planned[i].ranks, .fabric = PLANNER_VERBS, .per_node = 1};
    struct planner *p = planner_new(&job);
    ncoll_group *g = planner_world(p);
    unsigned P = planned[i].ranks,
             turns = planned[i].collective == COLL_ALLREDUCE ? 2 * (P - 1) : P - 1;
    struct call_args args = {.collective = planned[i].collective,
                             .count = planned[i].collective == COLL_ALLREDUCE ? P : 1,
                             .type = NCOLL_INT64,
                             .op = NCOLL_SUM,
                             .once = true};
    struct plan *plan = NULL;

    assert_int_equal(ncoll__group_force(g, args.collective, planned[i].algorithm, 1), NCOLL_OK);
    int rc = ncoll__plan(g, &args, 0, &plan);
    if (rc != NCOLL_OK)
        fail_msg("%s %s of %u ranks: %s", planned[i].algorithm,
                 ncoll__collective_name(args.collective), P, planner_error(p));
    assert_int_equal(plan->parts, planned[i].parts);
    assert_int_equal(plan->runs, plan->parts * plan->segments);
    assert_int_equal(turns_of(plan), turns);
    assert_int_equal(plan->synchronises,
                     plan->parts == 1 && (plan->algorithm->properties & SYNCHRONISES) != 0);
    ncoll__plan_leave(g, plan);
    planner_free(p);
}

/* Calls that need more slots than a run has are done in as few parts as can be, the others whole. */
static void test_planned(void **state)
{
    (void)state;
    for (unsigned i = 0; i < sizeof planned / sizeof planned[0]; i++)
        check_planned(i);
}

/* A reduce-scatter has no room for what a part of a ring leaves. */
static void test_none(void **state)
{
    struct planner_job job = {.ranks = 5000, .fabric = PLANNER_VERBS, .per_node = 1};
    struct planner *p = planner_new(&job);
    ncoll_group *g = planner_world(p);
    struct choice choice;

    (void)state;
    assert_int_equal(ncoll__group_force(g, COLL_REDUCE_SCATTER, "ring", 1), NCOLL_OK);
    assert_int_equal(ncoll__choose(g, COLL_REDUCE_SCATTER, 1, NCOLL_INT64, NCOLL_SUM, &choice),
                     NCOLL_ERR_UNSUPPORTED);
    planner_free(p);
}

/* ------------------------------------------------------------------ runs ---------------------- */

#define RANKS 7
#define CALLS 20
#define COUNT 5000

struct buffers {
    int64_t in[RANKS * COUNT], out[RANKS * COUNT];
};

static int64_t value_of(int rank, size_t i, int call)
{
    return (int64_t)i * (rank + 1) + call;
}

static int reduce(struct rank *r, struct buffers *b, size_t count, bool in_place)
{
    for (int call = 0; call < CALLS; call++) {
        int64_t *in = in_place ? b->out : b->in;
        for (size_t i = 0; i < count; i++)
            in[i] = value_of(r->rank, i, call);
        CHECK_STATUS(
            ncoll_allreduce(r->world, in, b->out, count, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK),
            NCOLL_OK);
        for (size_t i = 0; i < count; i++)
            CHECK(b->out[i] == (int64_t)i * RANKS * (RANKS + 1) / 2 + RANKS * call);
    }
    return 0;
}

static int exchange(struct rank *r, struct buffers *b, size_t count)
{
    for (int call = 0; call < CALLS; call++) {
        for (size_t i = 0; i < RANKS * count; i++)
            b->in[i] = value_of(r->rank, i, call);
        CHECK_STATUS(ncoll_alltoall(r->world, b->in, b->out, count, NCOLL_INT64, NCOLL_BLOCK),
                     NCOLL_OK);
        for (size_t i = 0; i < RANKS * count; i++)
            CHECK(b->out[i] ==
                  value_of((int)(i / count), (size_t)r->rank * count + i % count, call));
    }
    return 0;
}

/* Runs of few slots, of short data and of data in several segments. */
static int run_parts(struct rank *r)
{
    static struct buffers b;
    struct choice choice;
    int status = 0;

    for (unsigned slots = 1; slots <= 5 && status == 0; slots++) {
        CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLREDUCE, "ring", 1), NCOLL_OK);
        CHECK_STATUS(ncoll__group_force_slots(r->world, COLL_ALLREDUCE, slots), NCOLL_OK);
        CHECK_STATUS(ncoll__choose(r->world, COLL_ALLREDUCE, 1, NCOLL_INT64, NCOLL_SUM, &choice),
                     NCOLL_OK);
        CHECK(choice.parts == (2 * (RANKS - 1) + slots - 1) / slots);
        CHECK_STATUS(ncoll__group_force(r->world, COLL_ALLTOALL, "direct", 1), NCOLL_OK);
        CHECK_STATUS(ncoll__group_force_slots(r->world, COLL_ALLTOALL, slots), NCOLL_OK);
        for (unsigned segments = 0; segments <= 3 && status == 0; segments++) {
            size_t bytes = segments > 0 ? COUNT * ELEMENT / segments : 0;
            CHECK_STATUS(ncoll__group_force_segments(r->world, COLL_ALLREDUCE, bytes, 0), NCOLL_OK);
            status = reduce(r, &b, segments > 0 ? COUNT : 1, slots % 2 == 0);
            CHECK_STATUS(ncoll__group_force_segments(r->world, COLL_ALLTOALL, bytes, 0), NCOLL_OK);
            status = status != 0 ? status : exchange(r, &b, segments > 0 ? COUNT / 10 : 1);
        }
    }
    return status;
}

static void test_runs(void **state)
{
    (void)state;
    assert_int_equal(crew_run(CREW_PROCESSES, RANKS, NULL, 100, run_parts, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_planned),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_runs),
    };

    return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
