/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a window the device knows. Registered memory is pinned, so a window is registered in
 * parts, when plans use them: at first advertisements and a few slots, which is enough for barriers
 * and short calls, then more of the slots, and of the bulk memory and the scratch of each epoch. Each
 * part grows by a factor of four, so the keys of the shorter part, which some peers may go on using,
 * take little in addition.
 */
#ifndef NCOLL_TRANSPORT_VERBS_EXTENT_H
#define NCOLL_TRANSPORT_VERBS_EXTENT_H

#include "transport/window.h"

/* Returns what the device knows of a new window; the same on all ranks of the group. */
struct window_extent ncoll__extent_first(const struct window_shape *shape);
/* Returns what the device has to know if it knows `now` and plans use `need`. */
struct window_extent ncoll__extent_grown(const struct window_shape *shape, struct window_extent now,
                                         struct window_extent need);
/* Returns the bytes of all that is registered when the extent grows; for a new window from {0}. */
size_t ncoll__extent_bytes(const struct window_shape *shape, struct window_extent from,
                           struct window_extent to);

/* Returns the bytes from the start of the window to the end of so many slots. */
static inline size_t extent_slots_end(const struct window_shape *s, unsigned slots)
{
    return window_slots_at(s) + (size_t)slots * EPOCHS * sizeof(struct slot);
}

#endif
