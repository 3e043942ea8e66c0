/* SPDX-License-Identifier: BSD-3-Clause */
/* Wiring: connecting peers. */
#ifndef NCOLL_LIB_GROUP_WIRING_H
#define NCOLL_LIB_GROUP_WIRING_H

#include "lib/base/group.h"

/* Lists the base peers of a rank, which every group connects when it is made: see wiring.c. Writes
 * ranks of the group to peers[], and returns their number, at most BASE_PEERS. */
#define BASE_PEERS 64
unsigned ncoll__base_peers(unsigned rank, unsigned size, unsigned peers[BASE_PEERS]);
#define BASE_DEPTH  (3 * EPOCHS)
#define OFFER_WORDS (OFFER_BYTES / sizeof(int64_t))
/* Records that the base peers are connected. */
void ncoll__base_wired(struct ncoll_group *g);

/* Queues the exchange that connects these peers (ranks of the group), in front of a call; before
 * NULL: at the end of the queue. */
int ncoll__wiring_start(struct ncoll_group *g, struct call *before, const unsigned *peers,
                        unsigned n_peers, unsigned depth, struct signature purpose);
/* See test() in lib/base/callbacks.h. */
int ncoll__wiring_test(struct ncoll_group *g);
void ncoll__wiring_free(struct ncoll_group *g);

#endif
