/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes in schedules that are not written out: an algorithm whose round() spoils one step of one
 * rank, somewhere in the middle. They are run as long schedules are, in parts and in portions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/verify/check.h"
#include "test/verify/memory.h"
#include "test/verify/mutate.h"
#include "test/verify/mutate/site.h"
#include "test/verify/splits.h"

#define RANKS       67
#define RANKS_LARGE 1024
#define PER_NODE    16
#define PORTION     5 /* elements */

/* Each kind spoils step i of a round, which has room for one step more, or finds no place there. */

static bool is_put(const struct step *s)
{
    return s->kind == STEP_PUT;
}

static bool is_wait(const struct step *s)
{
    return s->kind == STEP_WAIT;
}

static void take_away(struct round *out, unsigned i)
{
    out->count--;
    memmove(&out->steps[i], &out->steps[i + 1], (out->count - i) * sizeof *out->steps);
}

static void insert(struct round *out, unsigned i, struct step step)
{
    memmove(&out->steps[i + 1], &out->steps[i], (out->count - i) * sizeof *out->steps);
    out->steps[i] = step;
    out->count++;
}

static bool wrong_block_read(const struct shape *g, struct round *out, unsigned i)
{
    struct step *s = &out->steps[i];
    bool reads = (is_local(s) || is_put(s)) && s->count > 0 && s->a.buffer == BUF_IN;

    if (!reads || in_form(g->collective) != FORM_BLOCKS)
        return false;
    s->a.block = (s->a.block + 1) % g->size;
    return true;
}

static bool wrong_block_written(const struct shape *g, struct round *out, unsigned i)
{
    struct step *s = &out->steps[i];

    if (!is_local(s) || s->dst.buffer != BUF_OUT || out_form(g->collective) != FORM_BLOCKS)
        return false;
    s->dst.block = (s->dst.block + 1) % g->size;
    return true;
}

static bool slot_used_twice(const struct shape *g, struct round *out, unsigned i)
{
    struct step *s = &out->steps[i];

    (void)g;
    for (unsigned j = 0; j < i && is_put(s); j++)
        if (is_put(&out->steps[j])) {
            s->peer = out->steps[j].peer;
            s->slot = out->steps[j].slot;
            return true;
        }
    return false;
}

static bool wait_missing(const struct shape *g, struct round *out, unsigned i)
{
    (void)g;
    if (!is_wait(&out->steps[i]))
        return false;
    take_away(out, i);
    return true;
}

static bool wait_too_late(const struct shape *g, struct round *out, unsigned i)
{
    struct step wait = out->steps[i];
    bool read = false;

    (void)g;
    for (unsigned j = i + 1; j < out->count && is_wait(&wait) && wait.count > 0; j++) {
        const struct step *s = &out->steps[j];
        read |= !is_wait(s) && s->kind != STEP_LOOK && s->count > 0 && s->a.buffer == BUF_ARRIVED &&
                s->a.slot == wait.slot;
    }
    if (!read)
        return false;
    take_away(out, i);
    insert(out, out->count, wait);
    return true;
}

static bool wait_for_another_rank(const struct shape *g, struct round *out, unsigned i)
{
    if (!is_wait(&out->steps[i]))
        return false;
    out->steps[i].peer = (out->steps[i].peer + 1) % g->size;
    return true;
}

static bool put_missing(const struct shape *g, struct round *out, unsigned i)
{
    (void)g;
    if (!is_put(&out->steps[i]))
        return false;
    take_away(out, i);
    return true;
}

static bool put_to_another_rank(const struct shape *g, struct round *out, unsigned i)
{
    if (!is_put(&out->steps[i]))
        return false;
    out->steps[i].peer = (out->steps[i].peer + 1) % g->size;
    return true;
}

static bool put_too_long(const struct shape *g, struct round *out, unsigned i)
{
    (void)g;
    if (!is_put(&out->steps[i]))
        return false;
    out->steps[i].count++;
    return true;
}

static bool wrong_part_of_a_message(const struct shape *g, struct round *out, unsigned i)
{
    struct step *s = &out->steps[i];

    (void)g;
    if (!is_local(s) || s->a.buffer != BUF_ARRIVED)
        return false;
    s->a.offset++;
    return true;
}

static bool reduces_once(const struct step *s)
{
    return s->kind == STEP_REDUCE;
}

static bool reduced_twice(const struct shape *g, struct round *out, unsigned i)
{
    struct step again = out->steps[i];

    (void)g;
    if (!reduces_once(&again))
        return false;
    if (memcmp(&again.b, &again.dst, sizeof again.b) == 0) {
        again.b = again.a;
        again.b_by = again.a_by;
    }
    again.a = again.dst;
    again.a_by = again.dst_by;
    insert(out, i + 1, again);
    return true;
}

