/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast and reduce along a chain of all ranks.
 *
 * J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra: Performance
 * Analysis of MPI Collective Operations, Cluster Computing 10, 2007 (their pipeline).
 *
 *   P  ranks; s  root; v = (p - s) mod P  rank p counted from the root: its place in the chain
 *   bcast     v receives from v - 1 and sends to v + 1
 *   reduce    v receives from v + 1, combines, and sends to v - 1
 *
 * P = 4, s = 2:
 *
 *   bcast     2 to 3, 3 to 0, 0 to 1
 *   reduce    1 to 0: x1     0 to 3: x0 o x1     3 to 2: x3 o (x0 o x1)
 *
 * A vector of one segment takes P - 1 messages one after the other. A long one is cut in segments
 * which follow each other along the chain: each rank sends every element once, and the last
 * segment arrives P - 2 messages after it has left the root. A reduce combines in the order of v,
 * so the operation has to commute.
 */
#include "algos/choice.h"
#include "algos/radix.h"

#define SLOT 0u

static struct footprint footprint(const struct shape *g)
{
    if (g->size == 1)
        return (struct footprint){0};
    return (struct footprint){
        .slots = 1,
        .scratch = g->collective == COLL_REDUCE && g->size > 2 ? g->count : 0,
        .message = g->count,
        .sent = g->count,
    };
}

static void bcast(const struct shape *g, unsigned v, struct round *out)
{
    struct ref vector = in_at(0);

    if (v > 0) {
        emit_wait(out, left(g, 1), SLOT, g->count);
        vector = arrived_at(SLOT, 0);
    }
    if (v + 1 < g->size)
        emit_put(out, right(g, 1), SLOT, vector, g->count);
    emit_copy(out, out_at(0), vector, g->count);
}

static void reduce(const struct shape *g, unsigned v, struct round *out)
{
    struct ref combined = in_at(0);

    if (v + 1 < g->size) {
        combined = v > 0 ? scratch_at(0) : out_at(0);
        emit_wait(out, right(g, 1), SLOT, g->count);
        emit_reduce(out, combined, in_at(0), arrived_at(SLOT, 0), g->count);
    }
    if (v > 0)
        emit_put(out, left(g, 1), SLOT, combined, g->count);
    else if (g->size == 1)
        emit_copy(out, out_at(0), in_at(0), g->count);
}

static bool round_of(const struct shape *g, unsigned r, struct round *out)
{
    unsigned v = left(g, g->root);

    if (r > 0)
        return false;
    if (g->collective == COLL_BCAST)
        bcast(g, v, out);
    else
        reduce(g, v, out);
    return true;
}

static struct fit fit(const struct shape *g, const struct situation *s)
{
    bool is_long = g->size > 2 && s->ranks_per_core > 1 && s->bytes >= ncoll__chain_bytes(g, s);

    return (struct fit){.strength = is_long ? FIT_LONG : FIT_NONE, .why = "long data"};
}

const struct algorithm ncoll__chain = {
    .name = "chain",
    .summary = "a chain of all ranks; long vectors pass along it in segments",
    .source = "Pjesivac-Grbovic et al., Cluster Computing 10, 2007",
    .collectives = 1u << COLL_BCAST | 1u << COLL_REDUCE,
    .properties = NEEDS_COMMUTATIVE | GIVES_SAME_BITS | ROTATES,
    .footprint = footprint,
    .round = round_of,
    .peers = ncoll__peers_two,
    .fit = fit,
};
