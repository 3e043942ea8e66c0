/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the length of the segments of a call, so that their messages fit the window and stay in
 * caches. */
#include "lib/base/group.h"
#include "lib/plan/compiler.h"

/* Longer messages are no faster. */
#define MESSAGE_BYTES ((size_t)128 << 10)
/* If the data in flight to the ranks of a core is more than cached_bytes (transport.h), it falls
 * out of the caches, and segments are made shorter. But messages shorter than this cost more than
 * they gain. If more than two ranks share a core, messages of twice that length gain more, since
 * each segment makes the ranks take turns, as long as there are enough of them. */
#define MESSAGE_MIN_BYTES  ((size_t)16 << 10)
#define SEGMENTS_ENOUGH    16u
#define FEW_RANKS_PER_CORE 2

struct layout ncoll__layout(const struct algorithm *algorithm, const struct shape *shape,
                            size_t element)
{
    struct layout layout = {.footprint = algorithm->footprint(shape)};

    layout.stride = whole_lines(layout.footprint.message * element);
    return layout;
}

/* Returns the scratch that the call needs in total. It includes copies of puts, unless the
 * transport sends from any memory. It also includes packed data if counts differ, since blocks that
 * are cut get packed; the footprint of even blocks does not include that. */
static size_t scratch_of(const struct ncoll_group *g, const struct algorithm *algorithm,
                         const struct footprint *f)
{
    return f->scratch + (algorithm->properties & PACKS_UNEVEN ? f->sent : 0) +
           (g->ctx->transport->sends_any_memory ? 0 : f->sent);
}

static bool fits(const struct ncoll_group *g, const struct layout *layout, size_t scratch,
                 size_t element)
{
    const struct window_shape *w = &g->window->shape;
    const struct footprint *f = &layout->footprint;

    if (f->slots > w->n_slots || scratch > w->scratch_bytes / element)
        return false;
    return f->message <= SLOT_PAYLOAD / element || f->slots <= w->bulk_bytes / layout->stride;
}

/*
 * Returns the bytes that the ranks of a core have in flight in one segment: those that they receive.
 * If ranks read at each other, one copy serves all receivers. In a bcast all receive the same. In a
 * gather or an allgather it is what they send, if they share cores: then they take turns less often.
 * Ranks with cores of their own gain nothing by longer segments there.
 */
static double in_flight(const struct ncoll_group *g, const struct shape *shape,
                        const struct layout *layout, size_t element)
{
    bool gathers = shape->collective == COLL_GATHER || shape->collective == COLL_ALLGATHER;
    double ranks = g->ctx->places.ranks_per_core;
    double received = (double)layout->footprint.slots * (double)layout->stride;
    double sent = (double)layout->footprint.sent * (double)element;

    if (shape->collective == COLL_BCAST)
        return received;
    return ranks * (gathers && ranks > 1 && sent > 0 && sent < received ? sent : received);
}

/* True if shorter segments would gain nothing. whole_bytes: of the messages if nothing is cut. */
static bool is_short_enough(const struct ncoll_group *g, const struct shape *shape,
                            const struct layout *layout, size_t element, size_t whole_bytes)
{
    size_t cached = g->ctx->transport->cached_bytes, shortest = MESSAGE_MIN_BYTES;
    bool stays = cached == 0 || LANES * in_flight(g, shape, layout, element) <= (double)cached;

    if (g->ctx->places.ranks_per_core > FEW_RANKS_PER_CORE &&
        whole_bytes / SEGMENTS_ENOUGH >= 2 * MESSAGE_MIN_BYTES)
        shortest = 2 * MESSAGE_MIN_BYTES;
    return layout->stride <= shortest || (layout->stride <= MESSAGE_BYTES && stays);
}

bool ncoll__plan_fits_whole(const struct ncoll_group *g, const struct algorithm *algorithm,
                            const struct shape *shape, size_t element)
{
    struct layout layout = ncoll__layout(algorithm, shape, element);

    return fits(g, &layout, scratch_of(g, algorithm, &layout.footprint), element);
}

size_t ncoll__plan_segment(const struct ncoll_group *g, const struct algorithm *algorithm,
                           const struct shape *shape, size_t element, size_t longest)
{
    struct shape one = *shape;
    size_t segment = longest > 0 ? longest : 1;

    /* All blocks count as long as the longest, so that all ranks compute the same number of
     * segments. */
    one.counts = one.sends = NULL;
    for (;; segment = (segment + 1) / 2) {
        one.count = shape->sends != NULL ? segment : least(segment, longest);
        if (one.count <= SIZE_MAX / 64 / element / shape->size) {
            struct layout layout = ncoll__layout(algorithm, &one, element);
            size_t scratch = scratch_of(g, algorithm, &layout.footprint);
            if (fits(g, &layout, scratch, element) &&
                (is_short_enough(g, &one, &layout, element, longest * element) || segment == 1))
                return segment;
        }
        if (segment == 1)
            return 0;
    }
}
