/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection of the tcp bootstrap: frames in and out without ever blocking.
 *
 * A frame is a head of 24 bytes, little-endian, and `len` bytes of body:
 *
 *     magic 4 | type 2 | how 2 | rank 4 | len 4 | number 8
 *
 *     type      from   rank             how             number             body
 *     HELLO     leaf   its own          protocol        size of the job    -
 *     READY     root   -                -               -                  -
 *     BLOB      both   whose it is      -               exchange, from 1   the blob
 *     MISSING   root   lowest missing   how many miss   exchange           -
 *     GONE      root   who              1: it left      exchanges started  -
 *     REFUSED   root   about whom, -1   -status         -                  the cause, text
 *     BLAME     both   who gives up     -               whom it blames + 1 -
 *     BYE       both   -                -               -                  -
 *
 * Nothing that arrives is believed: the head is checked here, what it means by who receives it.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_LINK_H
#define NCOLL_BOOTSTRAP_TCP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TCP_PROTOCOL 2
#define TCP_HEAD     24
#define TCP_BLOB_MAX (UINT32_C(64) << 20)

enum tcp_type {
    TCP_HELLO = 1,
    TCP_READY,
    TCP_BLOB,
    TCP_MISSING,
    TCP_GONE,
    TCP_REFUSED,
    TCP_BLAME,
    TCP_BYE,
};

struct tcp_frame {
    enum tcp_type type;
    unsigned how; /* 16 bits on the wire */
    int rank;
    uint32_t len;
    uint64_t number;
};

struct tcp_link {
    int fd; /* -1: closed */
    uint32_t body_max;
    struct {
        unsigned char head[TCP_HEAD];
        struct tcp_frame frame;
        unsigned char *body;
        size_t done; /* of head and body together */
    } in;
    struct {
        unsigned char head[TCP_HEAD];
        const unsigned char *body; /* the sender's; must live until the link is idle */
        size_t len, done;          /* of head and body together */
    } out;
};

/* Takes over a connected socket. Frames with more than body_max bytes are refused. */
void ncoll__tcp_link_open(struct tcp_link *link, int fd, uint32_t body_max);
/* Says goodbye if it can be said without waiting, then closes. */
void ncoll__tcp_link_close(struct tcp_link *link, bool goodbye);

enum tcp_receipt {
    TCP_NOTHING,  /* no whole frame has arrived yet */
    TCP_FRAME,    /* *frame and *body are set; the caller frees body, never NULL */
    TCP_CLOSED,   /* the other side has closed, or the connection broke */
    TCP_NONSENSE, /* what arrives is not this protocol */
    TCP_NO_MEMORY,
};
enum tcp_receipt ncoll__tcp_link_receive(struct tcp_link *link, struct tcp_frame *frame,
                                         unsigned char **body);

/* Whether the last frame is wholly in the hands of the kernel. */
bool ncoll__tcp_link_idle(const struct tcp_link *link);
/* Begins to send a frame; the link must be idle. */
void ncoll__tcp_link_send(struct tcp_link *link, const struct tcp_frame *frame, const void *body);
/* Goes on sending. A broken connection swallows what is sent: receive() tells. */
void ncoll__tcp_link_flush(struct tcp_link *link);
/* The same until all is sent, or nothing can be for about so long. Whether the link is idle. */
bool ncoll__tcp_link_drain(struct tcp_link *link, int wait_ms);

#endif
