/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/verify/outline.h"

#include <stdlib.h>
#include <string.h>

#include "test/verify/memory.h"

#define NO_MATE UINT32_MAX

static void make_room(const struct schedule *s, struct outline *c)
{
    size_t P = s->shape.size, slots = P * s->footprint.slots;

    if (P > c->P_allocated) {
        c->first = reallocate(c->first, P + 1, sizeof *c->first);
        c->first_mate = reallocate(c->first_mate, P + 1, sizeof *c->first_mate);
        c->mate_of = reallocate(c->mate_of, P, sizeof *c->mate_of);
        c->first_looker = reallocate(c->first_looker, P + 1, sizeof *c->first_looker);
        c->P_allocated = P;
    }
    if (slots > c->wait_in_allocated) {
        c->wait_in = reallocate(c->wait_in, slots, sizeof *c->wait_in);
        c->wait_in_allocated = slots;
    }
}

/* Makes room for so many events more. */
static void make_room_for(struct outline *c, unsigned at, unsigned more)
{
    if ((size_t)at + more <= c->events_allocated && c->events != NULL)
        return;
    c->events_allocated = ((size_t)at + more) * 5 / 4;
    c->events = reallocate(c->events, c->events_allocated, sizeof *c->events);
    c->looks = reallocate(c->looks, c->events_allocated, sizeof *c->looks);
}

static enum origin origin_of(const struct step *s)
{
    return s->count == 0                ? FROM_ELSEWHERE
           : s->a.buffer == BUF_ARRIVED ? FROM_ARRIVED
           : s->a.buffer == BUF_SCRATCH ? FROM_SCRATCH
                                        : FROM_ELSEWHERE;
}

/* The events of a rank; of puts the number is the slot, as yet. Waits are noted by slot. */
static void write_rank(const struct schedule *s, unsigned rank, struct outline *c)
{
    const struct program *part;
    unsigned at = c->first[rank], waits = 0;
    bool scratch = false;

    for (unsigned r = 0; (part = schedule_part(s, rank, r, &c->room)) != NULL; r++) {
        make_room_for(c, at, part->count);
        for (const struct step *step = part->steps; step < part->steps + part->count; step++) {
            struct event event = {.peer = step->peer, .number = (uint16_t)step->slot};
            if (step->kind == STEP_PUT) {
                event.kind = EVENT_PUT;
                event.from = (uint8_t)origin_of(step);
            } else if (step->kind == STEP_WAIT) {
                event.kind = EVENT_WAIT;
                c->wait_in[(size_t)rank * s->footprint.slots + step->slot] = at;
                event.number = (uint16_t)waits++;
            } else if (step->kind == STEP_LOOK) {
                event.kind = EVENT_LOOK;
                event.peer = step->at;
            } else if (step->dst.buffer == BUF_SCRATCH && !scratch) {
                event = (struct event){.kind = EVENT_SCRATCH};
                scratch = true;
            } else {
                continue;
            }
            c->events[at++] = event;
        }
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
        if (e->kind == EVENT_SCRATCH || e->kind == EVENT_LOOK)
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

/* Looks get the number of the wait of their receiver, and its put how many there are. Returns how
 * many there are in all. */
static size_t match_looks(const struct schedule *s, struct outline *c)
{
    unsigned events = c->first[c->P];
    size_t n = 0;

    memset(c->looks, 0, events * sizeof *c->looks);
    for (unsigned at = 0; at < events; at++) {
        struct event *look = &c->events[at];
        if (look->kind != EVENT_LOOK)
            continue;
        n++;
        const struct event *wait =
            &c->events[c->wait_in[(size_t)look->peer * s->footprint.slots + look->number]];
        look->number = wait->number;
        for (unsigned i = c->first[wait->peer]; i < c->first[wait->peer + 1]; i++)
            c->looks[i] += c->events[i].kind == EVENT_PUT && c->events[i].peer == look->peer &&
                           c->events[i].number == look->number;
    }
    if (n > c->lookers_allocated) {
        c->lookers_allocated = n;
        c->lookers = reallocate(c->lookers, n, sizeof *c->lookers);
    }
    return n;
}

/* Lists the ranks that look at slots of each rank, in ascending order; some come more than once. */
static void list_lookers(struct outline *c)
{
    unsigned *end = c->first_looker + 1, n = 0; /* of those of each rank that are listed */

    memset(c->first_looker, 0, (c->P + 1) * sizeof *c->first_looker);
    for (unsigned i = 0; c->looking && i < c->first[c->P]; i++)
        if (c->events[i].kind == EVENT_LOOK)
            end[c->events[i].peer]++;
    for (unsigned p = 0; p < c->P; p++) {
        unsigned own = end[p];
        end[p] = n;
        n += own;
    }
    for (unsigned q = 0; c->looking && q < c->P; q++)
        for (unsigned i = c->first[q]; i < c->first[q + 1]; i++)
            if (c->events[i].kind == EVENT_LOOK)
                c->lookers[end[c->events[i].peer]++] = q;
}

/* True if a rank's events in a, its peers counted from `by`, ask no more than those in b. */
static bool rank_follows(const struct outline *a, unsigned rank, const struct event *j,
                         const struct event *j_end, unsigned by)
{
    const struct event *i = outline_begin(a, rank), *i_end = outline_end(a, rank);
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
        if (!rank_follows(a, (p + by) % a->P, outline_begin(b, p), outline_end(b, p), by))
            return false;
    return true;
}

/* The hull asks for what a rank asks for. Returns where that begins to write scratch. */
static unsigned widen(struct outline *c, unsigned rank)
{
    unsigned n = 0, scratch = UINT32_MAX;

    for (const struct event *e = outline_begin(c, rank); e < outline_end(c, rank); e++)
        if (e->kind == EVENT_SCRATCH) {
            scratch = n;
        } else if (n < c->n_hull) {
            struct event *h = &c->hull[n++];
            h->from = h->from == FROM_ELSEWHERE ? e->from : h->from;
        }
    return scratch;
}

bool outline_fold(struct outline *c)
{
    unsigned count = c->first[1], scratch = UINT32_MAX;

    if (count + 1 > c->hull_allocated) {
        c->hull_allocated = count + 1;
        c->hull = reallocate(c->hull, c->hull_allocated, sizeof *c->hull);
    }
    c->n_hull = 0;
    for (const struct event *e = c->events; e < c->events + count; e++)
        if (e->kind != EVENT_SCRATCH)
            c->hull[c->n_hull++] = *e;
    for (unsigned p = 0; p < c->P; p++) {
        unsigned at = widen(c, p);
        scratch = at < scratch ? at : scratch;
    }
    if (scratch <= c->n_hull) {
        memmove(c->hull + scratch + 1, c->hull + scratch, (c->n_hull - scratch) * sizeof *c->hull);
        c->hull[scratch] = (struct event){.kind = EVENT_SCRATCH};
        c->n_hull++;
    }
    for (unsigned p = 0; p < c->P; p++)
        if (!rank_follows(c, p, c->hull, c->hull + c->n_hull, p))
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
    c->looking = match_looks(s, c) > 0;
    list_lookers(c);
    c->symmetric = c->synchronises && !c->looking && outline_fold(c);
}

void outline_free(struct outline *c)
{
    free(c->events);
    free(c->hull);
    free(c->first);
    free(c->first_mate);
    free(c->wait_in);
    free(c->mate_of);
    free(c->lookers);
    free(c->first_looker);
    free(c->looks);
    free(c->room.steps);
    *c = (struct outline){0};
}
