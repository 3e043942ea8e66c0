/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/plan/estimate.h"

#include <string.h>

#include "algos/phases.h"
#include "lib/group/levels.h"
#include "lib/internal.h"

/* What takes as long but for rounding is not taken in place of fewer messages at once: else the
 * choice would change to and fro with the size. */
#define ALIKE (1 - 1e-9)

/*
 * What messages between domains of a level cost, in terms of those within one: assumed, not
 * measured. Caches of two packages are a link apart that adds about as much twice over, and has
 * fewer bytes to spare; NUMA nodes of a package and L3 caches of a node are nearer.
 */
static const struct {
    double latency, bytes;
} farther[NODE_LEVELS] = {{3, 2}, {2, 1.5}, {1.5, 1}, {1, 1}};

/* Between any two ranks. */
struct transport_cost ncoll__far_cost(const struct ncoll_group *g)
{
    struct transport_cost cost = g->ctx->transport->cost;

    if (g->level != NO_LEVEL) {
        cost.latency_ns *= farther[g->level].latency;
        cost.byte_ns *= farther[g->level].bytes;
    }
    return cost;
}

/* Between ranks of a node, or of a domain. */
struct transport_cost ncoll__near_cost(const struct ncoll_group *g)
{
    const struct transport *t = g->ctx->transport;

    return t->near_cost.latency_ns > 0 ? t->near_cost : t->cost;
}

/* What calls take between some ranks: of a message with its bytes. */
struct pace {
    double latency_ns, message_ns;
    double wait_ns; /* from a put to the end of the wait for it */
    double crowd;   /* ranks that share a core */
};

/* Ranks that share a core wait for each other's messages, and each of them for the core as often as
 * it has to wait for others. */
static struct pace pace_of(const struct transport_cost *cost, size_t bytes, double crowd)
{
    bool lines = crowd > 1 && cost->latency_ns < SWITCH_NS; /* it is memory */

    return (struct pace){
        .latency_ns = cost->latency_ns,
        .message_ns = cost->message_ns + (double)bytes * cost->byte_ns + (lines ? LINE_NS : 0),
        .wait_ns = cost->latency_ns + (crowd > 1 ? crowd * SWITCH_NS : 0),
        .crowd = crowd,
    };
}

double ncoll__wait_ns(const struct ncoll_context *ctx)
{
    return pace_of(&ctx->transport->cost, 0, ctx->places.ranks_per_core).wait_ns;
}

/* Messages that a rank sends in the round that begins with `reach` ranks reached. */
static double sends(unsigned ranks, unsigned radix, uint64_t reach)
{
    uint64_t wanted = (ranks + reach - 1) / reach - 1;

    return (double)(wanted < radix ? wanted : radix);
}

/* Times of a call over P ranks with radix n. All ranks send in each round. */
static double estimate_dissemination(struct pace pace, unsigned ranks, unsigned radix)
{
    double total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1)
        total += pace.wait_ns + sends(ranks, radix, reach) * pace.message_ns * pace.crowd;
    return total;
}

/* Only between the root and the others: what takes longest is its own messages, and in later rounds
 * those of the others on its core. */
static double estimate_rooted(struct pace pace, unsigned ranks, unsigned radix)
{
    double total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        double senders = (double)reach < pace.crowd ? (double)reach : pace.crowd;
        total += pace.wait_ns + sends(ranks, radix, reach) * senders * pace.message_ns;
    }
    return total;
}

/* Up and down again. Most ranks are leaves, which wait once; the root sends to all its children. */
static double estimate_tree(struct pace pace, unsigned ranks, unsigned radix)
{
    double on_a_core = 2.0 * (ranks - 1) / ranks * pace.crowd, from_root = 0, total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        from_root += sends(ranks, radix, reach);
        total += pace.latency_ns + pace.wait_ns;
    }
    return total + (on_a_core > from_root ? on_a_core : from_root) * pace.message_ns;
}

/* Along trees on the nodes, of which the largest takes the longest; and across nodes, between ranks
 * that have their cores to themselves, once they have them. */
static double estimate_hierarchical(const struct ncoll_group *g, const struct shape *shape,
                                    size_t bytes)
{
    const struct transport_cost near_by = ncoll__near_cost(g), afar = ncoll__far_cost(g);
    const struct nodes *nodes = shape->nodes;
    bool rooted = is_rooted(shape->collective), crowded = g->ctx->places.ranks_per_core > 1;
    struct pace near = pace_of(&near_by, bytes, g->ctx->places.ranks_per_core),
                far = pace_of(&afar, bytes, 1);

    far.wait_ns += crowded ? SWITCH_NS : 0;
    return (rooted ? 1 : 2) * estimate_rooted(near, nodes->most, NODE_RADIX) +
           (rooted ? estimate_rooted : estimate_dissemination)(far, nodes->count, shape->radix);
}

/* Where all ranks of a node see what its ranks bring and what comes from others: each sends once on
 * the node, to be combined by all, and looks at what comes from afar, at the price of a look. */
