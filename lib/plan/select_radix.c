/* SPDX-License-Identifier: BSD-3-Clause */
/* Choices by estimate: the radix, and perhaps another algorithm that promises to take less. */
#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/plan/estimate.h"
#include "lib/plan/select.h"

/* A tree is taken only if it promises this much: its critical path depends on how ranks that share
 * a core happen to follow each other. */
#define TREE_GAIN 0.8
/* Blocks that come together at the root go down as one message, which takes some copying less. */
#define TREE_OF_BLOCKS_GAIN 0.9

/* What may be taken in place of an algorithm that nobody asked for. */
struct candidate {
    const char *name;
    double gain; /* it has to promise to take less than so much of the time */
    const char *why;
};

static void consider(const struct ncoll_group *g, const struct shape *shape, size_t bytes,
                     const struct candidate *candidate, double *ns, struct choice *out)
{
    const struct algorithm *algorithm = ncoll__algorithm_find(candidate->name);
    unsigned radix;
    double own_ns = ncoll__estimate(g, algorithm, *shape, bytes, &radix);

    if (own_ns < 0 || own_ns >= candidate->gain * *ns)
        return;
    *ns = own_ns;
    out->algorithm = algorithm;
    out->radix = radix;
    out->why = candidate->why;
}

unsigned ncoll__pick_by_estimate(const struct ncoll_group *g, const struct call_args *args,
                                 const struct op *op, const struct shape *shape, size_t bytes,
                                 bool asked_for, struct choice *out)
{
    static const struct candidate tree = {"tree", TREE_GAIN, "fewest messages; ranks share cores"};
    bool rooted = is_rooted(args->collective), crowded = g->ctx->places.ranks_per_core > 1;
    bool ordered = reduces(args->collective) && !op->commutative;
    struct candidate by_nodes = {.name = rooted    ? "hierarchical-tree"
                                         : ordered ? "hierarchical-ordered"
                                                   : "hierarchical",
                                 .gain = 1,
                                 .why = "fewest messages between nodes"};
    struct candidate shared = {.name =
                                   ordered ? "hierarchical-shared-ordered" : "hierarchical-shared",
                               .gain = 1,
                               .why = "fewest messages between nodes, seen by all ranks of a node"};
    double ns = ncoll__estimate(g, out->algorithm, *shape, bytes, &out->radix);

    if (!asked_for && crowded && !rooted)
        consider(g, shape, bytes, &tree, &ns, out);
    if (!asked_for && ncoll__serves(ncoll__algorithm_find(by_nodes.name), args, op))
        consider(g, shape, bytes, &by_nodes, &ns, out);
    if (!asked_for && ncoll__serves(ncoll__algorithm_find(shared.name), args, op))
        consider(g, shape, bytes, &shared, &ns, out);
    return out->radix;
}

unsigned ncoll__pick_for_allgather(const struct ncoll_group *g, const struct shape *shape,
                                   size_t bytes, struct choice *out)
{
    static const struct candidate packed = {"hierarchical-packed", 1,
                                            "fewest messages between nodes, seen by all ranks of a "
                                            "node"},
                                  balanced = {"hierarchical-balanced", 1,
                                              "fewest bytes between nodes, seen by all ranks of a "
                                              "node"};
    const struct transport *t = g->ctx->transport;
    bool crowded = g->ctx->places.ranks_per_core > 1;
    struct candidate tree = {"tree", t->cost.message_ns >= SWITCH_NS ? 1 : TREE_OF_BLOCKS_GAIN,
                             "fewest messages; ranks share cores"};
    struct shape own = *shape;

    out->radix = 1;
    if (crowded)
        ncoll__estimate(g, out->algorithm, *shape, 0, &out->radix);
    own.radix = out->radix;
    double ns = ncoll__estimate_with(g, out->algorithm, &own, bytes);
    if (crowded)
        consider(g, shape, bytes, &tree, &ns, out);
    if (t->near_cost.latency_ns > 0) {
        consider(g, shape, bytes, &packed, &ns, out);
        consider(g, shape, bytes, &balanced, &ns, out);
    }
    return out->radix;
}
