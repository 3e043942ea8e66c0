/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks of nodes: how many switches a message passes, and, with contention, the links that it
 * takes. Each link carries one message at a time. A message leaves its node when the first link is
 * free, and its bytes follow without a gap through all further links. The message gets each of
 * these as soon as the link is free (virtual cut-through with room in the switches). The time that
 * wires and switches take is added at the end.
 *
 * Routes are fixed. switch: up to the switch and down again. fat tree of two levels: to another
 * leaf by the uplink whose number is that of the destination node modulo the number of uplinks (as
 * D-mod-k routing does). dragonfly (J. Kim, W. Dally, S. Scott, D. Abts, ISCA 2008): minimal, one
 * link between each two routers of a group and one between each two groups; the links to other
 * groups are dealt out to the routers of a group in turn. torus: along x, then y, then z, the
 * shorter way round.
 */
#ifndef NCOLL_LOGGP_NETWORK_H
#define NCOLL_LOGGP_NETWORK_H

#include "loggp/loggp.h"

struct network {
    const struct loggp_network *of;
    unsigned nodes;
    unsigned groups; /* number of groups of a dragonfly */
    double gap_ns;
    double *free_ns; /* the time from which on each link is free; NULL: no contention */
};

/* Returns false if there is no memory. */
bool loggp_network_init(struct network *n, const struct loggp_network *of, unsigned nodes,
                        double gap_ns);
void loggp_network_free(struct network *n);

/* Returns the number of switches, beyond the first one, that a message from one node to another
 * passes. */
unsigned loggp_network_hops(const struct network *n, unsigned from, unsigned to);

/* Sends a message that leaves at at_ns and whose bytes take span_ns. Returns the time at which the
 * last link begins to carry it. */
double loggp_network_carry(struct network *n, unsigned from, unsigned to, double at_ns,
                           double span_ns);

#endif
