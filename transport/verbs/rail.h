/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second card (NCOLL_RAILS=2), which carries a part of each message of NCOLL_RAIL_BYTES and more. The
 * first card has everything else.
 *
 * A message is divided by the rates of the cards. Each part comes with a notification of its own, and the
 * receiver raises the flag when it has both: cards do not keep an order between them, so neither
 * may speak for the other. The first card's part is an ordinary long message, whose route says that
 * there is another part (ROUTE_JOINT). The second card's is one write with immediate data. The
 * receiver notes for each slot the epoch in which one part has come; the other one raises the flag
 * (rail_data.c).
 *
 * The second cards of two ranks are connected when one of them has a message to divide. They do so
 * by words over the first cards. Until then messages go by the first card alone.
 *
 *     lower rank                                  higher rank
 *                     <---- RAIL_ASKS             if it is the first that needs it
 *     INIT            ----> RAIL_OFFERS
 *                     <---- RAIL_ACCEPTS          INIT, RTR, RTS
 *     RTR, RTS, open  ----> RAIL_READY            open
 *
 * A rank without a second card, or with one on another network, answers RAIL_CLOSES. Offer and answer are
 * in the inbox; each rank writes one of them, once.
 *
 * Failure. A rank whose second card fails takes its queue pair to ERROR. When the first unused
 * receive has come back, it says RAIL_CLOSES, with the number of parts that have come. The peer
 * does the same. Then nothing can come by the second card any more, and each sends the parts that
 * have not come by the first card, each followed by WORD_PART.
 *
 * Leaving. The word of a rank that leaves has the number of parts that it has sent, since they may come
 * after it. The rank has left when all of them have come.
 */
#ifndef NCOLL_TRANSPORT_VERBS_RAIL_H
#define NCOLL_TRANSPORT_VERBS_RAIL_H

#include <limits.h>

#include "transport/verbs/verbs.h"

/* Parts that are on their way to one peer; a power of two. */
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
    unsigned cq_need; /* entries that the connections can take */
    bool armed;
    unsigned events_unacked;
    bool failed;
    uint64_t mbit_per_s, both_mbit_per_s; /* of the second card, and the sum */
    uint64_t bytes;                       /* of the parts that it was given */
    unsigned n_qps;                       /* connections that have a queue pair */
};

/* A part that has not been acknowledged: how it is sent again by the first card. */
struct rail_part {
    struct ibv_sge sge;
    uint64_t to;
    uint32_t rkey;
    uint32_t number; /* of WORD_PART: place and epoch of the message */
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
    unsigned receives;      /* length of its receive queue */
    unsigned receives_used; /* completed, and not posted again */
    uint32_t psn;
    uint32_t posted, completed; /* positions in its send queue: the numbers of parts, from 1 */
    uint32_t came;              /* number of parts that have come, by either card */
    struct rail_part parts[RAIL_DEPTH]; /* by position */
    enum rail_word owes;                /* the word that is to be sent */
    bool flushed;                       /* closed: all that has come has been read */
    bool peer_closed;                   /* what the peer lacks may be sent by the first card */
    bool leaves;                        /* the peer has left when so many parts have come: */
    uint32_t last;
    uint32_t seen_completed; /* at the last look */
    uint64_t silent_ns;      /* how long it has acknowledged nothing while this rank looked */
};

static inline bool rail_is_usable(const struct verbs *v)
{
    return v->rail != NULL && !v->rail->failed;
}

/* ------------------------------------------------------------------ rail_card.c --------------- */

/* Opens the second card that was chosen (v->rail). direct: how peers are connected. Never fails: without it
 * there is one card. */
void ncoll__rail_open(struct verbs *v, bool direct);
void ncoll__rail_close(struct verbs *v);

/* Registers memory with the second card. Returns NULL if there is none, or if that fails: then messages from
 * and to this memory go by the first one. */
struct ibv_mr *ncoll__rail_register(struct verbs *v, void *base, size_t bytes, bool is_bulk);

