/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection: which algorithm runs, with which radix. What the user forced comes first; then what
 * the operation needs; then a LogP-like estimate of the radix (rounds * latency + messages *
 * overhead).
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/group/levels.h"
#include "lib/plan/compile.h"
#include "lib/plan/estimate.h"
#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/api/settings.h"

/* A tree is taken only if it promises this much: its critical path depends on how ranks that share
 * a core happen to follow each other. */
#define TREE_GAIN 0.8
/* What it costs to copy a short block, and each byte of a long one. */
#define PACK_NS      10.0
#define COPY_BYTE_NS 0.1
/* Slices spread the sending of a broadcast, or the combining of a reduction, over all ranks, which
 * gains nothing where they share cores; with so much for each rank a chain of them has something to
 * do for all. */
#define CHAIN_BYTES ((size_t)64 << 10)
/* gather sends every rank's vector to everybody: only while that is little. */
#define GATHER_BYTES ((size_t)32 << 10)
/* From here on a ring, which moves the fewest bytes. */
#define RING_BYTES ((size_t)256 << 10)
/* Between two ranks that read each other's memory from here on. */
#define SHOWN_RING_BYTES ((size_t)32 << 10)
/* Slices that all ranks combine and read, from so long vectors on, and so long slices. */
#define SHOWN_BYTES       ((size_t)64 << 10)
#define SHOWN_SLICE_BYTES ((size_t)8 << 10)

int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out)
{
    if (op >= OP_USER && op - OP_USER < ctx->ops.count) {
        const ncoll_op_def *def = &ctx->ops.defs[op - OP_USER];
        bool commutative = def->flags & NCOLL_OP_COMMUTATIVE;
        *out = (struct op){
            .combine = def->combine,
            .inverse = commutative ? def->inverse : NULL,
            .arg = def->arg,
            .commutative = commutative,
            .idempotent = def->flags & NCOLL_OP_IDEMPOTENT,
            .exact = !ncoll__type_is_float(type),
        };
        return NCOLL_OK;
    }
    if (ncoll__op_builtin(op, type, out))
        return NCOLL_OK;
    if (ncoll__op_known(op))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, ncoll__type_advice(type),
                           "operation %s is not defined for %s", ncoll__op_name(op),
                           ncoll__type_name(type));
    return ncoll__fail(
        ctx, NCOLL_ERR_ARGUMENT, -1,
        "use one of NCOLL_SUM..NCOLL_SUM_REPRODUCIBLE or what ncoll_op_create() gave",
        "operation %u is unknown", op);
}

/* ------------------------------------------------------------------ algorithm ----------------- */

/* Whether the algorithm computes the right thing for this operation. */
static bool serves(const struct algorithm *a, const struct call_args *args, const struct op *op)
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

/* Whether all ranks of the group read messages of so many bytes at each other. */
static bool all_show(const struct ncoll_group *g, size_t bytes)
{
    bool all = bytes > SLOT_PAYLOAD && bytes >= g->ctx->settings.show_bytes &&
               (g->nodes.count == 1 || g->level != NO_LEVEL);

    for (int q = 0; q < g->size && all; q++)
        all = q == g->rank || ncoll__may_show(g, (unsigned)q);
    return all;
}

/* Long vectors of ranks that read each other's memory. Two exchange halves, and each puts its
 * result into the other's OUT; of more each gives its result to all at once, in two rounds instead
 * of 2 (P - 1). NULL: not here. */
static const char *shown_allreduce(const struct ncoll_group *g, const struct op *op, size_t bytes)
{
    size_t slice = bytes / (size_t)g->size;

    if (g->size == 2)
        return op->commutative && bytes >= SHOWN_RING_BYTES && all_show(g, slice) ? "ring" : NULL;
    return bytes >= SHOWN_BYTES && slice >= SHOWN_SLICE_BYTES && all_show(g, slice) &&
                   2 * (unsigned)g->size <= g->window->shape.n_slots
               ? "direct-slices"
               : NULL;
}

