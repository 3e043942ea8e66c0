/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/explain/walk.h"

#include <err.h>
#include <stdlib.h>

/* Keeps all memory reachable, so that leak checkers report nothing. */
static struct block {
    struct block *next;
    max_align_t memory[];
} * blocks;

void *allocate(size_t count, size_t size)
{
    struct block *block = calloc(1, sizeof *block + count * size);

    if (block == NULL)
        err(EXIT_FAILURE, NULL);
    block->next = blocks;
    blocks = block;
    return block->memory;
}

struct footprint whole_footprint(const struct algorithm *a, const struct shape *g)
{
    struct footprint f = a->footprint(g);

    f.slots *= is_in_parts(g) ? g->parts : 1;
    f.scratch *= is_in_parts(g) ? g->parts : 1;
    return f;
}

static void move_ref(struct ref *ref, const struct shape *g, struct footprint f)
{
    ref->slot += ref->buffer == BUF_ARRIVED ? g->part * f.slots : 0;
    ref->offset += ref->buffer == BUF_SCRATCH ? g->part * f.scratch : 0;
}

/* Gives the part slots and scratch of its own. */
static void move(struct step *s, const struct shape *g, struct footprint f)
{
    s->slot += s->kind == STEP_PUT || s->kind == STEP_WAIT ? g->part * f.slots : 0;
    move_ref(&s->dst, g, f);
    move_ref(&s->a, g, f);
    move_ref(&s->b, g, f);
}

bool write_round(const struct algorithm *a, const struct shape *g, unsigned r, struct round *out)
{
    struct shape part = *g;

    if (!is_in_parts(g))
        return write_round_of_part(a, g, r, out);
    *out = (struct round){0};
    for (part.part = 0; part.part < g->parts; part.part++, free(out->steps), out->steps = NULL)
        for (unsigned k = 0; write_round_of_part(a, &part, k, out); k++) {
            if (r-- > 0) {
                free(out->steps);
                continue;
            }
            for (unsigned i = 0; i < out->count; i++)
                move(&out->steps[i], &part, a->footprint(g));
            return true;
        }
    return false;
}

bool write_round_of_part(const struct algorithm *a, const struct shape *g, unsigned r,
                         struct round *out)
{
    unsigned capacity = 64;

    for (;; capacity *= 2) {
        *out = (struct round){.steps = calloc(capacity, sizeof *out->steps), .capacity = capacity};
        if (out->steps == NULL)
            err(EXIT_FAILURE, NULL);
        bool more = a->round(g, r, out);
        if (!out->full)
            return more;
        free(out->steps);
    }
}

static void next_round(const struct algorithm *a, struct walker *w)
{
    free(w->steps.steps);
    w->next = 0;
    w->ended = !write_round(a, &w->g, w->round, &w->steps);
    w->round += !w->ended;
}

/* Returns false if the rank could not carry out any step. */
static bool advance(const struct algorithm *a, struct walker *w, const struct walk *what, void *arg)
{
    bool moved = false;

    for (; !w->ended; moved = true) {
        if (w->next == w->steps.count) {
            what->end_round(arg, w);
            next_round(a, w);
            continue;
        }
        const struct step *s = &w->steps.steps[w->next];
        if (s->kind == STEP_PUT)
            what->put(arg, w, s);
        else if ((s->kind == STEP_WAIT || s->kind == STEP_LOOK) && !what->receive(arg, w, s))
            return moved;
        else if (s->kind != STEP_WAIT && s->kind != STEP_LOOK && what->compute != NULL)
            what->compute(arg, w, s);
        w->next++;
    }
    return moved;
}

void walk(const struct algorithm *a, const struct shape *g, const struct walk *what, void *arg)
{
    struct walker *walkers = allocate(g->size, sizeof *walkers);

    for (unsigned p = 0; p < g->size; p++) {
        walkers[p].g = *g;
        walkers[p].g.rank = p;
        next_round(a, &walkers[p]);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned p = 0; p < g->size; p++)
            moved |= advance(a, &walkers[p], what, arg);
    }
    for (unsigned p = 0; p < g->size; p++)
        free(walkers[p].steps.steps);
}
