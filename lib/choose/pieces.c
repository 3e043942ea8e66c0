/* SPDX-License-Identifier: BSD-3-Clause */
/* The shortest message that ranks read in each other's memory, and the pieces that it is cut
 * into. */
#include "lib/topology/levels.h"
#include "lib/base/group.h"
#include "lib/choose/select.h"

/* With private memory, a rank copies one piece while another rank reads the previous piece; as many
 * pieces as possible are in flight. If more ranks share a core, or if pieces are shorter, context
 * switches take longer than this gains. */
#define PIECES_FROM_BYTES     ((size_t)128 << 10)
#define PIECES_TO_BYTES       ((size_t)256 << 10)
#define PIECES_RANKS_PER_CORE 2

size_t ncoll__read_from(const struct ncoll_group *g)
{
    size_t least =
        g->ctx->settings.show_bytes > SLOT_PAYLOAD ? g->ctx->settings.show_bytes : SLOT_PAYLOAD + 1;
    bool all = g->nodes.count == 1 || g->level != NO_LEVEL;

    for (int q = 0; q < g->size && all; q++)
        all = q == g->rank || ncoll__may_peer_read(g, (unsigned)q);
    return all ? least : SIZE_MAX;
}

size_t ncoll__peer_read_pieces(const struct ncoll_group *g, enum collective collective,
                               size_t bytes)
{
    double ranks_per_core = g->ctx->places.ranks_per_core;
    bool copied =
        collective == COLL_BCAST || collective == COLL_SCATTER || collective == COLL_GATHER;

    if (!copied || ranks_per_core <= 1 || ranks_per_core > PIECES_RANKS_PER_CORE ||
        bytes < PIECES_FROM_BYTES || bytes > PIECES_TO_BYTES || bytes / LANES < ncoll__read_from(g))
        return 0;
    return (bytes + LANES - 1) / LANES;
}
