/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the places of a queue are dealt out among the connections that share it: the receives of a
 * rank, and the completions of its sends.
 *
 * A queue cannot be made as long as everything that might come in a large job, and few ranks of
 * such a job ever connect everybody. So those that come first get what they wish for while there is
 * plenty, later ones less, but all get the least that they can do with, as long as it is there for
 * all ranks of the job. What a connection has got stays as it is.
 */
#ifndef NCOLL_TRANSPORT_VERBS_ROOM_H
#define NCOLL_TRANSPORT_VERBS_ROOM_H

struct room {
    unsigned places, taken;
    unsigned to_come; /* connections that may be made yet */
    unsigned least;   /* places that each of these needs */
};

/* Takes places for one more connection, `wish` at most. Returns how many; 0: it is full. */
unsigned ncoll__room_take(struct room *r, unsigned wish);
/* What was taken is not used in the end. */
void ncoll__room_return(struct room *r, unsigned places);

#endif
