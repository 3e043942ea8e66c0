/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the entries of a queue among the connections that share it: the receives of a rank, and
 * the completions of its sends.
 *
 * In a large job a queue cannot be long enough for everything that might come, and few ranks of
 * such a job ever connect to all others. So the first connections get as many entries as they wish
 * for, and later ones get fewer. All get the minimum that they need, if the queue has enough
 * entries for that on all connections of the job. A connection keeps what it has got.
 *
 * Queues are pinned. So in a job of more than SMALL_JOB ranks a rank begins with a short receive
 * queue. When all entries are given out, it makes another one, as long as all earlier ones
 * together. A connection uses the queue that was the latest when it was made. Send queues have the
 * minimum length there, except those of the first connections: these peers are the neighbours in
 * rings and trees that carry long messages.
 */
#ifndef NCOLL_TRANSPORT_VERBS_ROOM_H
#define NCOLL_TRANSPORT_VERBS_ROOM_H

#include <stdbool.h>

/* In jobs of up to this many ranks, receive queues have their full length from the beginning. */
#define SMALL_JOB 128u
/* In a larger job: the receives of the first shared queue, and the most queues. Drivers round the
 * length of a queue up to a power of two, mlx5 after it has added one. */
#define FIRST_RECEIVES 4095u
#define QUEUES_MOST    5u
/* In a larger job: the entries that all send queues together have beyond the minimum. A job of
 * 2,048 ranks has twice as many, and for each further doubling this number is added again. */
#define SENDS_SPARE 96u

struct room {
    unsigned places;  /* all entries */
    unsigned taken;   /* entries given out so far */
    unsigned to_come; /* connections that may still be made */
    unsigned least;   /* entries that each of these connections needs at least */
};

/* The queue entries of a rank. Callers copy the structure, to find out what would fit, or to
 * undo. */
struct rooms {
    struct room receives, sends; /* for all connections */
    bool grows;                  /* there may be several receive queues */
    unsigned n_queues;           /* receive queues in use */
    unsigned queued;             /* entries of all these queues together */
    unsigned places, taken;      /* of the latest queue: all entries, and those given out */
    unsigned send_spare;         /* entries of send queues beyond the minimum, not given out yet */
};

/* The share of one connection. */
struct share {
    unsigned receives, sends;
};

/* The limits of a device, and how this rank uses it. */
struct room_limits {
    unsigned receives;    /* the most receives of one queue */
    unsigned completions; /* the most entries of one completion queue */
    /* receives that each connection gets besides those for messages and control words */
    unsigned batch;
    bool many_queues; /* there may be several receive queues */
};

/* Sets the sizes of the queues that the connections of a rank share, in a job of `ranks` ranks: its
 * receives, and the completions of its sends. They are limited by the device, by the number of
 * ranks, and by a limit of this library. */
void ncoll__rooms_divide(unsigned ranks, const struct room_limits *limits, struct rooms *out);
/* Takes entries for one more connection, at most `wish` receives. Returns false if a queue is full;
 * then nothing is taken. If r->n_queues has grown, the caller has to make a receive queue of
 * r->places entries. */
bool ncoll__rooms_take(struct rooms *r, unsigned wish, struct share *out);
/* Returns the most completions that there can be at once, if all connections are made. */
unsigned ncoll__rooms_completions(const struct rooms *r);
/* Returns the new length of a completion queue of `depth` entries that needs `need` entries: at
 * least a quarter more than before, so that the queue seldom grows. */
unsigned ncoll__completions_grown(unsigned need, unsigned depth);

/* Takes entries of one queue, at most `wish`. Returns the number taken; 0: the queue is full. */
unsigned ncoll__room_take(struct room *r, unsigned wish);
/* Does the same, but takes a power of two of entries. */
unsigned ncoll__room_take_power(struct room *r, unsigned wish);

#endif
