/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_VERIFY_MUTATE_H
#define NCOLL_TEST_VERIFY_MUTATE_H

#include <stdbool.h>
#include <stdint.h>

/* Plants each kind of mistake in real schedules, then `random` more at places drawn from the seed;
 * false if one of them was not caught. Prints each kind with the reason that the model gave. */
bool mutations_run(unsigned random, uint64_t seed);

/* Plants the mistakes of credits; returns how many kinds there are. */
unsigned mutations_of_credits(uint64_t seed, unsigned *caught);

/* Plants those of lanes. */
unsigned mutations_of_lanes(unsigned *caught);

/* Plants mistakes in schedules that are not written out. */
unsigned mutations_of_described(uint64_t seed, unsigned *caught);

/* Plant those of outlines, and of what is placed in OUT. */
unsigned mutations_of_outlines(unsigned *caught);
unsigned mutations_of_placed(unsigned *caught);

/* Plant those of calls in parts. */
unsigned mutations_of_parts(unsigned *caught);

#endif
