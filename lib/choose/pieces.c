/* SPDX-License-Identifier: BSD-3-Clause */
/* The length from which on ranks read messages in each other's memory, and the pieces that such
 * messages are cut into. */
#include "lib/topology/levels.h"
#include "lib/base/group.h"
#include "lib/choose/select.h"

/*
 * Messages that go one way are cut, so that a rank copies one piece while another rank reads the
 * previous one. Calls in which ranks send as much as they receive keep both sides busy without
 * that.
 *
 * If two ranks share a core, a message is cut into as many pieces as can be in flight. Shorter
 * pieces, or messages, gain less than the context switches cost. If more than two ranks share a
 * core, cutting never gains enough. Two ranks with cores of their own gain by two pieces. Messages
 * beyond the upper limits are faster whole: they fall out of the receiver's cache before its memory
 * is written again.
 */
#define PIECES_FROM_SHARED    ((size_t)128 << 10)
#define PIECES_TO_SHARED      ((size_t)256 << 10)
#define PIECES_FROM           ((size_t)64 << 10)
#define PIECES_TO             ((size_t)128 << 10)
#define PIECES_RANKS_PER_CORE 2
/* The most ranks, each on a core of its own, for which this was measured. */
#define PIECES_RANKS 2

size_t ncoll__read_from(const struct ncoll_group *g)
{
    size_t least =
        g->ctx->settings.show_bytes > SLOT_PAYLOAD ? g->ctx->settings.show_bytes : SLOT_PAYLOAD + 1;
    bool all = g->nodes.count == 1 || g->level != NO_LEVEL;

    for (int q = 0; q < g->size && all; q++)
        all = q == g->rank || ncoll__may_peer_read(g, (unsigned)q);
    return all ? least : SIZE_MAX;
}

/* True if the messages of this collective go one way, and are therefore cut. */
static bool goes_one_way(enum collective collective, bool shares_cores)
{
    switch (collective) {
    case COLL_BCAST:
    case COLL_SCATTER:
    case COLL_GATHER:
        return true;
    case COLL_REDUCE:
    case COLL_SCAN:
    case COLL_EXSCAN:
        return !shares_cores;
    default:
        return false;
    }
}

size_t ncoll__peer_read_pieces(const struct ncoll_group *g, enum collective collective,
                               size_t bytes)
{
    double ranks_per_core = g->ctx->places.ranks_per_core;
    bool shares_cores = ranks_per_core > 1;
    size_t pieces = shares_cores ? LANES : 2;

    if (!goes_one_way(collective, shares_cores) || ranks_per_core > PIECES_RANKS_PER_CORE ||
        (!shares_cores && g->size > PIECES_RANKS) ||
        bytes < (shares_cores ? PIECES_FROM_SHARED : PIECES_FROM) ||
        bytes > (shares_cores ? PIECES_TO_SHARED : PIECES_TO) ||
        bytes / pieces < ncoll__read_from(g))
        return 0;
    return (bytes + pieces - 1) / pieces;
}
