/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a leaf's bootstrap that tcp_find.c (until all ranks have come) and tcp_leaf.c
 * share. */
#ifndef NCOLL_BOOTSTRAP_TCP_LEAF_H
#define NCOLL_BOOTSTRAP_TCP_LEAF_H

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_link.h"
#include "bootstrap/tcp_proof.h"
#include "bootstrap/tcp_relay.h"

struct leaf {
    struct tcp tcp;
    struct tcp_link link; /* connection to the root */
    struct relay relay;
    bool asks;     /* this leaf has lost its parent, and has to ask the root for the blobs */
    bool accepted; /* the other side has proved to be the root; only then it is believed */
    bool ready;    /* all ranks have joined */
    bool told_root_cause, root_left;
    struct {
        uint64_t exchange;
        int rank, count; /* the lowest missing rank, and the number of missing ranks */
    } missing;           /* from the root's latest report */
    struct {
        int status, rank;
        ncoll_reason reason;
        char cause[384];
    } refusal; /* status 0: there was none */
    unsigned char nonce[NONCE_BYTES], challenge[NONCE_BYTES], proof[PROOF_BYTES];
    /* reason why the last connection was not one to the root; "": there was none */
    char turned_away[256];
    bool warned;
    uint64_t hear_ns; /* how long this leaf waits for a first frame at one of several ports */
};

/* ------------------------------------------------------------------ tcp_find.c --------------- */

/* Finds the root and waits until all ranks have joined. Returns NCOLL_OK or an error. */
int ncoll__tcp_find_root(struct leaf *leaf);

/* ------------------------------------------------------------------ tcp_leaf.c --------------- */

/* Sends and receives as much as possible without waiting. */
void ncoll__tcp_leaf_progress(struct leaf *leaf);
/* Sleeps until something can be sent or received, but at most wait_ms. */
void ncoll__tcp_leaf_wait(struct leaf *leaf, int wait_ms);

#endif
