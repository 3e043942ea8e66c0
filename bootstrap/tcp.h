/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tcp bootstrap has the form of a star. Rank 0, the root, listens; every other rank, a leaf,
 * connects to it and stays connected. In an exchange each leaf sends its blob to the root, and the
 * root sends all blobs in one frame to a few leaves, which pass them on (tcp_relay.h). The
 * connections to the root also reveal ranks that are gone: if one closes without the last frame,
 * BYE, its rank has failed, and the root tells the others.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_H
#define NCOLL_BOOTSTRAP_TCP_H

#include <stdbool.h>
#include <stdint.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"
#include "bootstrap/tcp_address.h"
#include "bootstrap/tcp_link.h"
#include "bootstrap/tcp_parcel.h"
#include "bootstrap/tcp_proof.h"

#define TCP_KEY_BYTES 1024 /* the longest NCOLL_KEY, in bytes */

/* A rank that is gone. */
struct tcp_departure {
    int rank;
    bool left;        /* it left in order; false: it failed */
    uint64_t started; /* number of exchanges that it took part in */
};

/* A rank that gives up, and `whom`, the rank that is the root cause of that; -1: no rank is. */
struct tcp_root_cause {
    int rank, whom;
};

/* The longest time that close() waits for all slow peers together, if it has to tell them a root
 * cause. */
#define TCP_LAST_WORD_MS 200

/* The part that the structures of root and leaves have in common. */
struct tcp {
    struct bootstrap base;
    struct bootstrap_events events;
    struct tcp_address address; /* address of the root */
    char key[TCP_KEY_BYTES];    /* key of the job; "": none */
    struct tcp_claim own;       /* this rank's claim: its rank, size and job */
    double timeout_s;
    uint64_t deadline_ns; /* deadline of open() */
    int64_t stall_warn_ns;
    struct reminder reminder; /* logs that open() takes long */
    uint64_t k;               /* number of exchanges started */
    struct keep keep;         /* the data that get() returns */
    struct bootstrap_traffic traffic;
    struct {
        struct tcp_departure *list; /* [ranks] in the order in which they were noticed */
        int count;
        int judged; /* number of entries that failed() has looked at */
    } departed;
    struct {
        struct tcp_root_cause *list; /* [ranks] in the order in which they were noticed */
        int count;
    } root_causes;
};

#define TCP_REMEDY_REFUSED                                                                         \
    "start all ranks with the same NCOLL_ROOT, NCOLL_SIZE and NCOLL_KEY, and each with a "         \
    "NCOLL_RANK of its own; raise NCOLL_BOOTSTRAP_TIMEOUT if they take long to start"

extern const struct bootstrap_ops ncoll__tcp_root, ncoll__tcp_leaf;

/* ------------------------------------------------------------------ tcp.c -------------------- */

/* Initialises the common part. Returns false if there is no memory; nothing needs to be freed then.
 * The caller has checked the config's rank, ranks and root. */
bool ncoll__tcp_init(struct tcp *tcp, const struct bootstrap_ops *ops,
                     const struct bootstrap_config *config);
void ncoll__tcp_free(struct tcp *tcp);

/* Notes a departure. Only the first one of a rank counts. */
void ncoll__tcp_depart(struct tcp *tcp, int rank, bool left, uint64_t started);
/* Notes that `rank` names the rank `whom` as its root cause. Only the first one of a rank
 * counts. */
void ncoll__tcp_note_root_cause(struct tcp *tcp, int rank, int whom);
/* Returns the root cause of a rank's end, as far as this rank knows it; otherwise -1. */
int ncoll__tcp_culprit(const struct tcp *tcp, int rank);
/* Reads a root cause from a frame. Returns false if the frame is about
 * another rank than `rank`, or names a rank that does not exist. */
bool ncoll__tcp_hear_root_cause(struct tcp *tcp, const struct tcp_frame *frame, int rank);
/* Returns NCOLL_TIMEOUT, or the error of the pending exchange if a rank that it needs is gone. */
int ncoll__tcp_check_departed(struct tcp *tcp);

/* Returns the milliseconds until the deadline of open(), but at most 20 (a tick); 0: the deadline
 * has passed. */
int ncoll__tcp_tick_ms(const struct tcp *tcp);
/* Returns the milliseconds until the deadline of open(), but at most most_ms; 0: the deadline has
 * passed. */
int ncoll__tcp_left_ms(const struct tcp *tcp, int most_ms);

/* Converts the nanoseconds that wait() was given to milliseconds for poll(), at most 1000. */
int ncoll__tcp_wait_ms(uint64_t ns);

/* Takes over a parcel (tcp_parcel.h), and keeps those of its blobs that are not kept yet. Returns
 * false if the parcel is not valid, or there is no memory. */
bool ncoll__tcp_keep_parcel(struct tcp *tcp, unsigned char *bytes, size_t len);

int ncoll__tcp_fail_memory(const struct bootstrap_events *events, int ranks);
int ncoll__tcp_fail_too_long(struct tcp *tcp, size_t len);

/* Operations that root and leaf share. */
int ncoll__tcp_get(struct bootstrap *b, int rank, const void **blob, size_t *len);
int ncoll__tcp_take_failure(struct tcp *tcp);
void ncoll__tcp_traffic(const struct bootstrap *b, struct bootstrap_traffic *out);

/* ------------------------------------------------------------------ tcp_connect.c ------------ */

/* Connects to the root; tries again until the deadline. Returns NCOLL_OK or an error. */
int ncoll__tcp_connect(struct tcp *tcp, int *fd);

#endif
