/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algos/choice.h"
#include "test/verify/memory.h"
#include "test/verify/parts.h"
#include "test/verify/patterns.h"
#include "test/verify/peers.h"

/* Up to which size; larger ones would only repeat what these show. */
#define PURITY_P     48
#define COUNT_P      128
#define SPLIT_P      64
#define NOTHING_P    40
#define PATTERN_P    40 /* from here on counts are irregular, if they are given for each block */
#define LANES_EACH_P 12 /* up to here lanes are run in several ways, from here on in one, */
#define PLACED_P     48
#define PARTS_P      40 /* up to here a call is divided in several ways, from here on in one */

#define COUNT 3 /* elements of the longer vector */

const char *collective_name(enum collective c)
{
    static const char *const names[COLLECTIVES] = {
        [COLL_BARRIER] = "barrier",     [COLL_ALLREDUCE] = "allreduce",
        [COLL_BCAST] = "bcast",         [COLL_REDUCE] = "reduce",
        [COLL_GATHER] = "gather",       [COLL_SCATTER] = "scatter",
        [COLL_ALLGATHER] = "allgather", [COLL_ALLTOALL] = "alltoall",
        [COLL_SCAN] = "scan",           [COLL_REDUCE_SCATTER] = "reduce-scatter",
        [COLL_EXSCAN] = "exscan",
    };
    return names[c];
}

static void report(struct checker *c, const struct shape *g, const char *what)
{
    char radix[RADIX_TEXT];

    c->tally->wrong++;
    if (c->tally->wrong > 20)
        return;
    printf("WRONG %s %s: P = %u, root %u, n = %s, ", c->schedule.algorithm->name,
           collective_name(g->collective), g->size, g->root, ncoll__radix_text(g->radix, radix));
    if (g->counts == NULL)
        printf("count = %zu", g->count);
    else
        printf("counts");
    for (unsigned q = 0; g->counts != NULL && q < g->size && q < 16; q++)
        printf(" %zu", g->counts[q]);
    if (is_in_parts(g))
        printf(", part %u of %u", g->part, g->parts);
    for (unsigned q = 0; g->nodes != NULL && q < g->size; q++)
        printf("%s%u", q > 0 ? "," : ", on nodes ", node_of(g->nodes, q));
    if (g->places > 0)
        printf(", %u places", g->places);
    for (unsigned v = 0; g->rank_at != NULL && v < g->places && v < 16; v++)
        printf("%s%zu", v > 0 ? "," : ": ranks ", g->rank_at[v]);
    printf(", %s inverse: %s\n", g->inverse ? "with" : "without", what);
}

/* Checks the schedule as it is, and with messages that are placed in OUT. */
static bool run(struct checker *c, const struct schedule *schedule)
{
    enum placed_as last = schedule->shape.size <= PLACED_P ? PLACED_APART : PLACED_NONE;

    c->tally->schedules++;
    for (enum placed_as placed_as = PLACED_NONE; placed_as <= last; placed_as++) {
        c->model.placed_as = placed_as;
        if (!model_run(&c->model, schedule)) {
            report(c, &schedule->shape, c->model.fault);
            return false;
        }
    }
    return true;
}

/* Counted from a's root, where b's ranks are counted from b's. */
static unsigned rotation(const struct outline *a, const struct outline *b)
{
    return (a->root + a->P - b->root) % a->P;
}

/* Several runs at once; unless that follows from what has been run: with other counts, for another
 * root. */
static void check_lanes(struct checker *c, const struct schedule *schedule)
{
    unsigned kept = c->n_outlines < OUTLINES ? c->n_outlines : OUTLINES;

    outline_of(schedule, &c->outline);
    c->tally->in_lanes++;
    for (unsigned i = 0; i < kept; i++)
        if (c->outlines[i].P == c->outline.P &&
            outline_follows(&c->outline, &c->outlines[i], rotation(&c->outline, &c->outlines[i]))) {
            c->tally->lanes_alike++;
            return;
        }
    if (!lanes_all(&c->lanes, &c->outline, schedule->shape.size <= LANES_EACH_P)) {
        report(c, &schedule->shape, c->lanes.fault);
        return;
    }
    struct outline *keep = &c->outlines[c->n_outlines++ % OUTLINES], other = *keep;
    *keep = c->outline;
    c->outline = other;
}

