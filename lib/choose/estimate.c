/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/choose/estimate.h"

#include "lib/base/group.h"
#include "lib/choose/select.h"
#include "lib/plan/arguments.h"
#include "lib/topology/levels.h"

/* A larger radix replaces a smaller one only if its estimate is below this factor times that of the
 * smaller one. Otherwise rounding would make the choice change back and forth with the size. */
#define ALIKE (1 - 1e-9)

/* Indexed by level: the latency of a message between domains of the level, and its cost per byte,
 * as factors to those within a domain. They are assumed, not measured. A link between the caches of
 * two packages has about three times the latency, and less bandwidth; NUMA nodes of a package and
 * L3 caches of a node are nearer. */
static const struct {
    double latency, bytes;
} farther[NODE_LEVELS] = {{3, 2}, {2, 1.5}, {1.5, 1}, {1, 1}};

static struct message_cost message_cost(const struct transport_cost *cost)
{
    return (struct message_cost){cost->latency_ns, cost->message_ns, cost->byte_ns};
}

struct message_cost ncoll__far_cost(const struct ncoll_group *g)
{
    struct message_cost cost = message_cost(&g->ctx->transport->cost);

    if (g->level != NO_LEVEL) {
        cost.latency_ns *= farther[g->level].latency;
        cost.byte_ns *= farther[g->level].bytes;
    }
    return cost;
}

struct message_cost ncoll__near_cost(const struct ncoll_group *g)
{
    const struct transport *t = g->ctx->transport;

    return message_cost(t->near_cost.latency_ns > 0 ? &t->near_cost : &t->cost);
}

/* Returns the bytes of all blocks together. longest_bytes: bytes of the longest block. */
static double bytes_of_all(const struct ncoll_group *g, const struct call_args *args,
                           size_t longest_bytes)
{
    size_t longest = 0, all = 0;

    for (int q = 0; args->counts != NULL && q < g->size; q++) {
        longest = args->counts[q] > longest ? args->counts[q] : longest;
        all += args->counts[q];
    }
    return (double)longest_bytes * (longest > 0 ? (double)all / (double)longest : g->size);
}

struct situation ncoll__situation(const struct ncoll_group *g, const struct call_args *args,
                                  const struct op *op, size_t longest)
{
    const struct transport *t = g->ctx->transport;
    size_t bytes = longest * ncoll__element_bytes(g->ctx, args);

    return (struct situation){
        .any = message_cost(&t->cost),
        .far = ncoll__far_cost(g),
        .near = ncoll__near_cost(g),
        .near_is_known = t->near_cost.latency_ns > 0,
        .ranks_per_core = g->ctx->places.ranks_per_core,
        .bytes = bytes,
        .bytes_of_all = bytes_of_all(g, args, bytes),
        .read_from = ncoll__read_from(g),
        .commutative = op->commutative,
        .idempotent = op->idempotent,
        .any_bits = op->exact || g->ctx->settings.any_order,
    };
}

/* Returns the number of base peers that a rank has at most: those at the distances 1, 2, 4, .. to
 * both sides. */
static unsigned base_peers(const struct ncoll_group *g)
{
    unsigned k = 0;

    while ((uint64_t)1 << k < (unsigned)g->size)
        k++;
    return 2 * k;
}

bool ncoll__within_peers(const struct ncoll_group *g, const struct algorithm *algorithm,
                         const struct shape *shape)
{
    const struct ncoll_context *ctx = g->ctx;
    unsigned most = ctx->settings.peers > 0 ? (unsigned)ctx->settings.peers : ctx->peers_most;
    unsigned base = base_peers(g);

    return most == 0 || ncoll__algorithm_peers(algorithm, shape) <= (most > base ? most : base);
}

double ncoll__estimate(const struct ncoll_group *g, const struct algorithm *algorithm,
                       struct shape shape, const struct situation *situation, unsigned *best)
{
    unsigned most = algorithm->properties & USES_RADIX ? RADIX_MAX : 1;
    double least = -1;

    *best = 1;
    shape.counts = shape.sends = NULL; /* estimates do not depend on counts of blocks */
    for (shape.radix = 1; shape.radix <= most && algorithm->cost != NULL; shape.radix++) {
        if (!algorithm_exists(algorithm, &shape) || ncoll__is_refused(g, algorithm, shape.radix) ||
            !ncoll__within_peers(g, algorithm, &shape) ||
            algorithm->footprint(&shape).slots > g->window->shape.n_slots)
            continue;
        double ns = algorithm->cost(&shape, situation);
        if (ns >= 0 && (least < 0 || ns < ALIKE * least)) {
            least = ns;
            *best = shape.radix;
        }
    }
    return least;
}
