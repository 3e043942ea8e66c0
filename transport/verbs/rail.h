/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second card (NCOLL_RAILS=2), which carries a part of each message of NCOLL_RAIL_BYTES and more.
 *
 * The first card has everything else: short messages, words, and all notifications. So a peer needs nothing
 * on the second card but a queue pair and the keys of its memory there. A message is divided by the rates of
 * the cards. Both parts are posted at once, without a notification. The message is then *held* until the
 * second card has acknowledged its part. Then the first card posts the notification, behind its own part.
 * So when the peer's completion comes, both parts are in memory. Held messages may be overtaken by others:
 * no message relies on an earlier one. No run ends while a message is held, since nobody would send the
 * notification (transport.h).
 *
 * Queue pairs of the second card are connected when a rank has a message to divide, by words over the first
 * card, which are in the inbox. Until then messages go by the first card.
 *
 *     lower rank                                  higher rank
 *                     <---- RAIL_ASKS             if it is the first that needs it
 *     INIT            ----> RAIL_OFFERS
 *                     <---- RAIL_ACCEPTS          INIT, RTR, RTS
 *     RTR, RTS, open  ----> RAIL_READY            open
 *
 * A rank without a second card, or with one in another network, answers RAIL_CLOSES.
 *
 * Failure. A rank whose second card fails takes its queue pair to ERROR and says RAIL_CLOSES. The peer
 * does the same. When both have, no packet of the second card can be written any more, so what was
 * held is sent again by the first card. It makes no difference that parts of it have arrived: the peer has
 * not been notified of them.
 */
#ifndef NCOLL_TRANSPORT_VERBS_RAIL_H
#define NCOLL_TRANSPORT_VERBS_RAIL_H

#include "transport/verbs/verbs.h"

/* Parts in flight: of one rank, to one peer. */
#define HELD_MOST  64u
#define RAIL_DEPTH 16u

/* A message of which the second card has not acknowledged its part. */
struct held {
    struct connection *c;
    unsigned window; /* its number */
    size_t from;     /* the second card has the bytes from here on */
    uint32_t end;    /* position of its part in the queue pair */
    struct put put;
};

/* The second card of a rank. */
struct rail {
    struct candidate where;
    struct ibv_context *device;
    struct ibv_port_attr port;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    bool armed;
    unsigned events_unacked;
    bool failed;
    uint64_t mbit_per_s, both_mbit_per_s; /* of the second card, and the sum */
    uint64_t bytes; /* that it has delivered, or has been given */
    struct held held[HELD_MOST];
    unsigned n_held;
};

enum rail_state {
    RAIL_ASKED,    /* the peer is to make an offer */
    RAIL_OFFERED,  /* the peer is to accept it */
    RAIL_ACCEPTED, /* the peer cannot receive yet */
    RAIL_OPEN,
    RAIL_CLOSED,
};

/* The connection to a peer by the second card. */
struct rail_qp {
    enum rail_state state;
    struct ibv_qp *qp;
    uint32_t psn;
    uint32_t posted, completed; /* positions in its send queue */
    uint32_t seen_completed;    /* at the last look */
    uint64_t silent_ns;         /* how long it has acknowledged nothing while this rank looked */
    enum rail_word owes;        /* the word that is to be sent */
    bool peer_closed;
};

/* Opens a second card, if there is one. Never fails: without it there is one card. */
void ncoll__rail_open(struct verbs *v);
void ncoll__rail_close(struct verbs *v);

/* Registers memory with the second card. Returns NULL if there is none, or if that fails, which ends the
 * use of the card. */
struct ibv_mr *ncoll__rail_register(struct verbs *v, void *base, size_t bytes, bool is_bulk);

/* Sends a long message by both cards. Returns false if it has to be sent by the first one alone. *posted: it
 * was; otherwise the connection is lost. */
bool ncoll__rail_put(struct verbs *v, struct connection *c, const struct view *view,
                     const struct put *put, bool *posted);
/* Looks for acknowledgements, and sends what was held. */
void ncoll__rail_progress(struct verbs *v);
/* For a rank that goes to sleep (wait.c). While nothing is held the second card wakes nobody: the file is
 * -1, and the queue counts as armed. */
int ncoll__rail_wake_fd(const struct verbs *v);
bool ncoll__rail_is_armed(const struct verbs *v);
void ncoll__rail_arm(struct verbs *v);
void ncoll__rail_take_event(struct verbs *v);
/* Counts for how long the second card of a peer has acknowledged nothing; it is given up if that is too
 * long. */
void ncoll__rail_listen(struct verbs *v, struct connection *c, uint64_t elapsed_ns);
/* Asks the card what has happened to it. */
void ncoll__rail_read_events(struct verbs *v);

/* The word that came from a peer is in the inbox. */
void ncoll__rail_word_came(struct verbs *v, struct connection *c);
/* Sends the word that is owed. Returns false if that is not possible now. */
bool ncoll__rail_send_word(struct verbs *v, struct connection *c);

/* Forgets messages that are held: of a connection that has ended, or to a window that is freed. */
void ncoll__rail_forget(struct verbs *v, const struct connection *c, unsigned window);
#define ALL_WINDOWS UINT_MAX
/* Ends the use of the second card by a connection, without a word. */
void ncoll__rail_end(struct verbs *v, struct connection *c);
/* Frees what a connection has. */
void ncoll__rail_qp_free(struct connection *c);

#endif