/* ------------------------------------------------------------------ variants ------------------ */

static struct step widened(struct step step, size_t by)
{
    step.count *= by;
    step.dst.offset *= by;
    step.a.offset *= by;
    step.b.offset *= by;
    return step;
}

/* True if the steps for `shape` are those of the schedule, with `by` elements in place of each. A
 * wider schedule is right if the narrow one is: each element goes its own, same way. */
static bool alike(struct checker *c, const struct shape *shape, size_t by)
{
    for (unsigned p = 0; p < shape->size; p++) {
        const struct program *narrow = schedule_program(&c->schedule, p, &c->program);
        struct shape g = shape_on_rank(shape, p);
        program_of(c->schedule.algorithm, &g, false, &c->other);
        if (narrow->count != c->other.count)
            return false;
        for (unsigned i = 0; i < narrow->count; i++) {
            struct step wide = widened(narrow->steps[i], by);
            if (!step_equals(&wide, &c->other.steps[i]))
                return false;
        }
    }
    return true;
}

bool check_is_wider(struct checker *c, const struct shape *shape, size_t by)
{
    struct footprint narrow = c->schedule.footprint;
    struct footprint wide = c->schedule.algorithm->footprint(shape);

    return algorithm_exists(c->schedule.algorithm, shape) && wide.slots == narrow.slots &&
           wide.scratch == by * narrow.scratch && wide.message == by * narrow.message &&
           wide.sent == by * narrow.sent && alike(c, shape, by);
}

/* A schedule of its own, with the peers of the first. */
static void run_variant(struct checker *c, const struct shape *shape)
{
    if (!algorithm_exists(c->schedule.algorithm, shape)) {
        report(c, shape, "does not exist for other counts or without inverse");
        return;
    }
    schedule_write(c->schedule.algorithm, shape, &c->variant);
    if (!peers_same(&c->schedule, &c->variant, has_no_message(shape, 0)))
        report(c, shape, "other peers than with another count or inverse");
    else if (run(c, &c->variant))
        check_lanes(c, &c->variant);
}

/* The shape with another count, or without an inverse. Returns whether it is alike. */
static bool check_variant(struct checker *c, const struct shape *shape, size_t by)
{
    struct footprint narrow = c->schedule.footprint;
    struct footprint wide = c->schedule.algorithm->footprint(shape);

    if (wide.scratch > by * narrow.scratch || wide.message > by * narrow.message ||
        wide.sent > by * narrow.sent) {
        report(c, shape, "footprint grows faster than the count");
        return true;
    }
    if (check_is_wider(c, shape, by)) {
        c->tally->schedules++;
        c->tally->alike++;
        c->tally->in_lanes++;
        c->tally->lanes_alike++;
        return true;
    }
    run_variant(c, shape);
    return false;
}

/* More elements, none, and, where a vector is split among the ranks, more than there are of these:
 * parts of different lengths, some of which were empty before. */
static void check_counts(struct checker *c)
{
    struct shape shape = c->schedule.shape;

    shape.count = COUNT;
    if (shape.size <= COUNT_P && !check_variant(c, &shape, COUNT) && shape.size <= SPLIT_P) {
        shape.count = 2 * shape.size + 1;
        check_variant(c, &shape, shape.count);
        shape.count = shape.size;
        check_variant(c, &shape, shape.count);
    }
    shape.count = 0;
    if (shape.size <= NOTHING_P)
        run_variant(c, &shape);
}