static bool not_reduced(const struct shape *g, struct round *out, unsigned i)
{
    (void)g;
    if (!reduces_once(&out->steps[i]))
        return false;
    out->steps[i].kind = STEP_COPY;
    out->steps[i].b = out->steps[i].a;
    out->steps[i].b_by = out->steps[i].a_by;
    return true;
}

static bool out_not_written(const struct shape *g, struct round *out, unsigned i)
{
    (void)g;
    if (!is_local(&out->steps[i]) || out->steps[i].dst.buffer != BUF_OUT)
        return false;
    take_away(out, i);
    return true;
}

static const struct kind {
    const char *name;
    bool (*plant)(const struct shape *g, struct round *out, unsigned i);
    bool once; /* a mistake where each contribution is to come once */
} kinds[] = {
    {"wrong_block_read", wrong_block_read, false},
    {"wrong_block_written", wrong_block_written, false},
    {"slot_used_twice", slot_used_twice, false},
    {"wait_missing", wait_missing, false},
    {"wait_too_late", wait_too_late, false},
    {"wait_for_another_rank", wait_for_another_rank, false},
    {"put_missing", put_missing, false},
    {"put_to_another_rank", put_to_another_rank, false},
    {"put_too_long", put_too_long, false},
    {"wrong_part_of_a_message", wrong_part_of_a_message, false},
    {"reduced_twice", reduced_twice, true},
    {"not_reduced", not_reduced, true},
    {"out_not_written", out_not_written, false},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

/* ------------------------------------------------------------------ spoilt algorithms --------- */

/* The place of the mistake that spoilt() makes. */
static struct place {
    const struct algorithm *right;
    const struct kind *kind;
    unsigned rank, round, step;
} place;

static bool spoilt(const struct shape *g, unsigned r, struct round *out)
{
    bool more = place.right->round(g, r, out);

    if (!more || out->full || g->rank != place.rank || r != place.round)
        return more;
    if (out->count == out->capacity)
        out->full = true;
    else
        place.kind->plant(g, out, place.step);
    return true;
}

struct described {
    struct model model;
    struct lanes lanes;
    struct outline outline;
    struct schedule schedule;
    struct program room;
    struct placement placement;
    uint64_t seed;
    unsigned planted, caught, promised;
    char reason[sizeof((struct model *)0)->fault + 96];
};

static bool fits(struct described *d, const struct program *part, unsigned step)
{
    struct shape g = shape_on_rank(&d->schedule.shape, place.rank);
    struct round copy = {.steps = allocate(part->count + 1, sizeof *copy.steps),
                         .count = part->count,
                         .capacity = part->count + 1};

    memcpy(copy.steps, part->steps, part->count * sizeof *part->steps);
    bool right = place.kind->plant(&g, &copy, step);
    free(copy.steps);
    return right;
}

/* Looks for a place in the program of a rank, from a random one on. */
static bool find_step(struct described *d)
{
    const struct program *part;
    unsigned rounds = 0, first = (unsigned)draw(&d->seed), at = (unsigned)draw(&d->seed);

    while (schedule_part(&d->schedule, place.rank, rounds, &d->room) != NULL)
        rounds++;
    for (unsigned r = 0; r < rounds; r++) {
        place.round = (first + r) % rounds;
        part = schedule_part(&d->schedule, place.rank, place.round, &d->room);
        for (unsigned i = 0; i < part->count; i++) {
            place.step = (at + i) % part->count;
            if (fits(d, part, place.step))
                return true;
        }
    }
    return false;
}

/* On some rank, neither the first nor the last. */
static bool find_place(struct described *d, unsigned P)
{
    unsigned first = (unsigned)(draw(&d->seed) % P);

    for (unsigned i = 0; i < P; i++) {
        place.rank = (first + i) % P;
        if (place.rank > 0 && place.rank + 1 < P && find_step(d))
            return true;
    }
    return false;
}

/* Returns what is wrong with the schedule, or NULL. */
static const char *run(struct described *d, const struct algorithm *algorithm,
                       const struct shape *shape)
{
    schedule_describe(algorithm, shape, &d->schedule);
    if (!model_run(&d->model, &d->schedule))
        return d->model.fault;
    outline_of(&d->schedule, &d->outline);
    return lanes_all(&d->lanes, &d->outline, false) ? NULL : d->lanes.fault;
}

static void attempt(struct described *d, const struct algorithm *algorithm,
                    const struct shape *shape, const struct kind *kind)
{
    struct algorithm wrong = *algorithm;

    wrong.round = spoilt;
    place = (struct place){.right = algorithm, .kind = kind};
    schedule_describe(algorithm, shape, &d->schedule);
    if ((kind->once && algorithm->properties & NEEDS_IDEMPOTENT) || !find_place(d, shape->size))
        return;
    d->planted++;
    const char *fault = run(d, &wrong, shape);
    if (fault == NULL)
        printf("MISSED %s in %s %s, P = %u, rank %u, round %u, step %u\n", kind->name,
               algorithm->name, collective_name(shape->collective), shape->size, place.rank,
               place.round, place.step);
    else if (d->caught++ == 0)
        snprintf(d->reason, sizeof d->reason, "%s %s, P = %u: %s", algorithm->name,
                 collective_name(shape->collective), shape->size, fault);
}

/* Nothing synchronises in which one rank learns nothing from others, or tells them nothing. */
static void promise(struct described *d, const struct algorithm *algorithm,
                    const struct shape *shape)
{
    struct algorithm wrong = *algorithm;

    wrong.properties |= SYNCHRONISES;
    if (!is_rooted(shape->collective) || algorithm->properties & SYNCHRONISES)
        return;
    d->planted++;
    d->caught += run(d, &wrong, shape) != NULL;
}

/* ------------------------------------------------------------------ all of it ----------------- */

static struct shape shape_for(struct described *d, enum collective c, unsigned P)
{
    bool blocks = in_form(c) == FORM_BLOCKS || out_form(c) == FORM_BLOCKS;

    return (struct shape){.collective = c,
                          .size = P,
                          .root = is_rooted(c) ? (unsigned)(draw(&d->seed) % P) : 0,
                          .radix = 1 + (unsigned)(draw(&d->seed) % 4),
                          .count = c == COLL_BARRIER ? 0
                                   : blocks          ? 1
                                                     : P + 1,
                          .nodes = &d->placement.nodes};
}

/* One kind, or NULL for a promise, in all schedules. */
static bool attempt_all(struct described *d, const struct kind *kind)
{
    d->planted = d->caught = 0;
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++)
        for (enum collective c = COLL_BARRIER; c < COLLECTIVES; c++) {
            const struct algorithm *algorithm = ncoll__algorithms[i];
            placement_draw(&d->placement, RANKS, &d->seed);
            struct shape shape = shape_for(d, c, RANKS);
            if (!algorithm_exists(algorithm, &shape))
                continue;
            if (kind == NULL)
                promise(d, algorithm, &shape);
            else
                attempt(d, algorithm, &shape, kind);
        }
    printf("described: %-30s caught %4u of %4u   %s\n",
           kind != NULL ? kind->name : "promise_to_synchronise", d->caught, d->planted,
           kind != NULL ? d->reason : d->lanes.fault);
    return d->planted > 0 && d->caught == d->planted;
}

