/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/plan/estimate.h"

#include <string.h>

#include "lib/internal.h"

/* What it costs to hand the core to another rank. */
#define SWITCH_NS 1500.0

/* Ranks that share a core wait for each other's messages, and each of them for the core as often as
 * it has to wait for others. */
double ncoll__wait_ns(const struct ncoll_context *ctx)
{
    double crowd = ctx->places.ranks_per_core;

    return ctx->transport->cost.latency_ns + (crowd > 1 ? crowd * SWITCH_NS : 0);
}

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
        total += ncoll__wait_ns(ctx) +
                 sends(ranks, radix, reach) * message_ns * ctx->places.ranks_per_core;
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
        total += ncoll__wait_ns(ctx) + sends(ranks, radix, reach) * senders * message_ns;
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
        total += ctx->transport->cost.latency_ns + ncoll__wait_ns(ctx);
    }
    return total + (on_a_core > from_root ? on_a_core : from_root) * message_ns;
}

double ncoll__estimate(const struct ncoll_group *g, const struct algorithm *algorithm,
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
