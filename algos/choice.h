/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How an algorithm is chosen if no user asks for one. Each algorithm declares how well it suits a
 * call (fit), and estimates the time of the call (cost). Selection (lib/choose/select.c) depends on
 * no particular algorithm. Of the algorithms that exist, and whose messages fit into the window, it
 * takes the one with the best fit, with the radix of the lowest cost. Then it considers algorithms
 * that declare that they replace this one if their cost is lower (fit.gain).
 *
 * Fit and cost are pure functions of the shape and of the situation, which is the same on all
 * ranks.
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

/* Times of single steps. Two estimates are made of them: the cost that an algorithm states, and the
 * time of a schedule that is simulated on all ranks, step by step (lib/choose/predict.c). */

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

/* Additional time for a message that is a store in shared memory, if ranks share cores. */
static inline double line_ns(const struct message_cost *m, double ranks_per_core)
{
    return ranks_per_core > 1 && m->latency_ns < SWITCH_NS ? LINE_NS : 0;
}

/* Time of a step that copies or combines own_bytes of the rank's own memory, and away_bytes of
 * other ranks' memory. */
static inline double local_ns(double own_bytes, double away_bytes, const struct message_cost *near)
{
    return LOCAL_STEP_NS + own_bytes * LOCAL_BYTE_NS + away_bytes * near->byte_ns;
}

/* The facts by which algorithms are chosen, in addition to the shape. */
struct situation {
    struct message_cost any;       /* costs of messages between any two ranks */
    struct message_cost far, near; /* costs between nodes or domains, and within one */
    bool near_is_known;            /* the transport knows the cost of messages within a node */
    double ranks_per_core;         /* number of ranks that share a core; 1: each has its own */
    size_t bytes;                  /* bytes of the vector or of the longest block */
    double bytes_of_all;           /* bytes of all blocks together */
    /* messages of this many bytes and more are read in the sender's memory; SIZE_MAX: none */
    size_t read_from;
    bool commutative, idempotent; /* properties of the operation */
    /* an algorithm need not give all ranks the same bits: the operation is exact, so that results
     * cannot differ, or the user allows different results */
    bool any_bits;
};

/* How well an algorithm suits a call. */
struct fit {
    /* The algorithm with the highest strength is taken; of equal ones the first in the registry. 0:
     * this algorithm is not taken for its strength. */
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
    FIT_ANYTHING = 10, /* the algorithm serves calls that no other algorithm serves */
    FIT_SHORT = 20,
    FIT_LONG = 30,
    FIT_LONGEST = 40,
    FIT_NODES = 50,
    FIT_READ = 60, /* ranks read each other's memory */
};

/* ------------------------------------------------------------------ peers.c ------------------ */

/* Returns the largest number of peers that a rank has, as the algorithm states it; at most
 * P - 1. */
unsigned ncoll__algorithm_peers(const struct algorithm *a, const struct shape *g);
/* Functions for struct algorithm.peers. They return P - 1; 2; twice the number of peers of n-way
 * rounds; and, for hierarchical algorithms, the number of peers of n-way rounds across nodes plus
 * that of other ranks on the node. */
unsigned ncoll__peers_all(const struct shape *g);
unsigned ncoll__peers_two(const struct shape *g);
unsigned ncoll__peers_twice(const struct shape *g);
unsigned ncoll__peers_by_nodes(const struct shape *g);

/* ------------------------------------------------------------------ cost.c ------------------- */

/* Returns the time from a put to the end of the wait for it. */
double ncoll__wait_ns(const struct situation *s);

/* The times of messages between some of the ranks. message_ns includes the time of the bytes. */
struct pace {
    double latency_ns, message_ns;
    double wait_ns;        /* from a put to the end of the wait for it */
    double ranks_per_core; /* number of ranks that share a core */
};
struct pace ncoll__pace(const struct message_cost *cost, size_t bytes, double ranks_per_core);

/* Returns the time of n-way dissemination, n = radix, in each round of which all ranks send. */
double ncoll__rounds_ns(struct pace pace, unsigned ranks, unsigned radix);
/* Returns the time of a call along a k-nomial tree, k = radix + 1, from the root or to the root. */
double ncoll__rooted_ns(struct pace pace, unsigned ranks, unsigned radix);
/* Returns the time of a call up a k-nomial tree, k = radix + 1, to the root, and down again. */
double ncoll__tree_ns(struct pace pace, unsigned ranks, unsigned radix);
/* Returns the time of a call with one message from each rank to every other. */
double ncoll__direct_ns(const struct shape *g, const struct situation *s);
/* Returns the time of an alltoall in k = ceil(log2 P) rounds (bruck.c). */
double ncoll__index_ns(const struct shape *g, const struct situation *s);

/* Functions for struct algorithm.cost: for algorithms with the rounds of n-way dissemination, and
 * for k-nomial trees. */
double ncoll__cost_of_rounds(const struct shape *g, const struct situation *s);
double ncoll__cost_of_rooted(const struct shape *g, const struct situation *s);

/* True if all ranks read messages of this length in each other's memory. */
static inline bool reads_each_other(const struct situation *s, size_t bytes)
{
    return bytes >= s->read_from;
}

/* True if it pays to let each rank combine one slice of the vector, which it reads in the other
 * ranks' memory. Never true for one or two ranks. */
bool ncoll__reads_slices(const struct shape *g, const struct situation *s);
/* True if it is faster to let one rank combine everything, since all ranks share few cores. */
bool ncoll__root_is_quicker(const struct shape *g, const struct situation *s);
/* Returns the length in bytes from which on a chain of ranks that share cores keeps all ranks
 * busy. */
size_t ncoll__chain_bytes(const struct shape *g, const struct situation *s);
/* True if a ring pays for an allgather: it copies blocks once, but takes P - 1 rounds. */
bool ncoll__ring_pays(const struct shape *g, const struct situation *s);
/* True if a ring of this many ranks is worth its rounds for an allreduce of long vectors. */
bool ncoll__ring_is_short(unsigned ranks, const struct situation *s);

#endif
