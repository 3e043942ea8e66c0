/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second card (NCOLL_RAILS=2), which carries a part of each message of NCOLL_RAIL_BYTES and more.
 * The first card carries everything else.
 *
 * A message is divided in proportion to the rates of the cards. Each part comes with a notification
 * of its own, and the receiver raises the flag when both have come: there is no order between the
 * writes of two cards, so one notification cannot announce both parts. The first card's part is an
 * ordinary long message, whose route says that there is another part (ROUTE_JOINT). The second
 * card's part is one write with immediate data. When one part has come, the receiver notes this for
 * the slot; when the other part comes, it raises the flag (rail_data.c).
 *
 * Two ranks connect their second cards when one of them first has a message to divide. They
 * exchange words over the first cards for that. Until then messages go by the first card alone.
 *
 *     lower rank                                  higher rank
 *                     <---- RAIL_ASKS             if it is the first that needs it
 *     INIT            ----> RAIL_OFFERS
 *                     <---- RAIL_ACCEPTS          INIT, RTR, RTS
 *     RTR, RTS, open  ----> RAIL_READY            open
 *
 * A rank without a second card, or with one on another network, answers RAIL_CLOSES. RAIL_OFFERS
 * and RAIL_ACCEPTS have data in the inbox; each rank sends only one of them, once.
 *
 * Failure. A rank whose second card fails takes its queue pair to ERROR. When the first unused
 * receive has come back, the rank sends RAIL_CLOSES, with the number of parts that have come. The
 * peer does the same. Then nothing can come by the second card any more. Each rank sends the parts
 * that have not come once more by the first card, each followed by WORD_PART.
 *
 * Leaving. WORD_LEFT of a rank that leaves has the number of parts that the rank has sent by its
 * second card, since they may come after the word. For its peer the rank has left when all of them
 * have come.
 */
#ifndef NCOLL_TRANSPORT_VERBS_RAIL_H
#define NCOLL_TRANSPORT_VERBS_RAIL_H

#include <limits.h>

#include "transport/verbs/verbs.h"

/* The most parts in flight to one peer by the second card; a power of two. */
#define RAIL_DEPTH 16u
/* The length of the completion queue at first; it grows with the connections. */
#define RAIL_CQ_DEPTH 1024u
/* Added to the route in the head of a message that has a second part. */
#define ROUTE_JOINT 256u

/* The second card of a rank. */
struct rail {
    struct candidate where;
    struct ibv_context *device;
    struct ibv_port_attr port;
    struct ibv_device_attr limits;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    unsigned cq_need; /* entries of `cq` that all connections together may need */
    bool armed;
    unsigned events_unacked;
    bool failed;
    uint64_t mbit_per_s, both_mbit_per_s; /* rate of the second card; sum of both rates */
    uint64_t bytes;                       /* bytes of all parts posted to the second card */
    unsigned n_qps;                       /* connections that have a queue pair */
};

/* A part that has not been acknowledged, with all that the first card needs to send it again. */
struct rail_part {
    struct ibv_sge sge;
    uint64_t to;
    uint32_t rkey;
    uint32_t number; /* the number for WORD_PART: place and epoch of the message */
};

enum rail_state {
    RAIL_ASKED,    /* this rank waits for an offer of the peer */
    RAIL_OFFERED,  /* this rank has made an offer, and waits for the answer */
    RAIL_ACCEPTED, /* this rank has accepted an offer; the peer may not be able to receive yet */
    RAIL_OPEN,
    RAIL_CLOSED,
};

/* The connection to a peer by the second card. */
struct rail_qp {
    enum rail_state state;
    struct ibv_qp *qp;
    unsigned receives;      /* length of the receive queue */
    unsigned receives_used; /* receives that completed and were not posted again */
    uint32_t psn;
    uint32_t posted, completed;         /* positions in the send queue: numbers of parts, from 1 */
    uint32_t came;                      /* number of parts that have come, by either card */
    struct rail_part parts[RAIL_DEPTH]; /* by position modulo RAIL_DEPTH */
    enum rail_word owes;                /* the word that this rank has to send */
    bool flushed;                       /* if closed: all parts that have come have been read */
    bool peer_closed;                   /* the first card may send the parts that the peer lacks */
    bool leaves; /* the peer leaves; it has left when `last` parts have come */
    uint32_t last;
    uint32_t seen_completed; /* `completed` at the last check */
    uint64_t silent_ns;      /* time without an acknowledgement, as far as this rank has checked */
};

static inline bool rail_is_usable(const struct verbs *v)
{
    return v->rail != NULL && !v->rail->failed;
}

/* ------------------------------------------------------------------ rail_card.c --------------- */

/* Opens the second card that was chosen (v->rail). direct: peers are connected by direct wiring.
 * Never fails: if the second card cannot be opened, the rank uses one card. */
void ncoll__rail_open(struct verbs *v, bool direct);
void ncoll__rail_close(struct verbs *v);

/* Registers memory with the second card. Returns NULL if there is no second card, or on failure;
 * then messages from and to this memory go by the first card. */
