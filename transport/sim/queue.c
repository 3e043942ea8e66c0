/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of events, sorted by time, then by the order in which they were added. It is a heap in
 * which each entry has four children. An entry contains the keys for sorting, so that the events
 * themselves are seldom read: those of thousands of ranks do not stay in the cache.
 */
#include <stdlib.h>

#include "transport/sim/engine.h"

#define BELOW 4u

static bool comes_before(const struct entry *a, const struct entry *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

/* Stores an entry at an index of the heap. An event that may be moved is told its place. */
static void place(struct queue *q, struct entry e, size_t at)
{
    q->entries[at] = e;
    if (e.order & MOVES)
        e.event->place = at;
}

static void rise(struct queue *q, struct entry e, size_t at)
{
    for (; at > 0 && comes_before(&e, &q->entries[(at - 1) / BELOW]); at = (at - 1) / BELOW)
        place(q, q->entries[(at - 1) / BELOW], at);
    place(q, e, at);
}

static void sink(struct queue *q, struct entry e, size_t at)
{
    size_t below;

    while ((below = BELOW * at + 1) < q->count) {
        size_t first = below, end = below + BELOW < q->count ? below + BELOW : q->count;
        for (size_t i = below + 1; i < end; i++)
            if (comes_before(&q->entries[i], &q->entries[first]))
                first = i;
        if (!comes_before(&q->entries[first], &e))
            break;
        place(q, q->entries[first], at);
        at = first;
    }
    place(q, e, at);
}

static struct entry entry_of(struct queue *q, struct event *e, uint64_t at_ns)
{
    e->at_ns = at_ns;
    return (struct entry){at_ns, q->orders++ << 1 | (e->kind != EVENT_ARRIVAL ? MOVES : 0), e};
}

void ncoll__sim_push(struct queue *q, struct event *e, uint64_t at_ns)
{
    if (q->count == q->capacity) {
        q->capacity = q->capacity > 0 ? 2 * q->capacity : 1024;
        q->entries = realloc(q->entries, q->capacity * sizeof *q->entries);
        if (q->entries == NULL)
            abort();
    }
    rise(q, entry_of(q, e, at_ns), q->count++);
}

void ncoll__sim_move(struct queue *q, struct event *e, uint64_t at_ns)
{
    bool earlier = at_ns < e->at_ns;
    struct entry moved = entry_of(q, e, at_ns);

    if (earlier)
        rise(q, moved, e->place);
    else
        sink(q, moved, e->place);
}

struct event *ncoll__sim_pop(struct queue *q)
{
    if (q->count == 0)
        return NULL;
    struct event *first = q->entries[0].event;
    struct entry last = q->entries[--q->count];
    first->place = NOT_QUEUED;
    if (q->count > 0)
        sink(q, last, 0);
    return first;
}
