/* SPDX-License-Identifier: BSD-3-Clause */
#include "algos/choice.h"

#include "algos/radix.h"

/* If ranks share a core, a wait for a message also takes the time in which the core is switched
 * between all of them. */
struct pace ncoll__pace(const struct message_cost *cost, size_t bytes, double ranks_per_core)
{
    return (struct pace){
        .latency_ns = cost->latency_ns,
        .message_ns = put_ns(cost, (double)bytes) + line_ns(cost, ranks_per_core),
        .wait_ns = cost->latency_ns + (ranks_per_core > 1 ? ranks_per_core * SWITCH_NS : 0),
        .ranks_per_core = ranks_per_core,
    };
}

double ncoll__wait_ns(const struct situation *s)
{
    return ncoll__pace(&s->any, 0, s->ranks_per_core).wait_ns;
}

/* Returns the number of messages that a rank sends in the round before which `reach` ranks have
 * been reached. */
static double sends(unsigned ranks, unsigned radix, uint64_t reach)
{
    uint64_t wanted = (ranks + reach - 1) / reach - 1;

    return (double)(wanted < radix ? wanted : radix);
}

double ncoll__rounds_ns(struct pace pace, unsigned ranks, unsigned radix)
{
    double total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1)
        total += pace.wait_ns + sends(ranks, radix, reach) * pace.message_ns * pace.ranks_per_core;
    return total;
}

/* The root's core takes longest: the root sends in every round, and in later rounds other ranks on
 * this core send as well. */
double ncoll__rooted_ns(struct pace pace, unsigned ranks, unsigned radix)
{
    double total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        double senders = (double)reach < pace.ranks_per_core ? (double)reach : pace.ranks_per_core;
        total += pace.wait_ns + sends(ranks, radix, reach) * senders * pace.message_ns;
    }
    return total;
}

/* The messages take as long as those of all ranks on a core, 2 (P-1)/P for each rank on average, or
 * as those from the root to its children, if these are more. Most ranks are leaves, and wait
 * once. */
double ncoll__tree_ns(struct pace pace, unsigned ranks, unsigned radix)
{
    double on_a_core = 2.0 * (ranks - 1) / ranks * pace.ranks_per_core, from_root = 0, total = 0;

    for (uint64_t reach = 1; reach < ranks; reach *= radix + 1) {
        from_root += sends(ranks, radix, reach);
        total += pace.latency_ns + pace.wait_ns;
    }
    return total + (on_a_core > from_root ? on_a_core : from_root) * pace.message_ns;
}

double ncoll__direct_ns(const struct shape *g, const struct situation *s)
{
    double block = (double)s->bytes * s->any.byte_ns * s->ranks_per_core, others = g->size - 1.0;

    return ncoll__wait_ns(s) + others * (s->any.message_ns * s->ranks_per_core + block);
}

/* Each block is sent about k/2 times, and copied each time. */
double ncoll__index_ns(const struct shape *g, const struct situation *s)
{
    const struct message_cost *cost = &s->any;
    double block = (double)s->bytes * cost->byte_ns * s->ranks_per_core,
           k = fewest_rounds(g->size, 1);

    return k * (ncoll__wait_ns(s) + cost->message_ns * s->ranks_per_core) +
           k * g->size / 2 * (block + PACK_NS);
}

double ncoll__cost_of_rounds(const struct shape *g, const struct situation *s)
{
    return ncoll__rounds_ns(ncoll__pace(&s->far, s->bytes, s->ranks_per_core), g->size, g->radix);
}

double ncoll__cost_of_rooted(const struct shape *g, const struct situation *s)
{
    return ncoll__rooted_ns(ncoll__pace(&s->far, s->bytes, s->ranks_per_core), g->size, g->radix);
}

bool ncoll__reads_slices(const struct shape *g, const struct situation *s)
{
    size_t slice = s->bytes / g->size;

    return g->size > 2 && s->bytes >= READ_SLICES_BYTES && slice >= READ_SLICE_BYTES &&
           reads_each_other(s, slice);
}

/* Compares a tree to one rank and back with slices. In the tree the root combines P - 1 vectors,
 * and then each rank reads one. With slices each rank copies one vector, combines one and reads
 * one. Ranks on the same core do this one after the other. */
bool ncoll__root_is_quicker(const struct shape *g, const struct situation *s)
{
    return s->bytes < READ_ROOT_BYTES && s->ranks_per_core > 1 &&
           g->size - 1 + s->ranks_per_core < 3 * s->ranks_per_core;
}

size_t ncoll__chain_bytes(const struct shape *g, const struct situation *s)
{
    return (reads_each_other(s, s->bytes) ? READ_CHAIN_BYTES : CHAIN_BYTES) * g->size;
}

/* A ring takes 2 (P-1) rounds instead of 2 k = 2 ceil(log2 P). But it copies and combines the
 * vector once, in pieces that stay in caches. */
bool ncoll__ring_is_short(unsigned ranks, const struct situation *s)
{
    double round = ncoll__wait_ns(s) + s->any.message_ns * s->ranks_per_core;
    double more = 2 * (ranks - 1.0 - fewest_rounds(ranks, 1));

    return ranks <= RING_RANKS ||
           more * round <= (double)s->bytes * COPY_BYTE_NS * s->ranks_per_core;
}

/* A ring takes P - 1 rounds instead of k = ceil(log2 P). But it copies blocks once, whereas Bruck's
 * concatenation also copies those that it sends on. */
bool ncoll__ring_pays(const struct shape *g, const struct situation *s)
{
    double others = g->size - 1.0;
    double round = ncoll__wait_ns(s) + s->any.message_ns * s->ranks_per_core;

    return g->size > 2 && s->bytes >= RING_BYTES &&
           others * (double)s->bytes * COPY_BYTE_NS * s->ranks_per_core >=
               (others - fewest_rounds(g->size, 1)) * round;
}
