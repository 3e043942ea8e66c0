/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far clocks are apart, from messages between them.
 *
 * A message is seen at the receiver d after it was put, each by its own clock: d is the time that it
 * took plus the offset of the receiver's clock from the sender's. In the other direction the offset
 * counts with the opposite sign. The shortest messages of both directions are taken to have been
 * equally fast (as Cristian's method and NTP do), so the offset is half the difference of the least
 * d of the two directions; it is wrong by at most half their sum.
 */
#ifndef NCOLL_TOOLS_TIMELINE_CLOCKS_H
#define NCOLL_TOOLS_TIMELINE_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_message {
    unsigned from, to; /* clocks, 0..n_clocks - 1 */
    int64_t delay_ns;  /* the time of arrival less that of the put */
};

struct clock_offset {
    int64_t offset_ns; /* what the clock shows more than clock 0 */
    int64_t error_ns;  /* the offset is wrong by at most so much; -1: not known */
};

/*
 * Estimates the offset of each clock from clock 0, over those clocks for which the sum of errors is
 * least. If there are messages in one direction only, the fastest is taken to have been seen at
 * once. A clock that no message connects with clock 0 has the offset 0. Returns false if there is no
 * memory.
 */
bool clocks_estimate(const struct clock_message *messages, size_t n, unsigned n_clocks,
                     struct clock_offset *out);

#endif
