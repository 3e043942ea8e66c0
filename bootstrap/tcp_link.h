/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection of the tcp bootstrap: sends and receives frames without ever blocking.
 *
 * A frame is a head of 24 bytes, little-endian, and `len` bytes of body:
 *
 *     magic 4 | type 2 | how 2 | rank 4 | len 4 | number 8
 *
 *     type       from  rank             how              number             body
 *     HELLO      leaf  its own          protocol         size of the job    -
 *     CHALLENGE  root  -                -                -                  see tcp_proof.h
 *     PROOF      leaf  -                port it listens  -                  see tcp_proof.h
 *     ACCEPTED   root  -                -                -                  see tcp_proof.h
 *     READY      root  -                -                -                  see tcp_relay.h
 *     BLOB       leaf  its owner        1: has a parent  exchange, from 1   the blob
 *     BLOBS      both  -                -                exchange           see tcp_parcel.h
 *     DIRECT     leaf  -                -                exchange           -
 *     MISSING    root  lowest missing   number missing   exchange           -
 *     GONE       root  rank that left   1: in order      exchanges started  -
 *     REFUSED    root  concerned, or -1 -status          reason, 0: none    the cause, a text
 *     ROOT_CAUSE both  that gives up    -                root cause + 1     -
 *     GIVES_UP   leaf  -                -                its time-out, ns   -
 *     BYE        both  -                -                exchanges ended    -
 *
 * Between a rank and its parent in the tree of tcp_relay.h the parent takes the part of the root,
 * with HELLO, CHALLENGE, PROOF, ACCEPTED and BLOBS. By DIRECT a leaf that has lost its parent asks
 * the root for the blobs.
 *
 * The head, HELLO and REFUSED are the same in all versions of the protocol, so that libraries of
 * different versions can tell their users that they do not fit.
 *
 * Nothing that arrives is trusted: this file checks the head, and the receiver checks what the
 * frame says.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_LINK_H
#define NCOLL_BOOTSTRAP_TCP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/bootstrap.h"

#define TCP_PROTOCOL 6
#define TCP_HEAD     24

enum tcp_type {
    TCP_HELLO = 1,
    TCP_READY,
    TCP_BLOB,
    TCP_MISSING,
    TCP_GONE,
    TCP_REFUSED,
    TCP_ROOT_CAUSE,
    TCP_BYE,
    TCP_CHALLENGE,
    TCP_PROOF,
    TCP_ACCEPTED,
    TCP_GIVES_UP,
    TCP_BLOBS,
    TCP_DIRECT,
};

struct tcp_frame {
    enum tcp_type type;
    unsigned how; /* 16 bits on the wire */
    int rank;
    uint32_t len;
    uint64_t number;
};

struct tcp_link {
    int fd;                            /* -1: it is closed */
    struct bootstrap_traffic *traffic; /* counters of what it carries; NULL: none */
    uint32_t body_max;
    uint64_t ended; /* number of exchanges that have ended here, for BYE */
    struct {
        unsigned char head[TCP_HEAD];
        struct tcp_frame frame;
        unsigned char *body;
        size_t done; /* bytes received, of head and body together */
    } in;
    struct {
        unsigned char head[TCP_HEAD];
        const unsigned char *body; /* the sender's memory; it must live until the link is idle */
        /* len: bytes to send, done: bytes sent; of head and body together */
        size_t len, done;
    } out;
};

/* Takes over a connected socket. Frames with bodies of more than body_max bytes are refused. */
void ncoll__tcp_link_open(struct tcp_link *link, int fd, uint32_t body_max);
/* Counts what the link carries from now on in *traffic. */
void ncoll__tcp_link_count(struct tcp_link *link, struct bootstrap_traffic *traffic);
/* Closes a link; sends BYE before if that is possible without waiting. */
void ncoll__tcp_link_close(struct tcp_link *link, bool goodbye);

enum tcp_receipt {
    TCP_NOTHING,  /* no whole frame has arrived yet */
    TCP_FRAME,    /* *frame and *body are set; the caller frees body, which is never NULL */
    TCP_CLOSED,   /* the other side has closed, or the connection broke */
    TCP_NONSENSE, /* the data that arrives is not this protocol */
    TCP_NO_MEMORY,
};
enum tcp_receipt ncoll__tcp_link_receive(struct tcp_link *link, struct tcp_frame *frame,
                                         unsigned char **body);

/* Returns true if the kernel has taken over the last frame completely. */
bool ncoll__tcp_link_idle(const struct tcp_link *link);
/* Begins to send a frame; the link must be idle. */
void ncoll__tcp_link_send(struct tcp_link *link, const struct tcp_frame *frame, const void *body);
/* Continues to send. If the connection is broken, the frame is lost; receive() reports that. */
void ncoll__tcp_link_flush(struct tcp_link *link);
/* Sends until the frame is complete, or until nothing could be sent for about wait_ms. Returns true
 * if the link is idle. */
bool ncoll__tcp_link_drain(struct tcp_link *link, int wait_ms);

#endif
