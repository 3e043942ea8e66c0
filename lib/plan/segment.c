/* SPDX-License-Identifier: BSD-3-Clause */
/* Chooses the length of the segments of a call, so that their messages fit the window and stay in
 * caches. */
#include "lib/base/group.h"
#include "lib/plan/compiler.h"

/* Messages longer than this are no faster. */
#define MESSAGE_BYTES ((size_t)128 << 10)
/* If the data in flight to the ranks of a core is more than cached_bytes (transport.h), it falls
 * out of the caches, and segments are made shorter. But messages shorter than MESSAGE_MIN_BYTES
 * cost more than they gain. If more than FEW_RANKS_PER_CORE ranks share a core, this limit is
 * doubled, since each segment makes the ranks take turns; but only if the call still has
 * SEGMENTS_ENOUGH segments. */
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

/* Returns the elements of scratch that the call needs in total. They include copies of the data
 * that is put, unless the transport sends from any memory. With PACKS_UNEVEN they also include
 * room to pack that data: blocks that are cut get packed, and the footprint of even blocks has no
 * room for that. */
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
 * Returns the bytes of one segment that are in flight for the ranks of a core: those that the ranks
 * receive. If ranks read each other's memory, one copy serves all receivers. In a bcast all ranks
 * receive the same data, which counts once. In a gather or an allgather of ranks that share cores,
 * the bytes that the ranks send count instead, if they are fewer: with longer segments the ranks
 * take turns less often. Ranks with cores of their own gain nothing by longer segments there.
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

/* True if shorter segments would gain nothing. whole_bytes: length of the longest block of the
 * call, uncut. */
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

    /* All blocks are taken to be as long as the longest, so that all ranks compute the same number
     * of segments. */
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