/* What is the same for all of them is copied once, and read by all at once. NULL: not here. */
static const char *shown_copies(const struct ncoll_group *g, enum collective collective,
                                size_t bytes)
{
    if (collective == COLL_ALLGATHER)
        return all_show(g, bytes) && (unsigned)g->size <= g->window->shape.n_slots ? "direct"
                                                                                   : NULL;
    return collective == COLL_BCAST && bytes >= SHOWN_BYTES && all_show(g, bytes) ? "flat" : NULL;
}

/* For vectors that are combined on all ranks. */
static const char *preferred_allreduce(const struct ncoll_group *g, const struct call_args *args,
                                       const struct op *op, size_t bytes, const char **why)
{
    const char *shown = g->size > 1 ? shown_allreduce(g, op, bytes) : NULL;

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

/* Serves any operation and any counts. */
static const char *last_resort(enum collective collective)
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

static const char *preferred(const struct ncoll_group *g, const struct call_args *args,
                             const struct op *op, size_t bytes, const char **why)
{
    const struct preference *p = &preferences[args->collective];

    if (args->collective == COLL_BARRIER) {
        *why = "fewest rounds";
        return "dissemination";
    }
    if (args->collective == COLL_ALLREDUCE)
        return preferred_allreduce(g, args, op, bytes, why);
    bool lengthy = p->lengthy != NULL && bytes >= p->from_bytes && g->size > 2;
    const char *name = lengthy ? p->lengthy : p->brief;
    if (lengthy && args->collective == COLL_ALLGATHER && !ring_pays(g, bytes))
        name = p->brief;
    *why = lengthy ? "long data" : "short data";
    if (args->collective == COLL_ALLGATHER && strcmp(name, "ring") == 0 &&
        can_go_by_nodes(g, args, "hierarchical-ring")) {
        *why = "fewest bytes between nodes";
        name = "hierarchical-ring";
    }
    const char *shown = g->size > 2 ? shown_copies(g, args->collective, bytes) : NULL;
    if (shown != NULL) {
        *why = "ranks read each other's memory";
        return shown;
    }
    bool sliced = args->collective == COLL_BCAST || args->collective == COLL_REDUCE;
    if (lengthy && sliced && g->ctx->places.ranks_per_core > 1)
        name = bytes >= CHAIN_BYTES * (size_t)g->size ? "chain" : p->brief;
    if (strcmp(name, "direct") == 0)
        name = in_rounds(g, args->collective, bytes);
    if (serves(ncoll__algorithm_find(name), args, op))
        return name;
    *why = "the operation or the counts allow no other";
    return last_resort(args->collective);
}

static int pick_algorithm(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                          size_t bytes, struct choice *out, bool *asked_for)
{
    const char *asked = *ncoll__algorithm_setting(&g->ctx->settings, args->collective);

    out->algorithm = args->algorithm;
    out->why = "asked for";
    if (!args->internal) {
        out->algorithm = g->forced[args->collective].algorithm;
        if (out->algorithm == NULL && asked != NULL)
            out->algorithm = ncoll__algorithm_find(asked); /* known: checked at creation */
    }
    *asked_for = out->algorithm != NULL;
    if (!*asked_for)
        out->algorithm = ncoll__algorithm_find(preferred(g, args, op, bytes, &out->why));
    if (serves(out->algorithm, args, op))
        return NCOLL_OK;
    return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                       "leave the choice to ncoll, or see `ncoll-explain list`",
                       "algorithm %s does not serve this %s (operation or counts)",
                       out->algorithm->name, ncoll__collective_name(args->collective));
}

/* ------------------------------------------------------------------ radix --------------------- */

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

/* Radix by estimate; where nobody asked for the algorithm either, perhaps another in its place: the
 * tree where ranks share cores, which needs the fewest messages, or what goes by nodes. */
