/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divides the entries of a queue among the connections that share it: the receives of a rank, and
 * the completions of its sends.
 *
 * In a large job a queue cannot be long enough for everything that might come, and few ranks of
 * such a job ever connect to all others. So the first connections get what they want while there is
 * plenty, and later ones less. All get the minimum that they need, as long as the queue has that
 * for all ranks of the job. A connection keeps what it has got.
 */
#ifndef NCOLL_TRANSPORT_VERBS_ROOM_H
#define NCOLL_TRANSPORT_VERBS_ROOM_H

struct room {
    unsigned places;  /* entries to give out */
    unsigned taken;   /* given out so far */
    unsigned to_come; /* connections that may still be made */
    unsigned least;   /* entries that each of these needs at least */
};

/* Sets the sizes of the queues that all connections of one of `ranks` ranks share: its receives, and
 * the completions of its sends. They are limited by the device, by the number of ranks, and by a
 * limit of this library. batch: receives that each connection gets besides those for messages and
 * control words. */
void ncoll__rooms_divide(unsigned ranks, unsigned max_receives, unsigned max_completions,
                         unsigned batch, struct room *receives, struct room *sends);
/* Takes entries for one more connection, at most `wish`. Returns how many; 0: the queue is full. */
unsigned ncoll__room_take(struct room *r, unsigned wish);
/* Does the same for a queue whose length is a power of two. */
unsigned ncoll__room_take_power(struct room *r, unsigned wish);
/* Returns entries that are not used any more. */
void ncoll__room_return(struct room *r, unsigned places);

#endif
