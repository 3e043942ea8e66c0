/* SPDX-License-Identifier: BSD-3-Clause */
#include "loggp/queue.h"

#include <stdlib.h>

static bool is_before(const struct loggp_event *a, const struct loggp_event *b)
{
    return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->number < b->number);
}

bool loggp_queue_add(struct loggp_queue *q, struct loggp_event event)
{
    if (q->count == q->room) {
        size_t room = q->room > 0 ? 2 * q->room : 1024;
        struct loggp_event *heap = realloc(q->heap, room * sizeof *heap);
        if (heap == NULL)
            return false;
        q->heap = heap;
        q->room = room;
    }
    event.number = q->added++;
    size_t i = q->count++;
    for (; i > 0 && is_before(&event, &q->heap[(i - 1) / 2]); i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = event;
    return true;
}

bool loggp_queue_take(struct loggp_queue *q, struct loggp_event *out)
{
    if (q->count == 0)
        return false;
    *out = q->heap[0];
    struct loggp_event last = q->heap[--q->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && is_before(&q->heap[child + 1], &q->heap[child]))
            child++;
        if (!is_before(&q->heap[child], &last))
            break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return true;
}

void loggp_queue_free(struct loggp_queue *q)
{
    free(q->heap);
    *q = (struct loggp_queue){0};
}
