/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The relay of the tcp bootstrap: a tree over which parcels get from rank 0 to all ranks, so that
 * rank 0 has to send them to few ranks only.
 *
 * Ranks from 1 are numbered like a heap: the parent of rank r is (r - 1) / n, with n =
 * ncoll__tcp_fan_out; the children of rank 0 get parcels over the connections that all ranks have
 * to it. A rank with children listens at a port of its own choice, which it tells rank 0 in its
 * PROOF. When all ranks have come, rank 0 tells each rank the address of its parent, and a secret
 * of the relay (READY). A child proves itself to its parent as it has to rank 0 (tcp_proof.h), and
 * the parent to the child, with the key of the job and the secret. The frames with its blobs tell
 * rank 0 whether a rank has reached its parent. If it has not, since no connection is possible
 * between the two hosts or the parent is gone, rank 0 sends parcels to it directly; such a rank
 * still serves its own children.
 *
 * The relay carries nothing but parcels. Failures, root causes and goodbyes go over the connections
 * to rank 0. If a connection of the relay closes, that alone is no failure.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_RELAY_H
#define NCOLL_BOOTSTRAP_TCP_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "bootstrap/tcp.h"

/* The most children of a rank. It has a file of its own (tcp_fan_out.c), so that tests can have
 * another value. */
extern const int ncoll__tcp_fan_out;

static inline int ncoll__tcp_parent(int rank)
{
    return (rank - 1) / ncoll__tcp_fan_out;
}

/*
 * The body of READY:
 *
 *     where 1 | 0 | port 2, little-endian | address 16 | secret 16
 */
#define READY_BYTES 36

enum parent_where {
    PARENT_NONE = 0,      /* rank 0 sends parcels to this rank */
    PARENT_WITH_ROOT = 1, /* on rank 0's host, at the address by which the child reaches rank 0 */
    PARENT_IPV4 = 4,
    PARENT_IPV6 = 6,
};

struct ready {
    enum parent_where where;
    uint16_t port;
    unsigned char address[16], secret[NONCE_BYTES];
};

void ncoll__tcp_ready_pack(const struct ready *ready, unsigned char body[READY_BYTES]);
/* Returns false if the body is not valid. */
bool ncoll__tcp_ready_unpack(const unsigned char *body, size_t len, struct ready *ready);

/* A connection to this rank, from a child or from a stranger (any other process). */
struct relay_child {
    struct tcp_link link; /* fd -1: the entry is free */
    bool greeted, joined;
    struct tcp_claim claim;
    unsigned char challenge[NONCE_BYTES], proof[TAG_BYTES];
    int told; /* number of parcels of this exchange that were sent */
};

struct relay {
    struct tcp *tcp;
    int listener; /* -1: it does not listen */
    uint16_t port;
    struct relay_child *children; /* [n_children] entries; NULL: none */
    int n_children;
    bool ready; /* READY has come, and `key` is set */
    char key[TCP_KEY_BYTES + 2 * NONCE_BYTES + 1];
    struct {
        enum { LINK_NONE, LINK_CONNECTS, LINK_PROVES, LINK_JOINED } state;
        struct tcp_link link;
        unsigned char nonce[NONCE_BYTES], challenge[NONCE_BYTES], proof[PROOF_BYTES];
    } parent;
};

/* Starts to listen if this rank will have children. If that fails, its children get their parcels
 * from rank 0. root_fd: the connection to rank 0. */
void ncoll__tcp_relay_open(struct relay *relay, struct tcp *tcp, int root_fd);
void ncoll__tcp_relay_close(struct relay *relay);

/* Takes the body of READY, and begins to connect to the parent, if there is one. */
void ncoll__tcp_relay_ready(struct relay *relay, const struct ready *ready, int root_fd);

/* Receives and sends as much as possible without waiting. Parcels of the pending exchange are kept
 * in tcp->keep. Returns false if the connection to the parent was lost. */
bool ncoll__tcp_relay_progress(struct relay *relay);

/* Returns true while the parent has not been reached, but may still be. */
bool ncoll__tcp_relay_connects(const struct relay *relay);
bool ncoll__tcp_relay_has_parent(const struct relay *relay);
void ncoll__tcp_relay_leave_parent(struct relay *relay);

/* Begins a new exchange: its parcels will be sent to the children. */
void ncoll__tcp_relay_begin(struct relay *relay);
/* Returns true if all parcels that have come were sent to all children. */
bool ncoll__tcp_relay_has_told(const struct relay *relay);

/* Stops listening, after the first exchange: children that have not come by then will not come. */
void ncoll__tcp_relay_is_complete(struct relay *relay);

/* The most descriptors that fill() adds. */
int ncoll__tcp_relay_polls(const struct relay *relay);
/* Adds the descriptors to wait for. Returns their number. */
int ncoll__tcp_relay_fill(const struct relay *relay, struct pollfd *polls);

#endif
