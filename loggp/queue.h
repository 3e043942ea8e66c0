/* SPDX-License-Identifier: BSD-3-Clause */
/* Events in the order of their times; those of one time in the order in which they were added. */
#ifndef NCOLL_LOGGP_QUEUE_H
#define NCOLL_LOGGP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    double at_ns;
    uint64_t number; /* given by queue_add() */
    bool is_message; /* it leaves its sender; else: an actor goes on */
    unsigned actor;
    unsigned from, to; /* nodes of a message; */
    double span_ns;    /* the time of its bytes, */
    double rest_ns;    /* the time from its last byte to its arrival, */
    uint64_t key;      /* and its key */
};

struct queue {
    struct event *heap;
    size_t count, room;
    uint64_t added;
};

/* False: no memory. */
bool queue_add(struct queue *q, struct event event);
/* False: there is none. */
bool queue_take(struct queue *q, struct event *out);
void queue_free(struct queue *q);

#endif