/* Some of the long schedules themselves, with one mistake each, of any kind. */
static bool attempt_large(struct described *d)
{
    static const struct {
        const char *name;
        enum collective collective;
    } large[] = {{"ring", COLL_ALLGATHER},
                 {"hierarchical-ring", COLL_ALLGATHER},
                 {"grid", COLL_ALLTOALL},
                 {"circulant", COLL_REDUCE_SCATTER}};
    struct nodes nodes = {.count = RANKS_LARGE / PER_NODE,
                          .fewest = PER_NODE,
                          .most = PER_NODE,
                          .in_blocks = true,
                          .shared = true,
                          .size = RANKS_LARGE};

    d->planted = d->caught = 0;
    for (unsigned i = 0; i < sizeof large / sizeof large[0]; i++) {
        const struct algorithm *algorithm = ncoll__algorithm_find(large[i].name);
        if (algorithm == NULL) /* not in this registry */
            continue;
        struct shape shape = shape_for(d, large[i].collective, RANKS_LARGE);
        shape.nodes = &nodes;
        shape.radix = 1;
        for (unsigned before = d->planted; d->planted == before;)
            attempt(d, algorithm, &shape, &kinds[draw(&d->seed) % KINDS]);
    }
    printf("described: %-30s caught %4u of %4u\n", "any kind, on 1024 ranks", d->caught,
           d->planted);
    return d->caught == d->planted;
}

unsigned mutations_of_described(uint64_t seed, unsigned *caught)
{
    struct described d = {.seed = seed};

    *caught = 0;
    d.model.all_data = true;
    d.model.portion_most = PORTION;
    for (unsigned k = 0; k <= KINDS; k++)
        *caught += attempt_all(&d, k < KINDS ? &kinds[k] : NULL);
    d.model.portion_most = 0;
    *caught += attempt_large(&d);
    model_free(&d.model);
    lanes_free(&d.lanes);
    outline_free(&d.outline);
    schedule_free(&d.schedule);
    free(d.room.steps);
    return KINDS + 2;
}
