/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Goes through the registry: whatever is listed there is checked, for every size and radix, with
 * and without an inverse. What a schedule must be beyond running right on the model is checked here
 * too: that round() is a pure function of its arguments, that the footprint and the peers do not
 * depend on the rank and the count, and that a longer vector gives the same schedule, wider.
 */
#include "test/verify/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/memory.h"

#define RADIX_USUAL  8
#define RADIX_WIDE_P 64
#define PURITY_P     48  /* larger ones would only repeat it */
#define COUNT_P      128 /* the same */
#define COUNT        3   /* elements of the longer vector */

/* One size, radix and collective of an algorithm. */
struct subject {
    const struct algorithm *algorithm;
    enum collective collective;
    struct shape shape;
    struct model *model;
    struct tally *tally;
    struct schedule *schedule; /* of this shape */
    struct program *other;     /* of one rank, to compare */
};

static void report(const struct subject *s, const struct shape *g, const char *what)
{
    s->tally->wrong++;
    if (s->tally->wrong <= 20)
        printf("WRONG %s %s: P = %u, n = %u, count = %zu, %s inverse: %s\n", s->algorithm->name,
               s->collective == COLL_BARRIER ? "barrier" : "allreduce", g->size, g->radix, g->count,
               g->inverse ? "with" : "without", what);
}

static bool run(struct subject *s, const struct schedule *schedule)
{
    if (model_run(s->model, schedule))
        return true;
    report(s, &schedule->shape, s->model->fault);
    return false;
}

static struct step widened(struct step step, size_t by)
{
    step.count *= by;
    step.dst.offset *= by;
    step.a.offset *= by;
    step.b.offset *= by;
    return step;
}

/* Whether the steps for `shape` are those of the schedule, with `by` elements in place of each. A
 * wider schedule is right if the narrow one is: each element goes its own, same way. */
static bool alike(struct subject *s, const struct shape *shape, size_t by)
{
    for (unsigned p = 0; p < shape->size; p++) {
        const struct program *narrow = &s->schedule->ranks[p];
        struct shape g = *shape;
        g.rank = p;
        program_of(s->algorithm, &g, false, s->other);
        if (by == 1 ? !program_equals(narrow, s->other) : narrow->count != s->other->count)
            return false;
        for (unsigned i = 0; by > 1 && i < narrow->count; i++) {
            struct step wide = widened(narrow->steps[i], by);
            if (!step_equals(&wide, &s->other->steps[i]))
                return false;
        }
    }
    return true;
}

static void mark_peers(const struct program *p, uint8_t *marks, uint8_t mark)
{
    for (unsigned i = 0; i < p->count; i++)
        if (p->steps[i].kind == STEP_PUT || p->steps[i].kind == STEP_WAIT)
            marks[p->steps[i].peer] |= mark;
}

static bool same_peers(const struct schedule *a, const struct schedule *b)
{
    unsigned P = a->shape.size;
    uint8_t *marks = allocate(P, 1);
    bool same = true;

    for (unsigned p = 0; p < P; p++) {
        memset(marks, 0, P);
        mark_peers(&a->ranks[p], marks, 1);
        mark_peers(&b->ranks[p], marks, 2);
        for (unsigned q = 0; q < P; q++)
            same &= marks[q] == 0 || marks[q] == 3;
    }
    free(marks);
    return same;
}

/* A variant that is not alike is a schedule of its own. */
static void run_variant(struct subject *s, const struct shape *shape)
{
    struct schedule schedule = {0};

    schedule_write(s->algorithm, s->collective, shape, &schedule);
    if (!same_peers(s->schedule, &schedule))
        report(s, shape, "other peers than with another count or inverse");
    else
        run(s, &schedule);
    schedule_free(&schedule);
}

/* The shape with another count, or without an inverse. */
static void check_variant(struct subject *s, const struct shape *shape, size_t by)
{
    struct footprint narrow = s->schedule->footprint, wide = s->algorithm->footprint(shape);

    s->tally->schedules++;
    if (!algorithm_exists(s->algorithm, shape))
        report(s, shape, "does not exist for another count or without inverse");
    else if (by > 1 && (wide.scratch > by * narrow.scratch || wide.message > by * narrow.message))
        report(s, shape, "footprint grows faster than the count");
    else if (wide.slots == narrow.slots && wide.scratch == by * narrow.scratch &&
             wide.message == by * narrow.message && alike(s, shape, by))
        s->tally->alike++;
    else
        run_variant(s, shape);
}

/* Nothing of the shape but the rank differs between ranks, so neither may these. */
static void check_same_on_all_ranks(struct subject *s)
{
    struct shape g = s->shape;
    struct footprint first = s->schedule->footprint;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        struct footprint f = s->algorithm->footprint(&g);
        if (f.slots != first.slots || f.scratch != first.scratch || f.message != first.message)
            report(s, &g, "the footprint depends on the rank");
        if (!algorithm_exists(s->algorithm, &g))
            report(s, &g, "exists on some ranks only");
    }
}

static void check_pure(struct subject *s)
{
    struct shape g = s->shape;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        program_of(s->algorithm, &g, true, s->other);
        if (!program_equals(s->other, &s->schedule->ranks[g.rank]))
            report(s, &g, "round() gives other steps when called in another order");
    }
}

static void check(struct subject *s)
{
    struct shape shape = s->shape;

    if (!algorithm_exists(s->algorithm, &shape))
        return;
    schedule_write(s->algorithm, s->collective, &shape, s->schedule);
    s->tally->schedules++;
    if (!run(s, s->schedule))
        return;
    check_same_on_all_ranks(s);
    if (shape.size <= PURITY_P)
        check_pure(s);
    shape.inverse = false;
    check_variant(s, &shape, 1);
    if (s->collective == COLL_BARRIER || shape.size > COUNT_P)
        return;
    shape.inverse = true;
    shape.count = COUNT;
    check_variant(s, &shape, COUNT);
}

static void check_collectives(struct subject *s)
{
    for (s->collective = COLL_BARRIER; s->collective <= COLL_ALLREDUCE; s->collective++)
        if (s->algorithm->collectives & 1u << s->collective) {
            s->shape.collective = s->collective;
            s->shape.count = s->collective == COLL_BARRIER ? 0 : 1;
            check(s);
        }
}

void sweep_size(const struct sweep *sweep, unsigned P, struct model *model, struct tally *tally)
{
    struct schedule schedule = {0};
    struct program other = {0};
    unsigned first = sweep->radix > 0 ? sweep->radix : 1;
    unsigned last = sweep->radix > 0 ? sweep->radix : P <= RADIX_WIDE_P ? RADIX_MAX : RADIX_USUAL;

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (unsigned n = first; n <= last; n++) {
            struct subject subject = {
                .algorithm = ncoll__algorithms[i],
                .shape = {.size = P, .radix = n, .inverse = true},
                .model = model,
                .tally = tally,
                .schedule = &schedule,
                .other = &other,
            };
            if (sweep->only == NULL || sweep->only == subject.algorithm)
                check_collectives(&subject);
        }
    schedule_free(&schedule);
    free(other.steps);
}
