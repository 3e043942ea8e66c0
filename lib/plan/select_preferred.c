/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is preferred where nobody asked for an algorithm: by the operation, the length of the data
 * and where the ranks are.
 */
#include "lib/plan/select.h"

#include <string.h>

#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/plan/compile.h"
#include "lib/plan/estimate.h"

/* What it costs to copy a short block. */
#define PACK_NS 10.0
/* Slices spread the sending of a broadcast, or the combining of a reduction, over all ranks, which
 * gains nothing where they share cores; with so much for each rank a chain of them has something to
 * do for all. */
#define CHAIN_BYTES ((size_t)64 << 10)
/* The same where they read each other's memory, so that one that combines for all gets on faster.
 */
#define SHOWN_CHAIN_BYTES ((size_t)128 << 10)
/* gather sends every rank's vector to everybody: only while that is little. */
#define GATHER_BYTES ((size_t)32 << 10)
/* From here on a ring, which moves the fewest bytes. */
#define RING_BYTES ((size_t)256 << 10)
/* In a reduce-scatter a ring moves as many bytes as there are without it, in more rounds: it gains
 * only by what it keeps in caches, which a change of ranks outweighs for long, and what it hands
 * from core to core all along for longer. */
#define CROWDED_RING_BYTES ((size_t)1 << 20)

bool ncoll__serves(const struct algorithm *a, const struct call_args *args, const struct op *op)
{
    if (a == NULL || !(a->collectives & 1u << args->collective))
        return false;
    if ((a->properties & REGULAR_ONLY) && args->sends != NULL)
        return false;
    return !reduces(args->collective) ||
           ((op->commutative || !(a->properties & NEEDS_COMMUTATIVE)) &&
            (op->idempotent || !(a->properties & NEEDS_IDEMPOTENT)));
}

/* What is best for short and for long data, and from how many bytes in the longest block. NULL: the
 * same as the other. */
struct preference {
    const char *brief, *lengthy;
    size_t from_bytes;
};

static const struct preference preferences[COLLECTIVES] = {
    [COLL_BCAST] = {"knomial", "scatter-allgather", (size_t)32 << 10},
    [COLL_REDUCE] = {"knomial", "reduce-scatter-gather", (size_t)64 << 10},
    [COLL_GATHER] = {"knomial", "flat", (size_t)2 << 10},
    [COLL_SCATTER] = {"knomial", "flat", (size_t)2 << 10},
    [COLL_ALLGATHER] = {"bruck", "ring", (size_t)4 << 10},
    [COLL_ALLTOALL] = {"direct", NULL, 0},
    [COLL_REDUCE_SCATTER] = {"direct", "ring", (size_t)8 << 10},
    [COLL_SCAN] = {"doubling", NULL, 0},
    [COLL_EXSCAN] = {"doubling", NULL, 0},
};

/* k */
static double fewest_rounds(const struct ncoll_group *g)
{
    double k = 0;

    for (int reached = 1; reached < g->size; reached *= 2)
        k++;
    return k;
}

/* Whether it takes less time to combine slices of 1/P of the vector and to collect them, in k
 * rounds each, than whole vectors in k rounds. Between ranks with a core of their own all of a
 * round goes on at once, and the ring comes early enough; those that share one add up what they
 * send. Where few cores have all ranks, and a change of ranks is dearer than a message, up to one
 * rank and down again takes fewer rounds for as many bytes. */
static bool slices_pay(const struct ncoll_group *g, const struct call_args *args, size_t bytes)
{
    const struct algorithm *tree = ncoll__algorithm_find("tree");
    const struct transport_cost *cost = &g->ctx->transport->cost;
    double crowd = g->ctx->places.ranks_per_core, k = fewest_rounds(g);
    double rounds = k * (ncoll__wait_ns(g->ctx) + cost->message_ns * crowd);
    double vector = (double)bytes * cost->byte_ns * crowd, sent = 2.0 * (g->size - 1) / g->size;
    struct shape shape = ncoll__shape(g, args, (unsigned)g->size - 1, false);

    if (crowd <= 1 || (k - sent) * vector < rounds)
        return false;
    if (cost->message_ns >= SWITCH_NS || g->size - 1 > RADIX_MAX)
        return true;
    return ncoll__estimate_with(g, tree, &shape, bytes) >= 2 * rounds + sent * vector;
}

/* Whether messages on a node are known to be cheaper, and an algorithm that goes by that exists. */
static bool can_go_by_nodes(const struct ncoll_group *g, const struct call_args *args,
                            const char *name)
{
    const struct algorithm *algorithm = ncoll__algorithm_find(name);
    struct shape shape = ncoll__shape(g, args, 1, false);

    return g->ctx->transport->near_cost.latency_ns > 0 && algorithm_exists(algorithm, &shape) &&
           algorithm->footprint(&shape).slots <= g->window->shape.n_slots;
}

