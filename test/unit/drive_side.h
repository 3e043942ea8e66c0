/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that drives a transport: what it is told, whom it is connected with. */
#ifndef NCOLL_TEST_UNIT_DRIVE_SIDE_H
#define NCOLL_TEST_UNIT_DRIVE_SIDE_H

#include <stdio.h>
#include <stdlib.h>

#include "transport/transport.h"

#define RANKS_MAX  8
#define BLOB_BYTES 4096
#define BULK_BYTES (1u << 20)
#define SLOTS      1024u

struct text {
    size_t len;
    unsigned char bytes[BLOB_BYTES];
};

struct board {
    _Atomic int arrived;
    struct text description[RANKS_MAX];
    struct offer offer[RANKS_MAX][RANKS_MAX];          /* by rank, to whom */
    _Atomic int left, farewells[RANKS_MAX][RANKS_MAX]; /* that were heard, by the two ranks */
};

struct side {
    int rank, ranks, job, meetings;
    struct board *board;
    struct transport *transport;
    const struct transport_ops *ops;
    struct window *window;
    int gone; /* rank, -1: none */
    unsigned words;
    struct control word[RANKS_MAX]; /* by sender */
    struct position position[RANKS_MAX];
};

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, s->rank, #condition);      \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

uint64_t drive_now_ns(void *arg);

/* Until all ranks have come as far. */
void meet(struct side *s);
void open_transport(struct side *s);
/* Both for the first window and for another one over the same connections. */
void connect_window(struct side *s, unsigned id);

#endif
