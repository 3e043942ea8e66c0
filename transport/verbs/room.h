/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the entries of a queue among the connections that share it: the receives of a rank, and
 * the completions of its sends.
 *
 * In a large job a queue cannot be long enough for everything that might come, and few ranks of
 * such a job ever connect to all others. So the first connections get what they want while there is
 * plenty, and later ones less. All get the minimum that they need, as long as the queue has that
 * for all ranks of the job. A connection keeps what it has got.
 *
 * Queues are pinned. So a rank of a job of more than SMALL_JOB ranks begins with a short receive
 * queue, and makes another one when that is dealt out, as long as all before it together. A
 * connection uses the queue that was the latest when it was made. Send queues have the minimum
 * there, except those of the first connections, which are the neighbours in rings and trees that
 * carry long messages.
 */
#ifndef NCOLL_TRANSPORT_VERBS_ROOM_H
#define NCOLL_TRANSPORT_VERBS_ROOM_H

#include <stdbool.h>

/* Ranks of a job whose queues are made for all that its connections wish for. */
#define SMALL_JOB 128u
/* Receives in the first shared queue of a larger job, and queues at most. Drivers take a power of two
 * of them, mlx5 of one more. */
#define FIRST_RECEIVES 4095u
#define QUEUES_MOST    5u
/* In a larger job: places in send queues beyond the minimum for all connections together. Twice as
 * many in one of 2,048 ranks, and again so many for each further doubling. */
#define SENDS_SPARE 96u

struct room {
    unsigned places;  /* entries to give out */
    unsigned taken;   /* given out so far */
    unsigned to_come; /* connections that may still be made */
    unsigned least;   /* entries that each of these needs at least */
};

/* The room of a rank. Copies serve to find out what would fit, and to undo. */
struct rooms {
    struct room receives, sends; /* for all connections */
    bool grows;                  /* there may be several receive queues */
    unsigned n_queues;           /* receive queues that are in use, */
    unsigned queued;             /* places of all of them together, */
    unsigned places, taken;      /* and of the latest one: places, and how many are given out */
    unsigned send_spare;         /* places in send queues beyond the minimum, to give out */
};

/* The share of one connection. */
struct share {
    unsigned receives, sends;
};

/* Limits that a device has, and its use by this rank. */
struct room_limits {
    unsigned receives;    /* of one queue */
    unsigned completions; /* of one queue */
    unsigned
        batch; /* receives that each connection gets besides those for messages and control words */
    bool many_queues; /* there may be several receive queues */
};

/* Sets the sizes of the queues that all connections of one of `ranks` ranks share: its receives, and
 * the completions of its sends. They are limited by the device, by the number of ranks, and by a
 * limit of this library. */
void ncoll__rooms_divide(unsigned ranks, const struct room_limits *limits, struct rooms *out);
/* Takes entries for one more connection, at most `wish` receives. Returns false if a queue is full; then
 * nothing is taken. If n_queues grows, the caller makes a queue of `places`. */
bool ncoll__rooms_take(struct rooms *r, unsigned wish, struct share *out);
/* Returns the most completions that there can be at once, if all connections are made. */
unsigned ncoll__rooms_completions(const struct rooms *r);
/* Returns the length that a completion queue is given if it is `depth` long and has to be `need`: a
 * quarter more, so that it seldom grows. */
unsigned ncoll__completions_grown(unsigned need, unsigned depth);

/* Takes entries of one queue, at most `wish`. Returns how many; 0: the queue is full. */
unsigned ncoll__room_take(struct room *r, unsigned wish);
/* Does the same for a queue whose length is a power of two. */
unsigned ncoll__room_take_power(struct room *r, unsigned wish);

#endif
