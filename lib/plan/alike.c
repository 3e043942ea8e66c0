/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds choices that execute the same steps. On few ranks different trees have the same shape, and
 * the same schedule may have several names. The mark of a choice is a hash (FNV-1a, 64 bits) of the
 * steps of all ranks and of everything else that the executor depends on. Slot numbers do not
 * matter: in place of a slot's number, the hash has the position of its wait among the waits of the
 * receiver.
 */
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/plan/compile.h"

#define RANKS_MAX 256

struct marking {
    struct ncoll_group *g;
    unsigned ranks, slots;
    struct step **steps; /* [ranks] steps of each rank */
    unsigned *n_steps;   /* [ranks] number of these steps */
    /* [ranks * slots]: position, from 1, of the slot's wait among the waits of its receiver */
    unsigned *places;
    uint64_t sum;
};

static void take(struct marking *m, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++) {
        m->sum ^= value >> 8 * i & 0xff;
        m->sum *= UINT64_C(0x100000001b3);
    }
}

static unsigned place_of(const struct marking *m, unsigned rank, unsigned slot)
{
    return m->places[(size_t)rank * m->slots + slot];
}

static void take_ref(struct marking *m, unsigned rank, const struct ref *ref)
{
    take(m, ref->buffer);
    take(m, ref->block);
    take(m, ref->offset);
    if (ref->buffer == BUF_ARRIVED || ref->buffer == BUF_NEIGHBOUR) {
        take(m, ref->rank);
        take(m, place_of(m, ref->buffer == BUF_NEIGHBOUR ? ref->rank : rank, ref->slot));
    }
}

static void take_step(struct marking *m, unsigned rank, const struct step *s)
{
    unsigned at = s->kind == STEP_PUT ? s->peer : s->kind == STEP_LOOK ? s->at : rank;
    bool message = s->kind == STEP_PUT || s->kind == STEP_WAIT || s->kind == STEP_LOOK;

    take(m, s->kind);
    take(m, s->count);
    if (message) {
        take(m, s->peer);
        take(m, s->at);
        take(m, s->shared_wait);
        take(m, place_of(m, at, s->slot));
    }
    if (s->kind == STEP_PUT)
        take_ref(m, rank, &s->a);
    if (message)
        return;
    take_ref(m, rank, &s->dst);
    take_ref(m, rank, &s->a);
    take_ref(m, rank, &s->b);
}

static bool prepare(struct marking *m, const struct algorithm *algorithm, struct shape shape)
{
    struct ncoll_context *ctx = m->g->ctx;

    m->steps = ncoll__allocate(ctx, m->ranks * sizeof(struct step *));
    m->n_steps = ncoll__allocate(ctx, m->ranks * sizeof *m->n_steps);
    m->places = ncoll__allocate(ctx, (size_t)m->ranks * m->slots * sizeof *m->places);
    if (m->steps == NULL || m->n_steps == NULL || m->places == NULL)
        return false;
    for (shape.rank = 0; shape.rank < m->ranks; shape.rank++) {
        unsigned waits = 0;
        struct step *steps = ncoll__steps(m->g, algorithm, &shape, false, &m->n_steps[shape.rank]);
        if ((m->steps[shape.rank] = steps) == NULL)
            return false;
        for (unsigned i = 0; i < m->n_steps[shape.rank]; i++)
            if (steps[i].kind == STEP_WAIT)
                m->places[(size_t)shape.rank * m->slots + steps[i].slot] = ++waits;
    }
    return true;
}

static void clear(struct marking *m)
{
    for (unsigned r = 0; m->steps != NULL && r < m->ranks; r++)
        ncoll__release(m->g->ctx, m->steps[r]);
    ncoll__release(m->g->ctx, m->steps);
    ncoll__release(m->g->ctx, m->n_steps);
    ncoll__release(m->g->ctx, m->places);
}

uint64_t ncoll__schedule_mark(ncoll_group *g, enum collective collective, size_t count,
                              const struct choice *choice)
{
    const struct algorithm *a = choice->algorithm;
    struct call_args args = {.collective = collective,
                             .count = count < choice->segment ? count : choice->segment};
    struct shape shape = ncoll__shape(g, &args, choice->radix, false);
    struct marking m = {.g = g,
                        .ranks = (unsigned)g->size,
                        .slots = a->footprint(&shape).slots + 1,
                        .sum = UINT64_C(0xcbf29ce484222325)};

    if (m.ranks > RANKS_MAX)
        return 0;
    bool known = prepare(&m, a, shape);
    take(&m, a->properties & (SYNCHRONISES | SHARES));
    take(&m, a->acknowledges >> collective & 1);
    take(&m, args.count);
    take(&m, choice->segments);
    take(&m, choice->segments > 1 ? choice->lanes : 0);
    take(&m, choice->parts);
    for (unsigned r = 0; known && r < m.ranks; r++)
        for (unsigned i = 0; i < m.n_steps[r]; i++)
            take_step(&m, r, &m.steps[r][i]);
    clear(&m);
    return !known ? 0 : m.sum != 0 ? m.sum : 1;
}
