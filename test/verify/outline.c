/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/outline.h"

#include <stdlib.h>
#include <string.h>

#include "test/verify/memory.h"

#define NO_MATE UINT32_MAX

static void make_room(const struct schedule *s, struct outline *c)
{
    size_t P = s->shape.size, slots = P * s->footprint.slots, events = 0;

    for (unsigned rank = 0; rank < P; rank++)
        events += s->ranks[rank].count;
    if (P > c->P_allocated) {
        c->first = reallocate(c->first, P + 1, sizeof *c->first);
        c->first_mate = reallocate(c->first_mate, P + 1, sizeof *c->first_mate);
        c->passes_on = reallocate(c->passes_on, P, sizeof *c->passes_on);
        c->mate_of = reallocate(c->mate_of, P, sizeof *c->mate_of);
        c->P_allocated = P;
    }
    if (events > c->events_allocated) {
        c->events = reallocate(c->events, events, sizeof *c->events);
        c->events_allocated = events;
    }
    if (slots > c->wait_in_allocated) {
        c->wait_in = reallocate(c->wait_in, slots, sizeof *c->wait_in);
        c->wait_in_allocated = slots;
    }
}

static enum origin origin_of(const struct step *s)
{
    return s->count == 0                ? FROM_ELSEWHERE
           : s->a.buffer == BUF_LANDED  ? FROM_LANDED
           : s->a.buffer == BUF_SCRATCH ? FROM_SCRATCH
                                        : FROM_ELSEWHERE;
}

/* The events of a rank; of puts the number is the slot, as yet. Waits are noted by slot. */
static void write_rank(const struct schedule *s, unsigned rank, struct outline *c)
{
    const struct program *program = &s->ranks[rank];
    unsigned at = c->first[rank], waits = 0;
    bool scratch = false;

    c->passes_on[rank] = false;
    for (const struct step *step = program->steps; step < program->steps + program->count; step++) {
        struct event event = {.peer = step->peer, .number = (uint16_t)step->slot};
        if (step->kind == STEP_PUT) {
            event.kind = EVENT_PUT;
            event.from = (uint8_t)origin_of(step);
            c->passes_on[rank] |= event.from == FROM_LANDED;
        } else if (step->kind == STEP_WAIT) {
            event.kind = EVENT_WAIT;
            c->wait_in[(size_t)rank * s->footprint.slots + step->slot] = at;
            event.number = (uint16_t)waits++;
        } else if (step->dst.buffer == BUF_SCRATCH && !scratch) {
            event = (struct event){.kind = EVENT_SCRATCH};
            scratch = true;
        } else {
            continue;
        }
        c->events[at++] = event;
    }
    c->first[rank + 1] = at;
    c->waits = waits > c->waits ? waits : c->waits;
}

/* Numbers the rank's peers as they come. */
static void number_mates(struct outline *c, unsigned rank)
{
    struct event *begin = c->events + c->first[rank], *end = c->events + c->first[rank + 1];
    unsigned mates = 0;

    for (struct event *e = begin; e < end; e++)
        c->mate_of[e->peer] = NO_MATE;
    for (struct event *e = begin; e < end; e++) {
        if (e->kind == EVENT_SCRATCH)
            continue;
        if (c->mate_of[e->peer] == NO_MATE)
            c->mate_of[e->peer] = mates++;
        e->mate = c->mate_of[e->peer];
    }
    c->first_mate[rank + 1] = c->first_mate[rank] + mates;
}

/* Puts get the number of their wait, and both the place of the one rank among the other's peers. */
static void match(const struct schedule *s, struct outline *c)
{
    struct event *end = c->events + c->first[c->P];

    for (struct event *put = c->events; put < end; put++) {
        if (put->kind != EVENT_PUT)
            continue;
        struct event *wait =
            &c->events[c->wait_in[(size_t)put->peer * s->footprint.slots + put->number]];
        put->number = wait->number;
        put->back = wait->mate;
        wait->back = put->mate;
    }
}

/* Whether a rank's events in a, its peers counted from `by`, ask no more than a rank's in b. */
static bool rank_follows(const struct outline *a, unsigned p, const struct outline *b, unsigned q,
                         unsigned by)
{
    const struct event *i = outline_begin(a, p), *i_end = outline_end(a, p);
    const struct event *j = outline_begin(b, q), *j_end = outline_end(b, q);
    bool scratch = false; /* b has written it */

    for (;; i++, j++) {
        if (j < j_end && j->kind == EVENT_SCRATCH) {
            scratch = true;
            j++;
        }
        if (i < i_end && i->kind == EVENT_SCRATCH) {
            if (!scratch)
                return false;
            i++;
        }
        if (i == i_end || j == j_end)
            return i == i_end && j == j_end;
        if (i->kind != j->kind || i->number != j->number || i->peer != (j->peer + by) % a->P ||
            (i->from != j->from && i->from != FROM_ELSEWHERE))
            return false;
    }
}

bool outline_follows(const struct outline *a, const struct outline *b, unsigned by)
{
    if (a->P != b->P || a->synchronises != b->synchronises)
        return false;
    for (unsigned p = 0; p < a->P; p++)
        if (!rank_follows(a, (p + by) % a->P, b, p, by))
            return false;
    return true;
}

bool outline_is_symmetric(const struct outline *c)
{
    for (unsigned p = 1; p < c->P; p++)
        if (!rank_follows(c, p, c, 0, p) || !rank_follows(c, 0, c, p, c->P - p))
            return false;
    return true;
}

void outline_of(const struct schedule *s, struct outline *c)
{
    make_room(s, c);
    c->P = s->shape.size;
    c->root = s->shape.root;
    c->synchronises = (s->properties & SYNCHRONISES) != 0;
    c->waits = c->first[0] = c->first_mate[0] = 0;
    for (unsigned rank = 0; rank < c->P; rank++) {
        write_rank(s, rank, c);
        number_mates(c, rank);
    }
    match(s, c);
    c->symmetric = outline_is_symmetric(c);
}

void outline_free(struct outline *c)
{
    free(c->events);
    free(c->first);
    free(c->first_mate);
    free(c->passes_on);
    free(c->wait_in);
    free(c->mate_of);
    *c = (struct outline){0};
}
