/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an algorithm is chosen if no user asks for one. Each algorithm declares how well it suits a
 * call (fit), and estimates the time of the call (cost). Selection (lib/choose/select.c) depends on
 * no particular algorithm. Of the algorithms that exist and fit the window it takes the one with
 * the best fit, with the radix of the lowest cost. Then it considers algorithms that offer to
 * replace that one if their cost is lower.
 *
 * Both are pure functions of the shape and of the situation, which is the same on all ranks.
 *
 * Costs are those of LogGP (A. Alexandrov, M. Ionescu, K. Schauser, C. Scheiman: LogGP, JPDC 44(1),
 * 1997): a message occupies its sender for o + G bytes, and arrives L later. Ranks that share a
 * core take turns, and a switch between them takes SWITCH_NS.
 */
#ifndef NCOLL_ALGOS_CHOICE_H
#define NCOLL_ALGOS_CHOICE_H

#include "algos/measured.h"
#include "algos/schedule.h"

struct message_cost {
    double latency_ns, message_ns, byte_ns; /* L, o, G */
};

/* Prices of steps. Both estimates are made of them: the cost that an algorithm states, and the time
 * that its schedule takes on all ranks, step by step (lib/choose/predict.c). */

/* Time for which a message that carries the bytes occupies its sender. */
static inline double put_ns(const struct message_cost *m, double bytes)
{
    return m->message_ns + bytes * m->byte_ns;
}

/* Time for which a message occupies its sender if the receiver reads it in the sender's memory. The
 * sender copies only bytes_copied. */
static inline double peer_read_put_ns(const struct message_cost *m, double bytes_copied)
{
    return m->message_ns + bytes_copied * LOCAL_BYTE_NS;
}

/* Additional time for a message that is a store in shared memory. */
static inline double line_ns(const struct message_cost *m, double ranks_per_core)
{
    return ranks_per_core > 1 && m->latency_ns < SWITCH_NS ? LINE_NS : 0;
}

/* Time of a step that copies or combines the rank's own bytes, and bytes in other ranks' memory. */
static inline double local_ns(double own_bytes, double away_bytes, const struct message_cost *near)
{
    return LOCAL_STEP_NS + own_bytes * LOCAL_BYTE_NS + away_bytes * near->byte_ns;
}

/* The facts by which algorithms are chosen, in addition to the shape. */
struct situation {
    struct message_cost any;       /* between any two ranks */
    struct message_cost far, near; /* between nodes or domains, and within one */
    bool near_is_known;            /* the transport knows the cost of messages within a node */
    double ranks_per_core;         /* number of ranks that share a core; 1: each has its own */
    size_t bytes;                  /* of the vector or the longest block */
    double bytes_of_all;           /* of all blocks together */
    /* ranks read messages from this length on in each other's memory; SIZE_MAX: none */
    size_t read_from;
    bool commutative, idempotent; /* properties of the operation */
    /* the bits of results may differ between ranks: rounding cannot differ, or the user allows
     * it */
    bool any_bits;
};

/* How well an algorithm suits a call. */
struct fit {
    /* The algorithm with the highest strength is taken; of equal ones the first in the registry. 0:
     * it is not chosen. */
    unsigned strength;
    /* The algorithm replaces the one with the best fit if its cost is less than this factor times
     * the cost of that one; 0: never. An algorithm without a cost is not replaced. */
    double gain;
    const char *why; /* the reason in words */
};

/* Values of fit.strength. */
enum {
    FIT_NONE = 0,
    FIT_FEW_SLOTS = 5, /* for numbers of ranks where no better algorithm exists */
    FIT_ANYTHING = 10, /* it serves calls that no other algorithm serves */
    FIT_SHORT = 20,
    FIT_LONG = 30,
    FIT_LONGEST = 40,
    FIT_NODES = 50,
    FIT_READ = 60, /* ranks read each other's memory */
};

/* ------------------------------------------------------------------ peers.c ------------------ */

/* Returns the peers that a rank has at most: those that the algorithm states, P - 1 at
 * most. */
unsigned ncoll__algorithm_peers(const struct algorithm *a, const struct shape *g);
/* Values of struct algorithm.peers: all other ranks, two, twice those of n-way rounds, and those of
 * an algorithm that goes by nodes: all ranks of the node, and n-way rounds across nodes. */
unsigned ncoll__peers_all(const struct shape *g);
unsigned ncoll__peers_two(const struct shape *g);
unsigned ncoll__peers_twice(const struct shape *g);
unsigned ncoll__peers_by_nodes(const struct shape *g);

/* ------------------------------------------------------------------ cost.c ------------------- */

/* Returns the time from a put to the end of the wait for it. */
double ncoll__wait_ns(const struct situation *s);

/* The times of messages between some of the ranks; each time includes that of the bytes. */
struct pace {
    double latency_ns, message_ns;
    double wait_ns;        /* from a put to the end of the wait for it */
    double ranks_per_core; /* number of ranks that share a core */
};
struct pace ncoll__pace(const struct message_cost *cost, size_t bytes, double ranks_per_core);

/* Times of calls over P ranks with radix n. This one: the rounds of n-way dissemination, in each of
 * which all ranks send. */
double ncoll__rounds_ns(struct pace pace, unsigned ranks, unsigned radix);
/* A tree, from the root to the others or back. */
double ncoll__rooted_ns(struct pace pace, unsigned ranks, unsigned radix);
/* A tree, up to the root and down again. */
double ncoll__tree_ns(struct pace pace, unsigned ranks, unsigned radix);
/* One message from each rank to every other. */
double ncoll__direct_ns(const struct shape *g, const struct situation *s);
/* An alltoall in k = ceil(log2 P) rounds (bruck.c). */
double ncoll__index_ns(const struct shape *g, const struct situation *s);

/* Values of struct algorithm.cost: for algorithms with the rounds of n-way dissemination, and for
 * k-nomial trees. */
double ncoll__cost_of_rounds(const struct shape *g, const struct situation *s);
double ncoll__cost_of_rooted(const struct shape *g, const struct situation *s);

/* True if all ranks read messages of this length in each other's memory. */
static inline bool reads_each_other(const struct situation *s, size_t bytes)
{
    return bytes >= s->read_from;
}

/* True if it pays that each rank combines a slice of the vector in the other ranks' memory. It
 * needs more than two ranks. */
bool ncoll__reads_slices(const struct shape *g, const struct situation *s);
/* True if it is faster that one rank combines everything, since all ranks share few cores. */
bool ncoll__root_is_quicker(const struct shape *g, const struct situation *s);
/* Returns the length from which on a chain of ranks that share cores keeps all of them busy. */
size_t ncoll__chain_bytes(const struct shape *g, const struct situation *s);
/* True if a ring pays for an allgather: it copies blocks once, but takes P - 1 rounds. */
bool ncoll__ring_pays(const struct shape *g, const struct situation *s);
/* True if a ring of so many ranks is worth its rounds for an allreduce of long vectors. */
bool ncoll__ring_is_short(unsigned ranks, const struct situation *s);

#endif
