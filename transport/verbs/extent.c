/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/extent.h"

/* The length of the first part that is registered of an epoch's bulk memory or scratch. The part
 * does not begin at the start of a page (transport/window.h), so it takes two pages. A part up to
 * the end of the first page would be too short: plans often use a power of two of bytes. */
#define SET_BYTES WINDOW_PAGE
#define GROWTH    4u

/* Returns the most slots that short calls of a group use: 7 messages in each of log_8 P rounds. */
static unsigned first_slots(unsigned ranks)
{
    return ranks <= 64 ? 16 : ranks <= 4096 ? 32 : 64;
}

struct window_extent ncoll__extent_first(const struct window_shape *shape)
{
    unsigned slots = first_slots(shape->ranks);

    return (struct window_extent){.slots = slots < shape->n_slots ? slots : shape->n_slots};
}

/* Returns the length that a registered part grows to, in steps of GROWTH; if that is more than half
 * of the longest possible length, `most`, it returns `most`. */
static size_t grown(size_t now, size_t need, size_t first, size_t most)
{
    size_t to = now > 0 ? now : first;

    if (need <= now)
        return now;
    while (to < need)
        to *= GROWTH;
    return to > most / 2 ? most : to;
}

struct window_extent ncoll__extent_grown(const struct window_shape *shape, struct window_extent now,
                                         struct window_extent need)
{
    return (struct window_extent){
        .slots = (unsigned)grown(now.slots, need.slots, now.slots, shape->n_slots),
        .bulk_bytes = grown(now.bulk_bytes, need.bulk_bytes, SET_BYTES, shape->bulk_bytes),
        .scratch_bytes =
            grown(now.scratch_bytes, need.scratch_bytes, SET_BYTES, shape->scratch_bytes),
    };
}

size_t ncoll__extent_bytes(const struct window_shape *shape, struct window_extent from,
                           struct window_extent to)
{
    size_t slots = to.slots > from.slots ? extent_slots_end(shape, to.slots) : 0;
    size_t bulk = to.bulk_bytes > from.bulk_bytes ? EPOCHS * to.bulk_bytes : 0;
    size_t scratch = to.scratch_bytes > from.scratch_bytes ? EPOCHS * to.scratch_bytes : 0;

    return slots + bulk + scratch;
}
