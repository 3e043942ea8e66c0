/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices for ranks that can read each other's memory. */
#include "lib/group/levels.h"
#include "lib/internal.h"
#include "lib/memory/memory.h"
#include "lib/plan/select.h"

/* Between two ranks that read each other's memory from here on. */
#define SHOWN_RING_BYTES ((size_t)32 << 10)
/* Slices that all ranks combine and read, from so long vectors on, and so long slices. */
#define SHOWN_BYTES       ((size_t)64 << 10)
#define SHOWN_SLICE_BYTES ((size_t)4 << 10)
/* Where one rank has less to do than all together it does so up to here. Longer vectors leave more
 * time to those that wait than a change of ranks takes, and slices are read as they are done. */
#define SHOWN_ROOT_BYTES ((size_t)256 << 10)
/* Of private memory a rank copies one piece while another reads the one before, as many as can be
 * under way. Where more ranks share a core, or pieces are shorter, changes of ranks take longer
 * than that gains. */
#define PIECES_FROM_BYTES ((size_t)128 << 10)
#define PIECES_TO_BYTES   ((size_t)256 << 10)
#define PIECES_CROWD      2

bool ncoll__all_show(const struct ncoll_group *g, size_t bytes)
{
    bool all = bytes > SLOT_PAYLOAD && bytes >= g->ctx->settings.show_bytes &&
               (g->nodes.count == 1 || g->level != NO_LEVEL);

    for (int q = 0; q < g->size && all; q++)
        all = q == g->rank || ncoll__may_show(g, (unsigned)q);
    return all;
}

/* Up and down a tree the root combines P - 1 vectors and each rank reads one; by slices each rank
 * copies one, combines one and reads one. Ranks of a core do so one after the other. */
static bool root_is_quicker(const struct ncoll_group *g)
{
    double crowd = g->ctx->places.ranks_per_core;

    return crowd > 1 && g->size - 1 + crowd < 3 * crowd;
}

const char *ncoll__shown_allreduce(const struct ncoll_group *g, const struct op *op, size_t bytes)
{
    size_t slice = bytes / (size_t)g->size;

    if (g->size == 2)
        return op->commutative && bytes >= SHOWN_RING_BYTES && ncoll__all_show(g, slice) ? "ring"
                                                                                         : NULL;
    if (bytes < SHOWN_BYTES || slice < SHOWN_SLICE_BYTES || !ncoll__all_show(g, slice))
        return NULL;
    if (bytes < SHOWN_ROOT_BYTES && root_is_quicker(g))
        return "tree";
    return 2 * (unsigned)g->size <= g->window->shape.n_slots ? "direct-slices" : NULL;
}

const char *ncoll__shown_copies(const struct ncoll_group *g, enum collective collective,
                                size_t bytes)
{
    if (collective == COLL_ALLGATHER)
        return ncoll__all_show(g, bytes) && (unsigned)g->size <= g->window->shape.n_slots ? "direct"
                                                                                          : NULL;
    return collective == COLL_BCAST && bytes >= SHOWN_BYTES && ncoll__all_show(g, bytes) ? "flat"
                                                                                         : NULL;
}

size_t ncoll__shown_pieces(const struct ncoll_group *g, enum collective collective, size_t bytes)
{
    double crowd = g->ctx->places.ranks_per_core;
    bool copied =
        collective == COLL_BCAST || collective == COLL_SCATTER || collective == COLL_GATHER;

    if (!copied || crowd <= 1 || crowd > PIECES_CROWD || bytes < PIECES_FROM_BYTES ||
        bytes > PIECES_TO_BYTES || !ncoll__all_show(g, bytes / LANES))
        return 0;
    return (bytes + LANES - 1) / LANES;
}