struct ibv_mr *ncoll__rail_register(struct verbs *v, void *base, size_t bytes, bool is_bulk);

/* Makes a queue pair with room for `receives` receives. Returns false on failure. */
bool ncoll__rail_qp_new(struct verbs *v, struct rail_qp *q, unsigned receives);
/* Stops a queue pair: from then on the second card writes nothing from this peer to this rank's
 * memory. Returns false if the queue pair cannot be stopped. */
bool ncoll__rail_qp_stop(const struct verbs *v, const struct rail_qp *q);
void ncoll__rail_qp_free(struct verbs *v, struct rail_qp *q);
/* Posts n receives, which have no memory. Returns false on failure. */
bool ncoll__rail_post_receives(struct connection *c, unsigned n);

/* Called when a connection has ended: from then on its second card sends and reads nothing. */
void ncoll__rail_end(struct verbs *v, struct connection *c);
/* Frees all that a connection has for the second card. */
void ncoll__rail_forget(struct verbs *v, struct connection *c);

/* Notes that a part of a message has come. Returns true if the other part has come as well. digest:
 * the digest of the signature (imm.h); ANY_DIGEST: not known. */
enum part { PART_FIRST = 1, PART_SECOND = 2 };
#define ANY_DIGEST 16u
bool ncoll__rail_has_both(struct verbs_window *w, unsigned slot, uint64_t epoch, enum part part,
                          unsigned digest);

/* For a rank that goes to sleep (wait.c): the file descriptor that the second card wakes it by, and
 * the events of its completion queue. If the second card has no connection it wakes nobody: the
 * descriptor is -1, and the queue counts as armed. */
int ncoll__rail_wake_fd(const struct verbs *v);
bool ncoll__rail_is_armed(const struct verbs *v);
void ncoll__rail_arm(struct verbs *v);
void ncoll__rail_take_event(struct verbs *v);

/* ------------------------------------------------------------------ rail.c -------------------- */

/* Begins to connect this rank's second card with that of a peer. */
void ncoll__rail_begin(struct verbs *v, struct connection *c);
/* These are the functions word_came and send_word of struct rail_calls. */
void ncoll__rail_word_came(struct verbs *v, struct connection *c, uint32_t number);
bool ncoll__rail_send_word(struct verbs *v, struct connection *c);

/* Stops using the second card to a peer, for the reason `why`. */
void ncoll__rail_give_up(struct verbs *v, struct connection *c, const char *why);
/* Stops using the second card to all peers, for the reason `why`. */
void ncoll__rail_fail(struct verbs *v, const char *why);
/* Counts the time in which a peer's second card has acknowledged nothing. If that is too long, the
 * connection by the second cards is given up. */
void ncoll__rail_listen(struct verbs *v, struct connection *c, uint64_t elapsed_ns);
/* For a rank that leaves: after the time by_ns it gives up the second card to peers that have not
 * acknowledged all parts, so that the first card has time to send them. */
void ncoll__rail_hurry(struct verbs *v, uint64_t by_ns);
/* Reads the asynchronous events of the second card, and gives the card up after a fatal one. */
void ncoll__rail_read_events(struct verbs *v);

/* ------------------------------------------------------------------ rail_data.c --------------- */

/* The functions by which data.c and words.c use the second card. A rank without a second card has
 * them as well, as it has to answer peers that have one. */
struct rail_calls {
    /* Sends a part of a long message by the second card. Returns the number of bytes that are left
     * for the first card: all bytes if the second card cannot be used. */
    size_t (*put)(struct verbs *v, struct connection *c, const struct view *view,
                  const struct put *put);
    /* Polls the completions of the second card. */
    void (*progress)(struct verbs *v);
    /* Handles WORD_RAIL from a peer. number: the number in its immediate data. */
    void (*word_came)(struct verbs *v, struct connection *c, uint32_t number);
    /* Handles WORD_PART: a part of the second card has come by the first card. */
    void (*part_came)(struct verbs *v, struct connection *c, uint32_t number);
    /* Sends the word that this rank owes the peer (rail_qp.owes). Returns false if that is not
     * possible now. */
    bool (*send_word)(struct verbs *v, struct connection *c);
    /* Sends parts that the second card has not delivered once more by the first card, as far as
     * there is room. Returns true if all have been sent. */
    bool (*send_again)(struct verbs *v, struct connection *c);
};
extern const struct rail_calls ncoll__rail_calls;

/* Returns the number of parts that this rank has sent to a peer by the second card. */
static inline uint32_t rail_sent(const struct connection *c)
{
    return c->rail != NULL ? c->rail->posted : 0;
}

/* True if all parts have arrived that this rank has sent to a peer by the second card. */
static inline bool rail_is_idle(const struct connection *c)
{
    return c->rail == NULL || c->rail->completed == c->rail->posted;
}

/* True if all parts have come that a leaving peer had sent. last: their number, from WORD_LEFT. */
static inline bool rail_has_all(const struct connection *c, uint32_t last)
{
    uint32_t came = c->rail != NULL ? c->rail->came : 0;

    return (came - last) % IMM_NUMBER == 0;
}

#endif
