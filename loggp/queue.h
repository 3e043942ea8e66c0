/* SPDX-License-Identifier: BSD-3-Clause */
/* A queue of events in the order of their times; events of the same time come in the order in which
 * they were added. */
#ifndef NCOLL_LOGGP_QUEUE_H
#define NCOLL_LOGGP_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loggp_event {
    double at_ns;
    uint64_t number; /* given by loggp_queue_add() */
    bool is_message; /* true: a message leaves its sender; false: an actor goes on */
    unsigned actor;
    unsigned from, to; /* of a message: the nodes of sender and receiver */
    double span_ns;    /* of a message: the time of its bytes */
    double rest_ns;    /* of a message: the time from its last byte to its arrival */
    uint64_t key;      /* of a message: its key */
};

struct loggp_queue {
    struct loggp_event *heap;
    size_t count, room;
    uint64_t added;
};

/* Returns false if there is no memory. */
bool loggp_queue_add(struct loggp_queue *q, struct loggp_event event);
/* Takes the earliest event. Returns false if there is none. */
bool loggp_queue_take(struct loggp_queue *q, struct loggp_event *out);
void loggp_queue_free(struct loggp_queue *q);

#endif