static unsigned pick_by_estimate(const struct ncoll_group *g, const struct call_args *args,
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
    if (!asked_for && serves(ncoll__algorithm_find(by_nodes.name), args, op))
        consider(g, shape, bytes, &by_nodes, &ns, out);
    if (!asked_for && serves(ncoll__algorithm_find(shared.name), args, op))
        consider(g, shape, bytes, &shared, &ns, out);
    return out->radix;
}

/* Where ranks share cores, rounds are what is dear; the bytes are the same with every n. Or the
 * tree for short blocks, where a message is dearer than a change of ranks: all blocks go down. */
static unsigned pick_for_allgather(const struct ncoll_group *g, const struct shape *shape,
                                   size_t bytes, struct choice *out)
{
    const struct transport_cost *cost = &g->ctx->transport->cost;
    const struct algorithm *tree = ncoll__algorithm_find("tree");
    unsigned fewest, radix;

    if (g->ctx->places.ranks_per_core <= 1)
        return 1;
    ncoll__estimate(g, out->algorithm, *shape, 0, &fewest);
    double ns = ncoll__estimate_with(g, out->algorithm, shape, bytes); /* n = 1 */
    if (cost->message_ns < SWITCH_NS ||
        ncoll__estimate(g, tree, *shape, bytes * shape->size, &radix) >= ns)
        return fewest;
    out->algorithm = tree;
    out->why = "fewest messages; ranks share cores";
    return radix;
}

/* A list from the settings is for all calls: algorithms that take one number go by its first. */
static unsigned setting_for(const struct ncoll_context *ctx, const struct algorithm *algorithm)
{
    unsigned radix = ctx->settings.radix > 0 ? (unsigned)ctx->settings.radix : 0;

    return algorithm->properties & TAKES_LIST ? radix : radix_of_round(radix, 1);
}

static unsigned pick(const struct ncoll_group *g, const struct call_args *args, const struct op *op,
                     const struct shape *shape, size_t bytes, bool asked_for, struct choice *out)
{
    unsigned asked = args->internal ? 1 : g->forced[args->collective].radix;

    if (args->radix != 0)
        return args->radix;
    if (asked == 0)
        asked = setting_for(g->ctx, out->algorithm);
    if (asked == 0 && ncoll__trial_is_for(args))
        asked = g->tried[args->collective];
    if (asked != 0)
        return asked;
    if (!(out->algorithm->properties & USES_RADIX))
        return 1;
    if (args->collective == COLL_BARRIER || args->collective == COLL_ALLREDUCE ||
        strcmp(out->algorithm->name, "knomial") == 0)
        return pick_by_estimate(g, args, op, shape, bytes, asked_for, out);
    if (args->collective == COLL_ALLGATHER && !asked_for)
        return pick_for_allgather(g, shape, bytes, out);
    if (strcmp(out->algorithm->name, "doubling") == 0)
        ncoll__estimate(g, out->algorithm, *shape, bytes, &asked);
    return asked != 0 ? asked : 1;
}

static size_t longest_of(const struct ncoll_group *g, const struct call_args *args)
{
    size_t longest = args->counts == NULL ? args->count : 0;

    for (int q = 0; args->counts != NULL && q < g->size; q++)
        longest = args->counts[q] > longest ? args->counts[q] : longest;
    return longest;
}