/* Segments are cut as if all blocks were as long as the longest (lib/plan/segment.c): no rank may
 * need more than that, whether what is put is copied to scratch or not. */
static void check_planned(struct checker *c, const struct shape *shape, const size_t *counts,
                          size_t n)
{
    const struct algorithm *algorithm = c->schedule.algorithm;
    struct footprint needs = algorithm->footprint(shape), planned;
    struct shape even = *shape;

    even.counts = even.sends = NULL;
    even.separate = false;
    even.count = 0;
    for (size_t i = 0; i < n; i++)
        even.count = counts[i] > even.count ? counts[i] : even.count;
    if (shape->sends != NULL && even.count == 0)
        even.count = 1;
    planned = algorithm->footprint(&even);
    size_t scratch = planned.scratch + (algorithm->properties & PACKS_UNEVEN ? planned.sent : 0);
    if (needs.slots > planned.slots || needs.message > planned.message || needs.scratch > scratch ||
        needs.scratch + needs.sent > scratch + planned.sent)
        report(c, shape, "the footprint exceeds what is planned for blocks as long as the longest");
}

/* Counts for each block: the irregular patterns, and the others as well; or one that is irregular,
 * each in turn. */
enum patterns { PATTERNS_ALL, PATTERNS_WITHOUT_REGULAR, PATTERNS_ONE };

static void check_repeated(struct checker *c, const struct schedule *s);

static void check_patterns(struct checker *c, enum patterns which)
{
    const struct shape *g = &c->schedule.shape;
    size_t P = g->size, room = g->collective == COLL_ALLTOALL ? P * P : P;
    size_t *counts = allocate(room, sizeof *counts), *sends = allocate(room, sizeof *sends);
    unsigned first = which == PATTERNS_ALL ? 0 : PATTERNS_REGULAR, last = PATTERNS - 1;

    if (which == PATTERNS_ONE)
        first = last = PATTERNS_REGULAR + (g->size + g->root + g->radix) % PATTERNS_IRREGULAR;
    for (unsigned pattern = first; pattern <= last; pattern++) {
        struct shape shape = *g;
        pattern_set(&shape, pattern, counts, sends);
        check_planned(c, &shape, counts, room);
        run_variant(c, &shape);
        check_repeated(c, &c->variant);
    }
    free(counts);
    free(sends);
}

/* ------------------------------------------------------------------ promises ------------------ */

/* Nothing of the shape but the rank differs between ranks, so neither may these. */
static void check_same_on_all_ranks(struct checker *c)
{
    const struct algorithm *algorithm = c->schedule.algorithm;
    struct shape g = c->schedule.shape;
    struct footprint first = c->schedule.footprint;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        struct footprint f = algorithm->footprint(&g);
        if (!footprint_equals(f, first))
            report(c, &g, "the footprint depends on the rank");
        if (!algorithm_exists(algorithm, &g))
            report(c, &g, "exists on some ranks only");
    }
}

static void check_pure(struct checker *c)
{
    struct shape g = c->schedule.shape;

    for (g.rank = 0; g.rank < g.size; g.rank++) {
        program_of(c->schedule.algorithm, &g, true, &c->other);
        if (!program_equals(&c->other, &c->schedule.ranks[g.rank]))
            report(c, &g, "round() gives other steps when called in another order");
    }
}

const char *check_promises(const struct schedule *s, struct schedule *room)
{
    struct shape unrotated = s->shape;

    if (s->properties & SAME_DISTANCES && !peers_at_same_distances(s))
        return "peers lie at other distances from some ranks";
    if (peers_most(s) > ncoll__algorithm_peers(s->algorithm, &s->shape))
        return "a rank has more peers than the algorithm states";
    if (s->properties & ROOT_HAS_ALL && s->shape.rank_at == NULL && !peers_of_root_are_all(s))
        return "a rank has a peer at a distance at which the root has none";
    if (!schedule_rotates(s) || s->shape.root == 0)
        return NULL;
    unrotated.root = 0;
    schedule_write(s->algorithm, &unrotated, room);
    return peers_rotated(room, s, s->shape.root) ? NULL
                                                 : "peers are not root 0's, counted from the root";
}

