/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom the ranks of a schedule exchange messages with.
 */
#ifndef NCOLL_TEST_VERIFY_PEERS_H
#define NCOLL_TEST_VERIFY_PEERS_H

#include "test/verify/schedules.h"

/* True if each rank has the same peers in both; or, in b, some of those in a. */
bool peers_same(const struct schedule *a, const struct schedule *b, bool some_will_do);

/* True if the peers of all ranks lie at the same distances, counted to the right. */
bool peers_at_same_distances(const struct schedule *s);

/* True if rank p + by has the peers in b that rank p has in a, all of them `by` further. */
bool peers_rotated(const struct schedule *a, const struct schedule *b, unsigned by);

/* Returns the most peers that a rank is connected to: see struct algorithm.peers. */
unsigned peers_most(const struct schedule *s);

/* True if no rank has a peer at a distance from it, to either side, at which the root has none, nor
 * more messages from one. */
bool peers_of_root_are_all(const struct schedule *s);

#endif
