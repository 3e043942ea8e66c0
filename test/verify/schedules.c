/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/schedules.h"

#include <string.h>

#include "test/verify/memory.h"

static void program_reserve(struct program *p, unsigned count)
{
    if (count <= p->capacity)
        return;
    p->capacity = count < 32 ? 32 : 2 * count;
    p->steps = reallocate(p->steps, p->capacity, sizeof *p->steps);
}

void program_add(struct program *p, struct step step)
{
    program_insert(p, p->count, step);
}

void program_insert(struct program *p, unsigned at, struct step step)
{
    program_reserve(p, p->count + 1);
    memmove(&p->steps[at + 1], &p->steps[at], (p->count - at) * sizeof *p->steps);
    p->steps[at] = step;
    p->count++;
}

void program_remove(struct program *p, unsigned at)
{
    p->count--;
    memmove(&p->steps[at], &p->steps[at + 1], (p->count - at) * sizeof *p->steps);
}

static bool ref_equals(struct ref a, struct ref b)
{
    return a.buffer == b.buffer && a.slot == b.slot && a.rank == b.rank && a.block == b.block &&
           a.offset == b.offset;
}

static bool stride_equals(struct stride a, struct stride b)
{
    return a.blocks == b.blocks && a.elements == b.elements;
}

bool step_equals(const struct step *s, const struct step *t)
{
    return s->kind == t->kind && s->peer == t->peer && s->slot == t->slot && s->at == t->at &&
           s->shared_wait == t->shared_wait && s->count == t->count && ref_equals(s->dst, t->dst) &&
           ref_equals(s->a, t->a) && ref_equals(s->b, t->b) && s->more == t->more &&
           stride_equals(s->dst_by, t->dst_by) && stride_equals(s->a_by, t->a_by) &&
           stride_equals(s->b_by, t->b_by) && s->uneven == t->uneven;
}

bool program_equals(const struct program *a, const struct program *b)
{
    if (a->count != b->count)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (!step_equals(&a->steps[i], &b->steps[i]))
            return false;
    return true;
}

bool footprint_equals(struct footprint f, struct footprint g)
{
    return f.slots == g.slots && f.scratch == g.scratch && f.message == g.message &&
           f.sent == g.sent;
}

/* Appends round r, however long it is; false past the last. */
static bool add_round(const struct algorithm *algorithm, const struct shape *shape, unsigned r,
                      bool repeats, struct program *out)
{
    for (;;) {
        struct round round = {.steps = out->steps + out->count,
                              .capacity = out->capacity - out->count,
                              .repeats = repeats};
        bool more = algorithm->round(shape, r, &round);
        if (!round.full) {
            out->count += more ? round.count : 0;
            return more;
        }
        program_reserve(out, out->capacity + 1);
    }
}

void program_of(const struct algorithm *algorithm, const struct shape *shape, bool backwards,
                struct program *out)
{
    unsigned rounds = 0;

    program_reserve(out, 32);
    out->count = 0;
    while (add_round(algorithm, shape, rounds, false, out))
        rounds++;
    if (!backwards)
        return;

    struct program reversed = {0}, one = {0};
    for (unsigned r = rounds; r-- > 0;) {
        program_reserve(&one, 32);
        one.count = 0;
        add_round(algorithm, shape, r, false, &one);
        for (unsigned i = one.count; i-- > 0;)
            program_insert(&reversed, 0, one.steps[i]);
    }
    free(one.steps);
    free(out->steps);
    *out = reversed;
}

static void go_on(struct ref *ref, struct stride by, size_t done)
{
    ref->block += (unsigned)by.blocks;
    if (by.blocks == 0)
        ref->offset += by.elements != 0 ? (size_t)by.elements : done;
}

/* Appends an uneven step one by one, as the executor does it. */
static void add_uneven(const struct shape *g, const struct step *s, struct program *out)
{
    struct step one = ncoll__step_of(s, 0);
    const struct ref *block = s->dst_by.blocks != 0 ? &one.dst
                              : s->a_by.blocks != 0 ? &one.a
                                                    : &one.b;

    one.uneven = false;
    for (unsigned k = 0; k <= s->more; k++) {
        bool is_sent = g->sends != NULL && block->buffer == BUF_IN;
        one.count = is_sent ? g->sends[block->block] : g->counts[block->block];
        if (one.count > 0)
            program_add(out, one);
        go_on(&one.dst, s->dst_by, one.count);
        go_on(&one.a, s->a_by, one.count);
        go_on(&one.b, s->b_by, one.count);
    }
}

