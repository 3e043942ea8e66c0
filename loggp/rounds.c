/* SPDX-License-Identifier: BSD-3-Clause */
#include "loggp/rounds.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

static bool grow(struct rounds *r)
{
    unsigned capacity = r->capacity > 0 ? 2 * r->capacity : FIRST_CAPACITY;

    free(r->steps);
    free(r->actions);
    r->steps = malloc(capacity * sizeof *r->steps);
    r->actions = malloc(capacity * sizeof *r->actions);
    r->capacity = r->steps != NULL && r->actions != NULL ? capacity : 0;
    return r->capacity > 0;
}

static double work_ns(const struct rounds *r, const struct step *s)
{
    unsigned operands = s->kind == STEP_COPY ? 1 : 2;

    return r->step_ns + operands * (double)s->count * r->element_bytes * r->local_byte_ns;
}

/* True if both steps put the same data. */
static bool same_data(const struct step *s, const struct step *t)
{
    return s->kind == STEP_PUT && t->kind == STEP_PUT && s->a.buffer == t->a.buffer &&
           s->a.slot == t->a.slot && s->a.block == t->a.block && s->a.offset == t->a.offset &&
           s->count == t->count;
}

/* Adds step i of the round to the actions. A local step may be added to the action before. */
static void add(struct rounds *r, unsigned i)
{
    const struct step *s = &r->steps[i];
    struct action *last = r->count > 0 ? &r->actions[r->count - 1] : NULL;
    struct action a = {.peer = s->peer,
                       .slot = s->slot,
                       .at = s->at,
                       .amount = (double)s->count * r->element_bytes};

    switch (s->kind) {
    case STEP_PUT:
        a.kind = ACTION_PUT;
        a.stays = s->a.buffer == BUF_SCRATCH || (i > 0 && same_data(s, s - 1));
        break;
    case STEP_WAIT:
        a.kind = ACTION_WAIT;
        break;
    case STEP_LOOK:
        a.kind = ACTION_LOOK;
        break;
    default:
        if (last != NULL && last->kind == ACTION_WORK) {
            last->amount += work_ns(r, s);
            last->steps++;
            return;
        }
        a = (struct action){.kind = ACTION_WORK, .amount = work_ns(r, s), .steps = 1};
    }
    r->actions[r->count++] = a;
}

enum round_status loggp_rounds_make(struct rounds *r, const struct shape *shape, unsigned round)
{
    struct round made;

    if (r->capacity == 0 && !grow(r))
        return ROUND_NO_MEMORY;
    for (;;) {
        made = (struct round){.steps = r->steps, .capacity = r->capacity};
        if (!r->algorithm->round(shape, round, &made))
            return ROUND_NONE;
        if (!made.full)
            break;
        if (!grow(r))
            return ROUND_NO_MEMORY;
    }
    r->count = 0;
    for (unsigned i = 0; i < made.count; i++)
        add(r, i);
    return ROUND_MADE;
}

void loggp_rounds_free(struct rounds *r)
{
    free(r->steps);
    free(r->actions);
    r->steps = NULL;
    r->actions = NULL;
    r->capacity = 0;
}
