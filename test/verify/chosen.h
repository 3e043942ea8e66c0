/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedules that the library chooses by default in a large job, for calls of 8 bytes to 1 MiB.
 * The choice is that of the real planner (test/support/planner.h).
 */
#ifndef NCOLL_TEST_VERIFY_CHOSEN_H
#define NCOLL_TEST_VERIFY_CHOSEN_H

#include "algos/schedule.h"

#define CHOSEN_MAX 256

struct chosen {
    struct planner *planner; /* the shapes point to its nodes */
    struct shape shapes[CHOSEN_MAX];
    const struct algorithm *algorithms[CHOSEN_MAX];
    unsigned count, wrong; /* wrong: calls for which nothing is chosen */
};

/* Lists each schedule once. Calls that are cut into segments have separate blocks; roots are drawn
 * from the seed. */
struct chosen *chosen_new(unsigned ranks, unsigned per_node, uint64_t seed);
void chosen_free(struct chosen *all);

#endif
