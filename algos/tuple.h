/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The 5-tuple of the adapted n-way dissemination allreduce; see algos/adapted.c.
 */
#ifndef NCOLL_ALGOS_TUPLE_H
#define NCOLL_ALGOS_TUPLE_H

#include <stdbool.h>
#include <stddef.h>

/* A data boundary: the place after part j of round l, in the order in which a rank combines; l = 0:
 * after the rank's own vector. Up to the boundary (1 + j) (n+1)^(l-1) vectors are combined, see
 * ncoll__tuple_reach(). */
struct boundary {
    unsigned l, j;
};

enum tuple_case {
    TUPLE_CASE_1 = 1, /* l_rcv > 0, l_snd > 0: a prefix is sent, a prefix is taken out */
    TUPLE_CASE_2,     /* l_rcv > 0, l_snd = 0: own data is sent, a prefix is taken out */
    TUPLE_CASE_3,     /* l_rcv = 0, l_snd = 0: s - 1 whole partial results are enough */
    TUPLE_CASE_4,     /* l_rcv = 0, l_snd = 1: sent up to g_1[j_snd - 1], nothing taken out */
    TUPLE_CASE_5,     /* l_rcv = 0, l_snd > 1: a prefix is sent, own data is taken out */
    TUPLE_BASE,       /* g^s_lsnd[jsnd] = g_B: a prefix is sent, nothing is taken out */
    TUPLE_EXACT,      /* P = (n+1)^k: no adaptation is needed */
};

struct tuple {
    enum tuple_case which;
    /* in the notation of the theorem; not meaningful for TUPLE_EXACT */
    unsigned s, l_snd, l_rcv, j_snd, j_rcv;

    /* the last round, as it follows from the tuple */
    unsigned senders;     /* number of messages; all but the last bring whole partial results */
    struct boundary send; /* the prefix that the last message brings ends here */
    bool takes_out;
    struct boundary out; /* the prefix of the receiver that is taken out ends here */
};

/* Returns the number of vectors that are combined up to a boundary. */
size_t ncoll__tuple_reach(unsigned n, struct boundary b);

/* Finds a tuple for P ranks, P >= 2, and n messages a round. Returns false if there is none. */
bool ncoll__tuple(unsigned P, unsigned n, struct tuple *out);

#endif