static double estimate_shared(const struct ncoll_group *g, const struct shape *shape, size_t bytes)
{
    const struct transport_cost near_by = ncoll__near_cost(g), afar = ncoll__far_cost(g);
    const struct nodes *nodes = shape->nodes;
    struct pace near = pace_of(&near_by, bytes, g->ctx->places.ranks_per_core),
                far = pace_of(&afar, bytes, 1);

    far.wait_ns += near.crowd > 1 ? SWITCH_NS : 0;
    return near.wait_ns + (nodes->most - 1) * near.message_ns * near.crowd +
           estimate_dissemination(far, nodes->count, shape->radix) + near.latency_ns;
}

/* ------------------------------------------------------------------ allgathers ---------------- */

/* Of all blocks, the longest of which has so many. */
static double bytes_of_all(const struct shape *shape, size_t longest_bytes)
{
    size_t longest = longest_block(shape), all = 0;

    if (shape->counts == NULL || longest == 0)
        return (double)longest_bytes * shape->size;
    for (unsigned q = 0; q < shape->size; q++)
        all += shape->counts[q];
    return (double)longest_bytes * ((double)all / (double)longest);
}

/*
 * Blocks of a node that go to others as one, in one lane or in several at once, and are seen by all
 * its ranks. A lane takes its share together, which with blocks of one length is a rank's own where
 * there are several. Each look at another lane is one more message that comes to the node; what
 * crosses shares the link, whoever sends it. What is seen does not land in OUT, but is copied.
 */
static double estimate_packed(const struct ncoll_group *g, const struct shape *shape, double bytes,
                              bool balanced)
{
    const struct transport_cost near_by = ncoll__near_cost(g), afar = ncoll__far_cost(g);
    const struct nodes *nodes = shape->nodes;
    double crowd = g->ctx->places.ranks_per_core, of_node = bytes / nodes->count;
    unsigned fewest = nodes->fewest < NEIGHBOURS_MAX ? nodes->fewest : NEIGHBOURS_MAX;
    unsigned lanes = balanced ? fewest : 1;
    struct pace near = pace_of(&near_by, (size_t)(bytes / shape->size), crowd),
                far = pace_of(&afar, 0, crowd < lanes ? crowd : lanes);

    far.crowd = far.crowd > 1 ? far.crowd : 1;
    far.wait_ns = far.latency_ns + (crowd > 1 ? SWITCH_NS : 0);
    return near.wait_ns + (nodes->most - 1) * near.message_ns * near.crowd +
           (lanes > 1 ? 0 : of_node * COPY_BYTE_NS) +
           estimate_dissemination(far, nodes->count, shape->radix) +
           (nodes->count - 1) * of_node * afar.byte_ns + lanes * near.latency_ns +
           bytes * COPY_BYTE_NS * near.crowd;
}

/* In rounds among all ranks each sends all blocks but one, whatever the radix; down a tree all of
 * them go to each. */
static double estimate_allgather(const struct ncoll_group *g, const struct algorithm *algorithm,
                                 const struct shape *shape, double bytes)
{
    const struct transport_cost afar = ncoll__far_cost(g);
    double crowd = g->ctx->places.ranks_per_core;

    if (algorithm->properties & SHARES)
        return estimate_packed(g, shape, bytes,
                               strcmp(algorithm->name, "hierarchical-balanced") == 0);
    if (strcmp(algorithm->name, "tree") == 0)
        return estimate_tree(pace_of(&afar, (size_t)bytes, crowd), shape->size, shape->radix);
    return estimate_dissemination(pace_of(&afar, 0, crowd), shape->size, shape->radix) +
           bytes * (shape->size - 1) / shape->size * afar.byte_ns * crowd;
}

double ncoll__estimate_with(const struct ncoll_group *g, const struct algorithm *algorithm,
                            const struct shape *shape, size_t bytes)
{
    const struct ncoll_context *ctx = g->ctx;
    const struct transport_cost afar = ncoll__far_cost(g);
    struct pace pace = pace_of(&afar, bytes, ctx->places.ranks_per_core);

    if (shape->collective == COLL_ALLGATHER)
        return estimate_allgather(g, algorithm, shape, bytes_of_all(shape, bytes));
    if (algorithm->properties & SHARES)
        return estimate_shared(g, shape, bytes);
    if (strncmp(algorithm->name, "hierarchical", strlen("hierarchical")) == 0)
        return estimate_hierarchical(g, shape, bytes);
    if (strcmp(algorithm->name, "tree") == 0)
        return estimate_tree(pace, shape->size, shape->radix);
    return (is_rooted(shape->collective) ? estimate_rooted
                                         : estimate_dissemination)(pace, shape->size, shape->radix);
}

double ncoll__estimate(const struct ncoll_group *g, const struct algorithm *algorithm,
                       struct shape shape, size_t bytes, unsigned *best)
{
    double least = -1;

    *best = 1;
    for (shape.radix = 1; shape.radix <= RADIX_MAX; shape.radix++) {
        if (!algorithm_exists(algorithm, &shape) ||
            algorithm->footprint(&shape).slots > g->window->shape.n_slots)
            continue;
        double ns = ncoll__estimate_with(g, algorithm, &shape, bytes);
        if (least < 0 || ns < ALIKE * least) {
            least = ns;
            *best = shape.radix;
        }
    }
    return least;
}