void program_repeated(const struct algorithm *algorithm, const struct shape *shape,
                      struct program *out)
{
    struct program one = {0};
    bool more = true;

    out->count = 0;
    for (unsigned r = 0; more; r++) {
        struct round round = {.steps = one.steps,
                              .capacity = one.capacity,
                              .repeats = shape->counts == NULL,
                              .uneven = shape->counts != NULL};
        more = algorithm->round(shape, r, &round);
        if (round.full) {
            program_reserve(&one, one.capacity + 1);
            more = true;
            r--;
            continue;
        }
        for (unsigned i = 0; more && i < round.count; i++)
            if (round.steps[i].uneven)
                add_uneven(shape, &round.steps[i], out);
            else
                for (unsigned k = 0; k <= round.steps[i].more; k++)
                    program_add(out, ncoll__step_of(&round.steps[i], k));
    }
    free(one.steps);
}

struct shape shape_on_rank(const struct shape *shape, unsigned rank)
{
    struct shape g = *shape;

    g.rank = rank;
    if (g.sends != NULL) {
        g.counts += (size_t)rank * g.size;
        g.sends += (size_t)rank * g.size;
    }
    return g;
}

static size_t longer(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct footprint footprint_of_all(const struct algorithm *algorithm, const struct shape *shape)
{
    struct shape g = shape_on_rank(shape, 0);
    struct footprint most = algorithm->footprint(&g);

    for (unsigned p = 1; shape->sends != NULL && p < shape->size; p++) {
        g = shape_on_rank(shape, p);
        struct footprint f = algorithm->footprint(&g);
        most.slots = f.slots > most.slots ? f.slots : most.slots;
        most.scratch = longer(f.scratch, most.scratch);
        most.message = longer(f.message, most.message);
        most.sent = longer(f.sent, most.sent);
    }
    return most;
}

void schedule_describe(const struct algorithm *algorithm, const struct shape *shape,
                       struct schedule *out)
{
    out->algorithm = algorithm;
    out->properties = algorithm->properties;
    if (is_in_parts(shape))
        out->properties &= ~(unsigned)SYNCHRONISES;
    out->acknowledges =
        !is_in_parts(shape) && (algorithm->acknowledges & 1u << shape->collective) != 0;
    out->shape = *shape;
    out->footprint = footprint_of_all(algorithm, shape);
    out->halves = 2;
    out->written = false;
}

void schedule_write(const struct algorithm *algorithm, const struct shape *shape,
                    struct schedule *out)
{
    schedule_describe(algorithm, shape, out);
    out->written = true;
    if (shape->size > out->ranks_allocated) {
        out->ranks = reallocate(out->ranks, shape->size, sizeof *out->ranks);
        memset(out->ranks + out->ranks_allocated, 0,
               (shape->size - out->ranks_allocated) * sizeof *out->ranks);
        out->ranks_allocated = shape->size;
    }
    for (unsigned p = 0; p < shape->size; p++) {
        struct shape g = shape_on_rank(shape, p);
        program_of(algorithm, &g, false, &out->ranks[p]);
    }
}

const struct program *schedule_program(const struct schedule *s, unsigned rank,
                                       struct program *room)
{
    if (s->written)
        return &s->ranks[rank];
    struct shape g = shape_on_rank(&s->shape, rank);
    program_of(s->algorithm, &g, false, room);
    return room;
}

const struct program *schedule_part(const struct schedule *s, unsigned rank, unsigned r,
                                    struct program *room)
{
    if (s->written)
        return r == 0 ? &s->ranks[rank] : NULL;
    struct shape g = shape_on_rank(&s->shape, rank);
    room->count = 0;
    return add_round(s->algorithm, &g, r, g.counts == NULL, room) ? room : NULL;
}

void schedule_free(struct schedule *s)
{
    for (unsigned p = 0; p < s->ranks_allocated; p++)
        free(s->ranks[p].steps);
    free(s->ranks);
    *s = (struct schedule){0};
}