int ncoll__select(struct ncoll_group *g, const struct call_args *args, const struct op *op,
                  size_t longest, struct choice *out)
{
    size_t element = ncoll__element_bytes(g->ctx, args);
    char radix[RADIX_TEXT];
    bool asked_for;

    if (longest == 0)
        longest = longest_of(g, args);
    int rc = pick_algorithm(g, args, op, longest * element, out, &asked_for);
    if (rc != NCOLL_OK)
        return rc;
    struct shape shape = ncoll__shape(g, args, 1, op->inverse != NULL);
    out->radix = shape.radix = pick(g, args, op, &shape, longest * element, asked_for, out);
    if (!(out->algorithm->properties & USES_RADIX))
        out->radix = shape.radix = radix_of_round(shape.radix, 1);
    if (radix_is_list(shape.radix) && !(out->algorithm->properties & TAKES_LIST))
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           "give one number; `ncoll-explain list` says which take a list",
                           "algorithm %s takes one radix, not the list %s", out->algorithm->name,
                           ncoll__radix_text(shape.radix, radix));
    if (!algorithm_exists(out->algorithm, &shape))
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           "choose another radix or algorithm, or leave the choice to ncoll",
                           "algorithm %s does not exist for %d ranks with n = %s",
                           out->algorithm->name, g->size, ncoll__radix_text(shape.radix, radix));
    out->segment = ncoll__plan_segment(g, out->algorithm, &shape, element, longest);
    if (out->segment == 0)
        return ncoll__fail(g->ctx, NCOLL_ERR_UNSUPPORTED, -1,
                           g == g->ctx->world
                               ? "raise NCOLL_WINDOW, or choose another algorithm"
                               : "raise NCOLL_GROUP_WINDOW, or choose another algorithm",
                           "the window of %zu bytes is too small for algorithm %s with %d ranks",
                           EPOCHS * g->window->shape.bulk_bytes, out->algorithm->name, g->size);
    out->segments = longest == 0 ? 1 : (longest + out->segment - 1) / out->segment;
    if (out->segments > 1 && args->collective == COLL_ALLTOALL &&
        (out->algorithm->properties & REGULAR_ONLY)) {
        out->algorithm = ncoll__algorithm_find(last_resort(args->collective));
        out->why = "too long for one piece";
        out->radix = shape.radix = radix_of_round(shape.radix, 1);
        out->segment = ncoll__plan_segment(g, out->algorithm, &shape, element, longest);
        out->segments = (longest + out->segment - 1) / out->segment;
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ for the tools ------------- */

int ncoll__choose(ncoll_group *g, enum collective collective, size_t count, ncoll_type type,
                  ncoll_op op, struct choice *out)
{
    struct call_args args = {.collective = collective, .count = count, .type = type, .op = op};
    struct op resolved = {0};

    if (collective == COLL_BARRIER)
        args.count = 0;
    if (reduces(collective)) {
        int rc = ncoll__op_resolve(g->ctx, op, type, &resolved);
        if (rc != NCOLL_OK)
            return rc;
    }
    return ncoll__select(g, &args, &resolved, 0, out);
}

int ncoll__choose_with_counts(ncoll_group *g, enum collective collective, const size_t *counts,
                              ncoll_type type, struct choice *out)
{
    struct call_args args = {.collective = collective, .counts = counts, .type = type};

    return ncoll__select(g, &args, &(struct op){0}, 0, out);
}

const struct nodes *ncoll__group_nodes(const ncoll_group *g)
{
    return g->nodes.count > 1 ? &g->nodes : NULL;
}

int ncoll__group_force(ncoll_group *g, enum collective collective, const char *algorithm,
                       unsigned radix)
{
    const struct algorithm *found = algorithm != NULL ? ncoll__algorithm_find(algorithm) : NULL;

    char text[RADIX_TEXT];

    if ((algorithm != NULL && found == NULL) || (radix != 0 && !ncoll__radix_is_valid(radix)))
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "see `ncoll-explain list` for algorithms; the radix is 1 to 16",
                           "no algorithm %s with n = %s", algorithm ? algorithm : "(chosen)",
                           ncoll__radix_text(radix, text));
    if (g->first != NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1, "finish it first",
                           "a collective is unfinished on this group");
    g->forced[collective].algorithm = found;
    g->forced[collective].radix = radix;
    ncoll__plans_free(g);
    return NCOLL_OK;
}
