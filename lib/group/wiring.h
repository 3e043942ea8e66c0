/* SPDX-License-Identifier: BSD-3-Clause */
/* Wiring: connecting peers. */
#ifndef NCOLL_LIB_GROUP_WIRING_H
#define NCOLL_LIB_GROUP_WIRING_H

#include "lib/base/group.h"

/* Lists the base peers of a rank, which every group connects when it is made: see wiring.c. Writes
 * ranks of the group to peers[], and returns their number, at most BASE_PEERS. */
#define BASE_PEERS 64
unsigned ncoll__base_peers(unsigned rank, unsigned size, unsigned peers[BASE_PEERS]);

/* The callback start() of lib/base/callbacks.h. before NULL: the exchange goes to the end of the
 * queue. */
int ncoll__wiring_start(struct ncoll_group *g, struct window *window, struct call *before,
                        const unsigned *peers, const unsigned *distances, unsigned n_peers,
                        unsigned depth, struct signature purpose);
/* The callback test() of lib/base/callbacks.h. */
int ncoll__wiring_test(struct ncoll_group *g);
void ncoll__wiring_free(struct ncoll_group *g);

#endif
