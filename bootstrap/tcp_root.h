/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the root's bootstrap that tcp_join.c (until all ranks have come) and tcp_root.c
 * share. */
#ifndef NCOLL_BOOTSTRAP_TCP_ROOT_H
#define NCOLL_BOOTSTRAP_TCP_ROOT_H

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_link.h"
#include "bootstrap/tcp_proof.h"
#include "bootstrap/tcp_relay.h"

/* Numbers of entries for connections that have not proved to belong to the job: one for each leaf,
 * so that none has to give its entry up, but at most STRANGERS_MOST; and STRANGERS_FOREIGN more for
 * other processes. */
#define STRANGERS_MOST    8192
#define STRANGERS_FOREIGN 256
#define LISTENERS_MAX     8 /* addresses that NCOLL_ROOT may name */

/* The root's view of a leaf, and of how much the leaf has been told. The next frame for it follows
 * from that, so there are no queues. */
struct leaf_link {
    int rank;
    struct tcp_link link;           /* fd -1: the leaf is gone */
    unsigned char proof[TAG_BYTES]; /* proof that this is the root */
    uint64_t started;               /* number of exchanges that it has started */
    uint16_t port;                  /* port at which it listens for its children; 0: none */
    bool relayed;                   /* it gets its parcels from its parent */
    unsigned char ready[READY_BYTES];
    bool told_ready;
    int told_root_causes;  /* number of root_causes that it has been told */
    int told_departed;     /* number of departures that it has been told */
    int told_parcels;      /* number of parcels of the last exchange that were sent */
    unsigned told_missing; /* version of `missing` that it has been told */
};

/* A connection that may not come from a rank of this job. */
struct stranger {
    struct tcp_link link; /* fd -1: this entry is free */
    uint64_t since_ns;
    bool greeted; /* it has sent a HELLO and was sent a challenge */
    struct tcp_claim claim;
    uint16_t port; /* see leaf_link */
    unsigned char challenge[NONCE_BYTES], proof[TAG_BYTES];
};

#define STRANGERS_LOGGED 8 /* the most reports about strangers that are logged */

struct root {
    struct tcp tcp;
    struct leaf_link **leaves; /* [ranks] NULL: it has not come; [0] is not used */
    int epoll; /* event data: rank of a leaf, ranks + index of a stranger, or 0 for a listener */
    /* Handles an event at a listener (index 0), or at a stranger (index from `ranks` on); in
     * tcp_strangers.c. */
    void (*at_door)(struct root *root, int index);
    /* Answers a rank whose time-out has ended, and which asks for the reason; in tcp_join.c. */
    void (*leaf_gives_up)(struct root *root, int rank, uint64_t timeout_ns);
    struct keep incoming; /* blobs of the exchange after number `gathered` */
    /* number of exchanges that are complete; tcp.keep has the blobs of the last one */
    uint64_t gathered;
    unsigned char secret[NONCE_BYTES]; /* secret of the relay, see tcp_relay.h */
    struct parcels parcels;            /* all blobs of that exchange, packed for the leaves */
    /* stamp: the stamp_of() at the last tell_all(); untold: some leaf has not been told
     * everything */
    uint64_t stamp;
    bool untold;
    bool complete; /* all ranks have joined */
    struct {
        int rank, count;
        uint64_t exchange;
        unsigned version; /* grows with every change */
        uint64_t next_ns; /* time of the next check */
    } missing;
    struct {
        int listeners[LISTENERS_MAX], n_listeners;
        bool paused;                /* the listeners are not watched */
        uint64_t resume_ns;         /* the time from which they may be watched again */
        int count;                  /* number of leaves that have joined */
        struct stranger *strangers; /* [n_strangers] */
        int n_strangers;
        /* hashes of the logged reports about strangers that were dropped */
        uint64_t logged[STRANGERS_LOGGED];
        unsigned n_logged;
        char note[320]; /* describes the last stranger that claimed to be a rank of this job */
        struct {
            ncoll_status status;
            ncoll_reason reason;
            int rank;
            char cause[384];
        } refusal; /* the reason why this job cannot start; status 0: there is none */
    } join;
};

/* ------------------------------------------------------------------ tcp_join.c --------------- */

/* Waits for all ranks. Returns NCOLL_OK, or an error that was also told to all ranks that have
 * come. */
int ncoll__tcp_join(struct root *root);

/* ------------------------------------------------------------------ tcp_refuse.c ------------- */

/* Notes the reason why this job cannot start; only the first one counts. what: a status with a
 * reason (transport/because.h), or a bare status, for which the reason is JOB_REFUSED. */
void ncoll__tcp_refuse(struct root *root, int what, int rank, const char *cause, ...)
    __attribute__((format(printf, 4, 5)));
/* Sends the reason for a refusal over a link, if the link is idle. */
void ncoll__tcp_send_refusal(struct tcp_link *link, int what, int rank, const char *cause);

/* ------------------------------------------------------------------ tcp_listen.c ------------- */

/* Listens on the addresses that NCOLL_ROOT names. If another process has the port, tries again
 * until the deadline. */
int ncoll__tcp_listen(struct root *root);
void ncoll__tcp_stop_listening(struct root *root);

/* ------------------------------------------------------------------ tcp_strangers.c ---------- */

/* The callback root.at_door: handles an event at a listener (index 0), or at a stranger (index from
 * `ranks` on). */
void ncoll__tcp_stranger_event(struct root *root, int index);
/* Watches the listeners again, if they are paused, once a stranger can be made to give up its
 * entry. */
void ncoll__tcp_resume_listening(struct root *root);
void ncoll__tcp_drop_strangers(struct root *root);

/* ------------------------------------------------------------------ tcp_ready.c -------------- */

/* Writes the body of READY for a leaf, after all leaves have joined. */
void ncoll__tcp_write_ready(const struct root *root, struct leaf_link *leaf);

/* ------------------------------------------------------------------ tcp_root.c --------------- */

/* Receives and sends as much as possible; waits at most wait_ms for an event. */
void ncoll__tcp_root_progress(struct root *root, int wait_ms);
/* Adds a socket to epoll, with an index as its event data. known: it is there already, and gets
 * another index. Returns false if that fails. */
bool ncoll__tcp_root_watch(struct root *root, int fd, int index, bool known);
/* Returns the lowest rank that has not come (to the pending exchange), or -1, and the number of
 * such ranks. */
int ncoll__tcp_root_lowest_missing(const struct root *root, int *count);
/* Checks from time to time which ranks are missing, so that progress() tells the leaves. */
void ncoll__tcp_root_note_missing(struct root *root);

#endif
