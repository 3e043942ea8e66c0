/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp bootstrap: a star. Rank 0, the root, listens; every other rank, a leaf, connects to it
 * and stays connected. In an exchange each leaf sends its blob and the root sends all blobs to all.
 * The connections also tell who is gone: one that closes without a goodbye belonged to a rank that
 * failed, and the root passes that on.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_H
#define NCOLL_BOOTSTRAP_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"
#include "bootstrap/tcp_address.h"
#include "bootstrap/tcp_link.h"

/* A rank that is gone. */
struct tcp_departure {
    int rank;
    bool left;        /* it said goodbye; otherwise it failed */
    uint64_t started; /* exchanges that it took part in */
};

/* A rank that gives up, and because of whom; -1: of nobody. */
struct tcp_blame {
    int rank, whom;
};

/* How long close() waits for slow peers, all of them, if there is blame to tell. */
#define TCP_LAST_WORD_MS 200

/* What root and leaves have in common. */
struct tcp {
    struct bootstrap base;
    struct bootstrap_events events;
    struct tcp_address address; /* of the root */
    double timeout_s;
    uint64_t deadline_ns; /* of open() */
    uint64_t k;           /* exchanges started */
    struct keep keep;     /* what get() gives */
    struct {
        struct tcp_departure *list; /* [ranks] in the order in which they were noticed */
        int count;
        int judged; /* those that failed() has looked at */
    } departed;
    struct {
        struct tcp_blame *list; /* [ranks], in the same order */
        int count;
    } blames;
};

extern const struct bootstrap_ops ncoll__tcp_root, ncoll__tcp_leaf;

/* ------------------------------------------------------------------ tcp.c -------------------- */

/* false: no memory; nothing to free then. The config's rank, ranks and root have been checked. */
bool ncoll__tcp_init(struct tcp *tcp, const struct bootstrap_ops *ops,
                     const struct bootstrap_config *config);
void ncoll__tcp_free(struct tcp *tcp);

/* Notes a departure; the first one of a rank counts. */
void ncoll__tcp_depart(struct tcp *tcp, int rank, bool left, uint64_t started);
/* Notes whom a rank blames; the first one counts. */
void ncoll__tcp_blame(struct tcp *tcp, int rank, int whom);
/* Who is to blame for a rank's being gone, as far as that is known here; else -1. */
int ncoll__tcp_culprit(const struct tcp *tcp, int rank);
/* What a frame says. false: it must not say that of this rank. */
bool ncoll__tcp_hear_blame(struct tcp *tcp, const struct tcp_frame *frame, int rank);
/* NCOLL_TIMEOUT, or the error that the pending exchange ends with because somebody is gone. */
int ncoll__tcp_check_departed(struct tcp *tcp);

/* Milliseconds until the deadline of open(), but no more than a tick; 0: it is over. */
int ncoll__tcp_tick_ms(const struct tcp *tcp);

int ncoll__tcp_fail_memory(const struct bootstrap_events *events, int ranks);
int ncoll__tcp_fail_too_long(struct tcp *tcp, size_t len);

/* Operations that root and leaf share. */
int ncoll__tcp_get(struct bootstrap *b, int rank, const void **blob, size_t *len);
int ncoll__tcp_take_failure(struct tcp *tcp);

/* ------------------------------------------------------------------ tcp_connect.c ------------ */

/* Connects to the root, trying again until the deadline. NCOLL_OK, or the error that it failed
 * with. */
int ncoll__tcp_connect(const struct tcp *tcp, int *fd);

#endif
