/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The extent of a window: the part that is registered with the device. Registered memory is pinned,
 * so a window is registered in parts, when plans use them: at first advertisements and a few slots,
 * which is enough for barriers and short calls; then more of the slots, and of the bulk memory and
 * the scratch of each epoch. Each part grows by a factor of four, so the earlier registrations of
 * it, whose keys some peers may go on using, take little in addition.
 */
#ifndef NCOLL_TRANSPORT_VERBS_EXTENT_H
#define NCOLL_TRANSPORT_VERBS_EXTENT_H

#include "transport/window.h"

/* Returns the extent of a new window; the same on all ranks of the group. */
struct window_extent ncoll__extent_first(const struct window_shape *shape);
/* Returns the extent that a window grows to from `now` if plans use `need`. */
struct window_extent ncoll__extent_grown(const struct window_shape *shape, struct window_extent now,
                                         struct window_extent need);
/* Returns the number of bytes that are registered when an extent grows. For a new window `from` is
 * {0}. */
size_t ncoll__extent_bytes(const struct window_shape *shape, struct window_extent from,
                           struct window_extent to);

/* Returns the number of bytes from the start of a window to the end of its first `slots` slots. */
static inline size_t extent_slots_end(const struct window_shape *s, unsigned slots)
{
    return window_slots_at(s) + (size_t)slots * EPOCHS * sizeof(struct slot);
}

#endif