/* A plan is made of repeated steps. */
static void check_repeated(struct checker *c, const struct schedule *s)
{
    for (unsigned rank = 0; rank < s->shape.size; rank++) {
        struct shape g = shape_on_rank(&s->shape, rank);
        program_repeated(s->algorithm, &g, &c->other);
        if (!program_equals(&c->other, schedule_program(s, rank, &c->program)))
            report(c, &g, "repeated steps are others than these steps one by one");
    }
}

/* Blocks that do not lie side by side. */
static void check_separate(struct checker *c, size_t count)
{
    struct shape shape = c->schedule.shape;

    shape.separate = true;
    shape.count = count;
    check_planned(c, &shape, &count, 1);
    run_variant(c, &shape);
    check_repeated(c, &c->variant);
}

static bool has_blocks(enum collective c)
{
    return in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS;
}

static void check_peers(struct checker *c)
{
    const char *what = check_promises(&c->schedule, &c->variant);

    if (what != NULL)
        report(c, &c->schedule.shape, what);
}

/* Padded blocks of an alltoall take the way of blocks of one count, so in larger groups one pattern
 * is enough for each. */
static enum patterns patterns_of(const struct checker *c, bool light)
{
    const struct shape *g = &c->schedule.shape;

    if (g->size <= PATTERN_P && !light)
        return PATTERNS_ALL;
    return g->collective == COLL_ALLTOALL && c->schedule.properties & PADS_BLOCKS
               ? PATTERNS_ONE
               : PATTERNS_WITHOUT_REGULAR;
}

/* ------------------------------------------------------------------ parts --------------------- */

/* The steps of some parts by themselves, several runs at once. */
static void check_part(struct checker *c, struct shape shape, unsigned part)
{
    shape.part = part;
    schedule_write(c->schedule.algorithm, &shape, &c->variant);
    check_lanes(c, &c->variant);
    check_repeated(c, &c->variant);
}

/* The values of a call in parts. */
static void check_divided(struct checker *c, const struct shape *shape)
{
    bool follow = (c->schedule.algorithm->properties & PARTS_FOLLOW) != 0;

    if (!algorithm_exists(c->schedule.algorithm, shape)) {
        report(c, shape, "does not exist in parts");
        return;
    }
    for (unsigned backwards = 0; backwards <= !follow; backwards++) {
        const char *wrong = parts_write(c->schedule.algorithm, shape, backwards, &c->variant);
        c->model.placed_as = PLACED_NONE;
        c->tally->schedules++;
        if (wrong == NULL && !model_run(&c->model, &c->variant))
            wrong = c->model.fault;
        if (wrong != NULL)
            report(c, shape, wrong);
    }
}

/* Checks a divided call with more elements, with separate blocks, and with counts for each block. */
static void check_divided_variants(struct checker *c, const struct shape *divided)
{
    size_t P = divided->size, room = divided->collective == COLL_ALLTOALL ? P * P : P;
    size_t *counts = allocate(room, sizeof *counts), *sends = allocate(room, sizeof *sends);
    struct shape shape = *divided;

    shape.count = 2 * P + 1;
    check_divided(c, &shape);
    shape.count = COUNT;
    shape.separate = has_blocks(shape.collective);
    check_divided(c, &shape);
    for (unsigned pattern = 0; takes_counts(shape.collective) && pattern < PATTERNS; pattern++) {
        shape = *divided;
        pattern_set(&shape, pattern, counts, sends);
        check_divided(c, &shape);
    }
    free(counts);
    free(sends);
}

