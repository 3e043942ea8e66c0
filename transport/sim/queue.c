/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of events: a binary heap, by time, then by the order in which they were put there. */
#include <stdlib.h>

#include "transport/sim/engine.h"

static bool comes_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void place(struct queue *q, struct event *e, size_t at)
{
    q->events[at] = e;
    e->place = at;
}

static void rise(struct queue *q, struct event *e)
{
    size_t at = e->place;

    for (; at > 0 && comes_before(e, q->events[(at - 1) / 2]); at = (at - 1) / 2)
        place(q, q->events[(at - 1) / 2], at);
    place(q, e, at);
}

static void sink(struct queue *q, struct event *e)
{
    size_t at = e->place, child;

    while ((child = 2 * at + 1) < q->count) {
        if (child + 1 < q->count && comes_before(q->events[child + 1], q->events[child]))
            child++;
        if (!comes_before(q->events[child], e))
            break;
        place(q, q->events[child], at);
        at = child;
    }
    place(q, e, at);
}

void ncoll__sim_push(struct queue *q, struct event *e, uint64_t at_ns)
{
    if (q->count == q->capacity) {
        q->capacity = q->capacity > 0 ? 2 * q->capacity : 1024;
        q->events = realloc(q->events, q->capacity * sizeof(struct event *));
        if (q->events == NULL)
            abort();
    }
    e->at_ns = at_ns;
    e->order = q->orders++;
    place(q, e, q->count++);
    rise(q, e);
}

void ncoll__sim_move(struct queue *q, struct event *e, uint64_t at_ns)
{
    bool earlier = at_ns < e->at_ns;

    e->at_ns = at_ns;
    e->order = q->orders++;
    if (earlier)
        rise(q, e);
    else
        sink(q, e);
}

struct event *ncoll__sim_pop(struct queue *q)
{
    if (q->count == 0)
        return NULL;
    struct event *first = q->events[0], *last = q->events[--q->count];
    first->place = NOT_QUEUED;
    if (last != first) {
        place(q, last, 0);
        sink(q, last);
    }
    return first;
}
