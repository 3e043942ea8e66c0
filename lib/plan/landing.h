/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Landings: messages that may be put into the receiver's OUT in place of its window.
 *
 * A receiver that invites a sender to do so does it when the call starts; from then on, until the
 * wait for the message, it may come at any time. So a message may land in a stretch of OUT if that
 * makes no difference to the schedule:
 *
 *   L1  all of it is copied there by one step, and is read by that step and by puts only;
 *   L2  no other step writes there;
 *   L3  no step reads there, as OUT, before that copy does;
 *   L4  in place: no step reads IN there, at any time;
 *   L5  no neighbour reads the message.
 *
 * Then the copy is left out, and puts that pass the message on send it from OUT. A pure policy: the
 * compiler obeys it, and test/verify proves that it is right for every schedule.
 */
#ifndef NCOLL_LIB_LANDING_H
#define NCOLL_LIB_LANDING_H

#include "algos/schedule.h"

/* A message that may land in OUT. */
struct landing {
    unsigned slot, peer; /* as in the wait for it */
    size_t at, count;    /* elements, from the start of OUT */
    bool apart;          /* only if IN and OUT are apart: L4 does not hold */
};

/* Where the blocks of IN and OUT start, in elements; NULL where it is a vector. */
struct landing_places {
    const size_t *in_at, *out_at;
};

/* In place: where element 0 of IN is in OUT. */
static inline ptrdiff_t ncoll__in_place_shift(const struct shape *g, struct landing_places places)
{
    if (places.in_at == NULL && places.out_at != NULL)
        return (ptrdiff_t)places.out_at[g->rank];
    if (places.in_at != NULL && places.out_at == NULL)
        return -(ptrdiff_t)places.in_at[g->rank];
    return 0;
}

/* Lists the landings of `least` elements or more among the steps of one rank, in the order of their
 * copies. out: room for as many as there are slots. Returns how many there are. */
unsigned ncoll__landings(const struct shape *g, const struct step *steps, unsigned n_steps,
                         struct landing_places places, size_t least, struct landing *out);

#endif