/* The call in parts that use few slots each. */
static void check_parts(struct checker *c, bool light)
{
    const struct algorithm *algorithm = c->schedule.algorithm;
    struct shape shape = c->schedule.shape;
    unsigned turns = algorithm->turns != NULL ? algorithm->turns(&shape) : 0;
    unsigned slots[] = {1, 2, 3, turns / 3 + 1, turns / 2 + 1};
    bool all = shape.size <= PARTS_P && !light;

    for (unsigned i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        if (turns <= slots[i] || (!all && i != shape.size % 5))
            continue;
        ncoll__divide(algorithm, &shape, slots[i]);
        check_divided(c, &shape);
        if (all)
            check_divided_variants(c, &shape);
        check_part(c, shape, 0);
        check_part(c, shape, shape.parts / 2);
        check_part(c, shape, shape.parts - 1);
    }
}

/* ------------------------------------------------------------------ everything ---------------- */

void check(struct checker *c, const struct algorithm *algorithm, const struct shape *shape,
           bool light)
{
    enum collective collective = shape->collective;
    struct shape without = *shape;

    schedule_write(algorithm, shape, &c->schedule);
    c->tally->with_list += radix_is_list(shape->radix);
    if (!run(c, &c->schedule))
        return;
    check_same_on_all_ranks(c);
    check_peers(c);
    check_lanes(c, &c->schedule);
    check_repeated(c, &c->schedule);
    if (shape->size <= PURITY_P)
        check_pure(c);
    without.inverse = false;
    if (shape->size <= PURITY_P ||
        (reduces(collective) && (!light || collective == COLL_ALLREDUCE)))
        check_variant(c, &without, 1);
    if (collective != COLL_BARRIER)
        check_counts(c);
    if (has_blocks(collective))
        check_separate(c, shape->size <= PURITY_P ? COUNT : 1);
    if (takes_counts(collective))
        check_patterns(c, patterns_of(c, light));
    check_parts(c, light);
}

/* More steps than these, of all ranks together, would fill a gigabyte, and clocks some more. */
#define STEPS_MOST 2000000u

/* Gather and scatter, which keep few ranks busy. */
bool check_has_variants(const struct shape *shape)
{
    return has_blocks(shape->collective) && is_rooted(shape->collective);
}

/* Ranks other than the root stand for all. */
bool check_is_long(struct checker *c, const struct algorithm *algorithm, const struct shape *shape)
{
    unsigned rank = (shape->root + 1) % shape->size;

    return !check_has_variants(shape) &&
           check_steps(c, algorithm, shape, rank) > STEPS_MOST / shape->size;
}

void check_alone(struct checker *c, const struct algorithm *algorithm, const struct shape *shape)
{
    if (check_is_long(c, algorithm, shape)) {
        schedule_describe(algorithm, shape, &c->schedule);
        c->tally->unwritten++;
    } else {
        schedule_write(algorithm, shape, &c->schedule);
    }
    c->tally->with_list += radix_is_list(shape->radix);
    if (!run(c, &c->schedule))
        return;
    check_lanes(c, &c->schedule);
    check_repeated(c, &c->schedule);
    if (check_has_variants(shape))
        check_separate(c, 1);
    if (takes_counts(shape->collective) && is_rooted(shape->collective)) /* others copy P blocks */
        check_patterns(c, PATTERNS_ONE);
}

unsigned check_steps(struct checker *c, const struct algorithm *algorithm,
                     const struct shape *shape, unsigned rank)
{
    struct shape g = shape_on_rank(shape, rank);

    program_of(algorithm, &g, false, &c->other);
    return c->other.count;
}

void checker_free(struct checker *c)
{
    model_free(&c->model);
    lanes_free(&c->lanes);
    schedule_free(&c->schedule);
    schedule_free(&c->variant);
    free(c->program.steps);
    free(c->other.steps);
    outline_free(&c->outline);
    for (unsigned i = 0; i < OUTLINES; i++)
        outline_free(&c->outlines[i]);
}