/* For vectors that are combined on all ranks. */
static const char *preferred_allreduce(const struct ncoll_group *g, const struct call_args *args,
                                       const struct op *op, size_t bytes, const char **why)
{
    const char *shown = g->size > 1 ? ncoll__shown_allreduce(g, op, bytes) : NULL;

    if (shown != NULL) {
        *why = "ranks read each other's memory";
        return shown;
    }
    if (op->commutative && bytes >= RING_BYTES && g->size > 1) {
        bool by_nodes = can_go_by_nodes(g, args, "multi-leader");
        *why = by_nodes ? "fewest bytes between nodes" : "fewest bytes";
        return by_nodes ? "multi-leader" : "ring";
    }
    if (op->commutative && g->size > 2 && slices_pay(g, args, bytes)) {
        *why = "fewer bytes; ranks share cores";
        return "circulant";
    }
    if (op->commutative && (op->exact || g->ctx->settings.any_order)) {
        *why = op->idempotent ? "fewest rounds; the operation is idempotent"
                              : "fewest rounds for every number of ranks";
        return op->idempotent ? "dissemination" : "two-window";
    }
    *why = "same bits on all ranks";
    return bytes <= GATHER_BYTES / (size_t)g->size ? "gather" : "multiply";
}

const char *ncoll__last_resort(enum collective collective)
{
    if (collective == COLL_REDUCE)
        return "ordered-tree";
    return is_rooted(collective) ? "flat" : "direct";
}

/* A ring takes P - 1 rounds instead of k = ceil(log2 P), but copies blocks once, where Bruck's
 * concatenation keeps those that it sends on. */
static bool ring_pays(const struct ncoll_group *g, size_t bytes)
{
    double crowd = g->ctx->places.ranks_per_core, others = g->size - 1;
    double round = ncoll__wait_ns(g->ctx) + g->ctx->transport->cost.message_ns * crowd;

    return others * (double)bytes * COPY_BYTE_NS * crowd >= (others - fewest_rounds(g)) * round;
}

/*
 * What does with fewer messages than one for each pair, where that takes less time: in k =
 * ceil(log2 P) rounds instead of one. Bruck's index algorithm sends each block about k/2 times, and
 * copies it before.
 */
static const char *in_rounds(const struct ncoll_group *g, enum collective collective, size_t bytes)
{
    const struct transport_cost *cost = &g->ctx->transport->cost;
    double crowd = g->ctx->places.ranks_per_core, others = g->size - 1, k = fewest_rounds(g);
    double message = cost->message_ns * crowd, block = (double)bytes * cost->byte_ns * crowd;
    bool alltoall = collective == COLL_ALLTOALL;

    double sent = alltoall ? k * g->size / 2 : others;
    double direct = ncoll__wait_ns(g->ctx) + others * (message + block);
    double rounds =
        k * (ncoll__wait_ns(g->ctx) + message) + sent * (block + (alltoall ? PACK_NS : 0));
    if (rounds >= direct)
        return "direct";
    return alltoall ? "bruck" : "circulant";
}

const char *ncoll__preferred(const struct ncoll_group *g, const struct call_args *args,
                             const struct op *op, size_t bytes, const char **why)
{
    const struct preference *p = &preferences[args->collective];

    if (args->collective == COLL_BARRIER) {
        *why = "fewest rounds";
        return "dissemination";
    }
    if (args->collective == COLL_ALLREDUCE)
        return preferred_allreduce(g, args, op, bytes, why);
    bool crowded = g->ctx->places.ranks_per_core > 1;
    size_t from_bytes =
        crowded && args->collective == COLL_REDUCE_SCATTER ? CROWDED_RING_BYTES : p->from_bytes;
    bool lengthy = p->lengthy != NULL && bytes >= from_bytes && g->size > 2;
    const char *name = lengthy ? p->lengthy : p->brief;
    if (lengthy && args->collective == COLL_ALLGATHER && !ring_pays(g, bytes))
        name = p->brief;
    *why = lengthy ? "long data" : "short data";
    if (args->collective == COLL_ALLGATHER && strcmp(name, "ring") == 0 &&
        can_go_by_nodes(g, args, "hierarchical-ring")) {
        *why = "fewest bytes between nodes";
        name = "hierarchical-ring";
    }
    const char *shown = g->size > 2 ? ncoll__shown_copies(g, args->collective, bytes) : NULL;
    if (shown != NULL) {
        *why = "ranks read each other's memory";
        return shown;
    }
    bool sliced = args->collective == COLL_BCAST || args->collective == COLL_REDUCE;
    size_t chain_bytes = ncoll__all_show(g, bytes) ? SHOWN_CHAIN_BYTES : CHAIN_BYTES;
    if (lengthy && sliced && crowded)
        name = bytes >= chain_bytes * (size_t)g->size ? "chain" : p->brief;
    if (strcmp(name, "direct") == 0)
        name = in_rounds(g, args->collective, bytes);
    if (ncoll__serves(ncoll__algorithm_find(name), args, op))
        return name;
    *why = "the operation or the counts allow no other";
    return ncoll__last_resort(args->collective);
}
