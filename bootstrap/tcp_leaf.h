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
    struct tcp_link link; /* to the root */
    struct relay relay;
    bool asks;     /* it has lost its parent, and has to ask the root for the blobs */
    bool accepted; /* the other side has proved to be the root, and is believed from then on */
    bool ready;    /* the root has all ranks */
    bool told_root_cause, root_left;
    struct {
        uint64_t exchange;
        int rank, count; /* the lowest rank, and how many */
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
    uint64_t hear_ns; /* how long it waits for a word at one of several ports */
};

/* ------------------------------------------------------------------ tcp_find.c --------------- */

/* Finds the root and waits until it has all ranks. Returns NCOLL_OK or an error. */
int ncoll__tcp_find_root(struct leaf *leaf);

/* ------------------------------------------------------------------ tcp_leaf.c --------------- */

/* Sends and receives as much as possible without waiting. */
void ncoll__tcp_leaf_progress(struct leaf *leaf);
/* Sleeps until something can be sent or received, but at most wait_ms. */
void ncoll__tcp_leaf_wait(struct leaf *leaf, int wait_ms);

#endif