/* Makes a queue pair, which has room for so many receives. Returns false if that fails. */
bool ncoll__rail_qp_new(struct verbs *v, struct rail_qp *q, unsigned receives);
/* From now on the second card writes nothing to this rank's memory. Returns false if it cannot be stopped. */
bool ncoll__rail_qp_stop(const struct verbs *v, const struct rail_qp *q);
void ncoll__rail_qp_free(struct verbs *v, struct rail_qp *q);
/* Posts n receives. They have no memory. Returns false if that fails. */
bool ncoll__rail_post_receives(struct connection *c, unsigned n);

/* The connection has ended: nothing of it is sent or read any more. */
void ncoll__rail_end(struct verbs *v, struct connection *c);
/* Frees what a connection has. */
void ncoll__rail_forget(struct verbs *v, struct connection *c);

/* Notes that a part of a message has come. Returns true if the other one has come as well. digest: that of
 * the signature; ANY_DIGEST: it is not known. */
enum part { PART_FIRST = 1, PART_SECOND = 2 };
#define ANY_DIGEST 16u
bool ncoll__rail_has_both(struct verbs_window *w, unsigned slot, uint64_t epoch, enum part part,
                          unsigned digest);

/* For a rank that goes to sleep (wait.c). Without a connection the second card wakes nobody: the file is
 * -1, and the queue counts as armed. */
int ncoll__rail_wake_fd(const struct verbs *v);
bool ncoll__rail_is_armed(const struct verbs *v);
void ncoll__rail_arm(struct verbs *v);
void ncoll__rail_take_event(struct verbs *v);

/* ------------------------------------------------------------------ rail.c -------------------- */

/* Begins to connect the second cards. */
void ncoll__rail_begin(struct verbs *v, struct connection *c);
/* See struct rail_calls. */
void ncoll__rail_word_came(struct verbs *v, struct connection *c, uint32_t number);
bool ncoll__rail_send_word(struct verbs *v, struct connection *c);

/* The second card carries nothing more to a peer. */
void ncoll__rail_give_up(struct verbs *v, struct connection *c, const char *why);
/* The second card carries nothing more to any peer. */
void ncoll__rail_fail(struct verbs *v, const char *why);
/* Counts for how long the second card of a peer has acknowledged nothing; it is given up if that is too
 * long. */
void ncoll__rail_listen(struct verbs *v, struct connection *c, uint64_t elapsed_ns);
/* For a rank that leaves: gives up second cards that have not acknowledged all by then, so that the first one
 * has time. */
void ncoll__rail_hurry(struct verbs *v, uint64_t by_ns);
/* Asks the card what has happened to it. */
void ncoll__rail_read_events(struct verbs *v);

/* ------------------------------------------------------------------ rail_data.c --------------- */

/* The functions by which data.c and words.c use the second card. Each rank has this table: one without a second
 * card answers those that have one. */
struct rail_calls {
    /* Sends a part of a long message by the second card. Returns how many bytes are left for the first
     * card, all if it has to go alone. */
    size_t (*put)(struct verbs *v, struct connection *c, const struct view *view,
                  const struct put *put);
    /* Looks at the completions of the second card. */
    void (*progress)(struct verbs *v);
    /* A word came from a peer; number: that of its immediate data. */
    void (*word_came)(struct verbs *v, struct connection *c, uint32_t number);
    /* A part has come by the first card: WORD_PART. */
    void (*part_came)(struct verbs *v, struct connection *c, uint32_t number);
    /* Sends the word that is owed. Returns false if that is not possible now. */
    bool (*send_word)(struct verbs *v, struct connection *c);
    /* Sends what the second card has not delivered by the first one, as far as there is room. Returns true
     * if all is sent. */
    bool (*send_again)(struct verbs *v, struct connection *c);
};
extern const struct rail_calls ncoll__rail_calls;

/* Parts that this rank has sent to a peer. */
static inline uint32_t rail_sent(const struct connection *c)
{
    return c->rail != NULL ? c->rail->posted : 0;
}

/* True if the second card has delivered all that this rank has given it for a peer. */
static inline bool rail_is_idle(const struct connection *c)
{
    return c->rail == NULL || c->rail->completed == c->rail->posted;
}

/* True if all parts have come that a peer had sent when it left. */
static inline bool rail_has_all(const struct connection *c, uint32_t last)
{
    uint32_t came = c->rail != NULL ? c->rail->came : 0;

    return (came - last) % IMM_NUMBER == 0;
}

#endif
