/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection: which algorithm runs, with which radix. What the user forced comes first; then what
 * the operation needs; then a LogP-like estimate of the radix (rounds * latency + messages *
 * overhead).
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/plan/compile.h"
#include "lib/inspect.h"
#include "lib/internal.h"
#include "lib/api/settings.h"

/* What it costs to hand the core to another rank. */
#define SWITCH_NS 1500.0
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

/* Ranks that share a core wait for each other's messages, and each of them for the core as often as
 * it has to wait for others. */
static double wait_ns(const struct ncoll_context *ctx)
{
    double crowd = ctx->places.ranks_per_core;

    return ctx->transport->cost.latency_ns + (crowd > 1 ? crowd * SWITCH_NS : 0);
}

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
 * send. */
static bool slices_pay(const struct ncoll_group *g, size_t bytes)
{
    const struct transport_cost *cost = &g->ctx->transport->cost;
    double crowd = g->ctx->places.ranks_per_core, k = fewest_rounds(g);
    double rounds = k * (wait_ns(g->ctx) + cost->message_ns * crowd);
    double vectors_less = k - 2.0 * (g->size - 1) / g->size;

    return crowd > 1 && vectors_less * (double)bytes * cost->byte_ns * crowd >= rounds;
}

/* For vectors that are combined on all ranks. */
static const char *preferred_allreduce(const struct ncoll_group *g, const struct op *op,
                                       size_t bytes, const char **why)
{
    if (op->commutative && bytes >= RING_BYTES && g->size > 1) {
        *why = "fewest bytes";
        return "ring";
    }
    if (op->commutative && g->size > 2 && slices_pay(g, bytes)) {
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
    double round = wait_ns(g->ctx) + g->ctx->transport->cost.message_ns * crowd;

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
    double direct = wait_ns(g->ctx) + others * (message + block);
    double rounds = k * (wait_ns(g->ctx) + message) + sent * (block + (alltoall ? PACK_NS : 0));
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
        return preferred_allreduce(g, op, bytes, why);
    bool lengthy = p->lengthy != NULL && bytes >= p->from_bytes && g->size > 2;
    const char *name = lengthy ? p->lengthy : p->brief;
    if (lengthy && args->collective == COLL_ALLGATHER && !ring_pays(g, bytes))
        name = p->brief;
    *why = lengthy ? "long data" : "short data";
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

/* Messages that a rank sends in the round that begins with `reach` ranks reached. */
static double sends(unsigned ranks, unsigned radix, uint64_t reach)
{
    uint64_t wanted = (ranks + reach - 1) / reach - 1;

    return (double)(wanted < radix ? wanted : radix);
}

/* Times of a call over P ranks with radix n. All ranks send in each round. */
static double estimate_dissemination(const struct ncoll_context *ctx, unsigned ranks,
                                     unsigned radix, double message_ns)
{
    double total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1)
        total +=
            wait_ns(ctx) + sends(ranks, radix, reach) * message_ns * ctx->places.ranks_per_core;
    return total;
}

/* Only between the root and the others: what takes longest is its own messages, and in later rounds
 * those of the others on its core. */
static double estimate_rooted(const struct ncoll_context *ctx, unsigned ranks, unsigned radix,
                              double message_ns)
{
    double crowd = ctx->places.ranks_per_core, total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        double senders = (double)reach < crowd ? (double)reach : crowd;
        total += wait_ns(ctx) + sends(ranks, radix, reach) * senders * message_ns;
    }
    return total;
}

/* Up and down again. Most ranks are leaves, which wait once; the root sends to all its children. */
static double estimate_tree(const struct ncoll_context *ctx, unsigned ranks, unsigned radix,
                            double message_ns)
{
    double crowd = ctx->places.ranks_per_core;
    double on_a_core = 2.0 * (ranks - 1) / ranks * crowd, from_root = 0, total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        from_root += sends(ranks, radix, reach);
        total += ctx->transport->cost.latency_ns + wait_ns(ctx);
    }
    return total + (on_a_core > from_root ? on_a_core : from_root) * message_ns;
}

/* The least estimate over all radices that exist; its radix. */
static double pick_radix(const struct ncoll_group *g, const struct algorithm *algorithm,
                         struct shape shape, size_t bytes, unsigned *best)
{
    const struct transport_cost *cost = &g->ctx->transport->cost;
    double message_ns = cost->message_ns + (double)bytes * cost->byte_ns, least = -1;
    double (*estimate)(const struct ncoll_context *, unsigned, unsigned, double) =
        strcmp(algorithm->name, "tree") == 0 ? estimate_tree
        : is_rooted(shape.collective)        ? estimate_rooted
                                             : estimate_dissemination;

    *best = 1;
    for (shape.radix = 1; shape.radix <= RADIX_MAX; shape.radix++) {
        if (!algorithm_exists(algorithm, &shape) ||
            algorithm->footprint(&shape).slots > g->window->shape.n_slots)
            continue;
        double ns = estimate(g->ctx, shape.size, shape.radix, message_ns);
        if (least < 0 || ns < least) {
            least = ns;
            *best = shape.radix;
        }
    }
    return least;
}

/* Radix by estimate; where nobody asked for the algorithm either and ranks share cores, perhaps the
 * tree in its place, which needs the fewest messages. */
static unsigned pick_by_estimate(const struct ncoll_group *g, const struct shape *shape,
                                 size_t bytes, bool asked_for, struct choice *out)
{
    const struct algorithm *tree = ncoll__algorithm_find("tree");
    unsigned radix, tree_radix;

    double ns = pick_radix(g, out->algorithm, *shape, bytes, &radix);
    if (asked_for || g->ctx->places.ranks_per_core <= 1 ||
        pick_radix(g, tree, *shape, bytes, &tree_radix) >= TREE_GAIN * ns)
        return radix;
    out->algorithm = tree;
    out->why = "fewest messages; ranks share cores";
    return tree_radix;
}

/* The tree for an allgather of short blocks, where a message is dearer than a change of ranks. All
 * blocks go down. */
static unsigned pick_for_allgather(const struct ncoll_group *g, const struct shape *shape,
                                   size_t bytes, struct choice *out)
{
    const struct transport_cost *cost = &g->ctx->transport->cost;
    const struct algorithm *tree = ncoll__algorithm_find("tree");
    unsigned radix;

    double ns = estimate_dissemination(g->ctx, shape->size, 1,
                                       cost->message_ns + (double)bytes * cost->byte_ns);
    if (g->ctx->places.ranks_per_core <= 1 || cost->message_ns < SWITCH_NS ||
        pick_radix(g, tree, *shape, bytes * shape->size, &radix) >= ns)
        return 1;
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

static unsigned pick(const struct ncoll_group *g, const struct call_args *args,
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
    if (args->collective == COLL_BARRIER || args->collective == COLL_ALLREDUCE)
        return pick_by_estimate(g, shape, bytes, asked_for, out);
    if (args->collective == COLL_ALLGATHER && !asked_for)
        return pick_for_allgather(g, shape, bytes, out);
    if (strcmp(out->algorithm->name, "knomial") == 0 ||
        strcmp(out->algorithm->name, "doubling") == 0)
        pick_radix(g, out->algorithm, *shape, bytes, &asked);
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
    out->radix = shape.radix = pick(g, args, &shape, longest * element, asked_for, out);
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
