/* SPDX-License-Identifier: BSD-3-Clause */
/* The tcp bootstrap of rank 0: what tcp_join.c (until all ranks have come) and tcp_root.c share. */
#ifndef NCOLL_BOOTSTRAP_TCP_ROOT_H
#define NCOLL_BOOTSTRAP_TCP_ROOT_H

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_link.h"

#define STRANGERS_MAX                                                                              \
    64 /* connections that have not said who they are; more wait in the kernel                     \
        */

/* A leaf, and how much it has been told. What is to be told next follows from that: no queues. */
struct leaf_link {
    struct tcp_link link; /* fd -1: has not come, or is gone */
    bool joined;
    uint64_t started; /* exchanges */
    bool told_ready;
    int told_blames;       /* of tcp.blames, */
    int told_departed;     /* of tcp.departed */
    int told_blobs;        /* and of the exchange that is being sent: ranks below this one */
    unsigned told_missing; /* the version */
};

struct root {
    struct tcp tcp;
    struct leaf_link *leaves; /* [ranks]; [0] is not used */
    int epoll;            /* data: index of a leaf, ranks + index of a stranger, or 0: listener */
    struct keep incoming; /* blobs of the exchange after `gathered` */
    uint64_t gathered;    /* exchanges that all blobs have come of; tcp.keep is the last one's */
    bool complete;        /* all ranks have joined */
    struct {
        int rank, count;
        uint64_t exchange;
        unsigned version; /* raised with every change */
        uint64_t next_ns; /* when to look again */
    } missing;
    struct {
        int listener;
        int count; /* leaves that have joined */
        struct stranger {
            struct tcp_link link;
            uint64_t since_ns;
        } strangers[STRANGERS_MAX];
        struct {
            ncoll_status status;
            int rank;
            char cause[384];
        } refusal; /* why this job cannot be; status 0: it still can */
    } join;
};

/* ------------------------------------------------------------------ tcp_join.c --------------- */

/* Waits for all ranks. NCOLL_OK, or the error that all that have come have been told as well. */
int ncoll__tcp_join(struct root *root);
/* Something happened at the listener (0) or at a stranger (from ranks). */
void ncoll__tcp_join_event(struct root *root, int index);

/* ------------------------------------------------------------------ tcp_root.c --------------- */

/* Receives and sends what can be, waiting at most wait_ms for something to happen. */
void ncoll__tcp_root_progress(struct root *root, int wait_ms);
/* Has epoll watch a socket. false: it cannot. */
bool ncoll__tcp_root_watch(struct root *root, int fd, int index, bool known);
/* The lowest rank that has not come (to the pending exchange), or -1, and how many have not. */
int ncoll__tcp_root_lowest_missing(const struct root *root, int *count);
/* Finds out, every now and then, who is missing, so that progress() tells the leaves. */
void ncoll__tcp_root_note_missing(struct root *root);

#endif
