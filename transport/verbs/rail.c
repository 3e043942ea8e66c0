/* SPDX-License-Identifier: BSD-3-Clause */
/* The second cards of two ranks: how they are connected and given up. See rail.h. */
#include "transport/verbs/rail.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/network.h"
#include "transport/verbs/post.h"

/* ------------------------------------------------------------------ queue pairs --------------- */

/* Makes the queue pair of a connection, with a receive for each part that may come before this rank
 * polls: for each message that the peer may have in flight, and for each part that comes after its
 * message has been confirmed. One more batch is for used receives that wait to be posted again. */
static bool make_qp(struct verbs *v, struct connection *c)
{
    struct rail_qp *q = c->rail;

    if (!ncoll__rail_qp_new(v, q, c->allowed + RAIL_DEPTH + RECEIVE_BATCH))
        return false;
    if (getrandom(&q->psn, sizeof q->psn, 0) != sizeof q->psn)
        q->psn = (uint32_t)c->endpoint.rank;
    q->psn &= 0xffffff;
    const struct qp_ends ends = {.qp = q->qp, .where = &v->rail->where};
    if (ncoll__qp_to_init(&ends) == 0 && ncoll__rail_post_receives(c, q->receives))
        return true;
    ncoll__rail_qp_free(v, q);
    return false;
}

/* Returns the struct rail_qp of a connection. If there is none, makes one with the state `first`.
 * NULL: no memory, so the first card is used alone. */
static struct rail_qp *rail_of(struct connection *c, enum rail_state first)
{
    if (c->rail == NULL && (c->rail = calloc(1, sizeof *c->rail)) != NULL)
        c->rail->state = first;
    return c->rail;
}

/* ------------------------------------------------------------------ the end ------------------- */

static void owe(struct verbs *v, struct connection *c, enum rail_word word)
{
    c->rail->owes = word;
    ncoll__verbs_has_words(v, c);
}

static void close_to(struct verbs *v, struct connection *c)
{
    if (c->rail->state == RAIL_CLOSED)
        return;
    c->rail->state = RAIL_CLOSED;
    c->rail->silent_ns = 0;
    if (ncoll__rail_qp_stop(v, c->rail))
        owe(v, c, RAIL_CLOSES);
    else
        ncoll__verbs_lost(v, c, "its second card cannot be stopped");
}

void ncoll__rail_give_up(struct verbs *v, struct connection *c, const char *why)
{
    const struct transport_events *e = &v->config.events;

    if (c->rail->state == RAIL_CLOSED)
        return;
    e->log(e->arg, c->left ? NCOLL_LOG_DEBUG : NCOLL_LOG_WARN,
           "verbs: the second card %s does not reach rank %d: %s; the first one goes on alone",
           v->rail != NULL ? v->rail->where.device : "", c->endpoint.rank, why);
    close_to(v, c);
}

void ncoll__rail_fail(struct verbs *v, const char *why)
{
    const struct transport_events *e = &v->config.events;

    if (v->rail->failed)
        return;
    v->rail->failed = true;
    e->log(e->arg, NCOLL_LOG_WARN,
           "verbs: the second card %s, port %d, is not used any more: %s; the first one goes on "
           "alone",
           v->rail->where.device, v->rail->where.port, why);
    for (unsigned i = 0; i < v->n_connections; i++)
        if (v->connections[i]->rail != NULL)
            close_to(v, v->connections[i]);
}

void ncoll__rail_listen(struct verbs *v, struct connection *c, uint64_t elapsed_ns)
{
    struct rail_qp *q = c->rail;
    char why[80];

    if (q == NULL || c->left)
        return;
    if (q->state == RAIL_CLOSED && q->owes == RAIL_CLOSES) {
        q->silent_ns += elapsed_ns;
        q->flushed |= q->silent_ns >= v->config.peer_timeout_ns;
    }
    if (q->state != RAIL_OPEN)
        return;
    bool silent = !rail_is_idle(c) && q->completed == q->seen_completed;
    q->seen_completed = q->completed;
    q->silent_ns = silent ? q->silent_ns + elapsed_ns : 0;
    if (q->silent_ns < v->config.peer_timeout_ns)
        return;
    snprintf(why, sizeof why, "it has not answered for %.1f s (NCOLL_PEER_TIMEOUT)",
             (double)q->silent_ns / 1e9);
    ncoll__rail_give_up(v, c, why);
}

static bool is_the_end(const struct rail *r, const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
        return true;
    case IBV_EVENT_PORT_ERR: /* the first card works, so this rank does not wait for the port */
        return event->element.port_num == r->where.port;
    default:
        return false;
    }
}

void ncoll__rail_read_events(struct verbs *v)
{
    struct rail *r = v->rail;
    struct ibv_async_event event;

    if (r == NULL)
        return;
    struct pollfd pollfd = {.fd = r->device->async_fd, .events = POLLIN};
    while (poll(&pollfd, 1, 0) == 1 && ibv_get_async_event(r->device, &event) == 0) {
        if (is_the_end(r, &event))
            ncoll__rail_fail(v, ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
}

void ncoll__rail_hurry(struct verbs *v, uint64_t by_ns)
{
    if (v->rail == NULL)
        return;
    ncoll__rail_read_events(v);
    for (unsigned i = 0; i < v->n_connections && verbs_now_ns(v) >= by_ns; i++)
        if (!rail_is_idle(v->connections[i]))
            ncoll__rail_give_up(v, v->connections[i], "it has not answered");
}

/* ------------------------------------------------------------------ connecting ---------------- */

static void offer(struct verbs *v, struct connection *c)
{
    if (rail_of(c, RAIL_OFFERED) == NULL)
        return;
    if (rail_is_usable(v) && make_qp(v, c))
        owe(v, c, RAIL_OFFERS);
    else
        close_to(v, c);
}

void ncoll__rail_begin(struct verbs *v, struct connection *c)
{
    if (v->config.rank < c->endpoint.rank)
        offer(v, c);
    else if (rail_of(c, RAIL_ASKED) != NULL)
        owe(v, c, RAIL_ASKS);
}

static struct rail_note note_of(const struct verbs *v, const struct connection *c)
{
    const struct candidate *where = &v->rail->where;
    struct rail_note note = {
        .qpn = c->rail->qp->qp_num,
        .psn = c->rail->psn,
        .prefix_bits = where->prefix_bits,
        .port = {.lid = v->rail->port.lid,
                 .mtu = (uint8_t)ncoll__verbs_mtu(v, &v->rail->port),
                 .link_layer = v->rail->port.link_layer,
                 .gid_kind = (uint16_t)where->kind,
                 .pkey = where->pkey,
                 .needs_grh = ncoll__needs_grh(&v->rail->port)},
    };

    memcpy(note.port.gid, where->gid.raw, sizeof note.port.gid);
    return note;
}

/* The number in WORD_RAIL has the enum rail_word in its low bits. With RAIL_CLOSES the other bits
 * are the number of parts that have come; parts that come by the second card later are ignored. */
#define RAIL_WORD_BITS 3u
#define RAIL_COUNT     (IMM_NUMBER >> RAIL_WORD_BITS)

/* True if no part will come by the second card any more. A card that has failed may not report
 * this, so its failure is enough. */
static bool is_flushed(const struct verbs *v, const struct rail_qp *q)
{
    return q->qp == NULL || q->flushed || v->rail->failed;
}

bool ncoll__rail_send_word(struct verbs *v, struct connection *c)
{
    struct rail_note note;
    size_t len_bytes = 0;

    if (c->rail == NULL || c->rail->owes == RAIL_NOTHING)
        return true;
    if (!may_send(c))
        return false;
    enum rail_word word = c->rail->owes;
    if (word == RAIL_CLOSES && !is_flushed(v, c->rail))
        return false;
    if (word == RAIL_OFFERS || word == RAIL_ACCEPTS) {
        note = note_of(v, c);
        len_bytes = sizeof note;
    }
    uint32_t came = word == RAIL_CLOSES ? c->rail->came % RAIL_COUNT : 0;
    c->rail->owes = RAIL_NOTHING;
    if (!ncoll__verbs_word(v, c, WORD_RAIL, came << RAIL_WORD_BITS | word, &note, len_bytes,
                           offsetof(struct inbox, rail)))
        return false; /* the connection is lost */
    c->sent++;
    return true;
}

/* True if the second cards of both ranks reach each other. */
static bool meets(const struct verbs *v, const struct rail_note *note)
{
    struct candidate there = {.kind = (enum gid_kind)note->port.gid_kind,
                              .pkey = note->port.pkey,
                              .prefix_bits = note->prefix_bits};

    if (note->port.gid_kind >= GID_NONE || note->qpn >= 1u << 24 || note->psn >= 1u << 24 ||
        note->port.mtu < IBV_MTU_256 || note->port.mtu > IBV_MTU_4096)
        return false;
    memcpy(there.gid.raw, note->port.gid, sizeof there.gid.raw);
    struct network ours = ncoll__network_of(&v->rail->where), theirs = ncoll__network_of(&there);
    return ncoll__networks_meet(&ours, &theirs, v->routed);
}

/* Connects the queue pair with that of the peer, which is described in the inbox. Returns false if
 * the two do not reach each other. */
static bool connect_to(struct verbs *v, struct connection *c)
{
    const struct rail_note note = c->inbox->rail;
    const struct qp_ends ends = {.qp = c->rail->qp,
                                 .where = &v->rail->where,
                                 .port = &v->rail->port,
                                 .psn = c->rail->psn,
                                 .peer = &note.port,
                                 .peer_qpn = note.qpn,
                                 .peer_psn = note.psn};

    return meets(v, &note) && ncoll__qp_to_rtr(v, &ends) == 0 && ncoll__qp_to_rts(v, &ends) == 0;
}

static void offer_came(struct verbs *v, struct connection *c)
{
    if (rail_of(c, RAIL_ASKED) == NULL || c->rail->state != RAIL_ASKED)
        return;
    if (!rail_is_usable(v) || !make_qp(v, c)) {
        close_to(v, c);
    } else if (connect_to(v, c)) {
        c->rail->state = RAIL_ACCEPTED;
        owe(v, c, RAIL_ACCEPTS);
    } else {
        ncoll__rail_give_up(v, c, "they are not on the same network");
    }
}

static void answer_came(struct verbs *v, struct connection *c)
{
    if (c->rail == NULL || c->rail->state != RAIL_OFFERED)
        return;
    if (rail_is_usable(v) && connect_to(v, c)) {
        c->rail->state = RAIL_OPEN;
        owe(v, c, RAIL_READY);
    } else {
        ncoll__rail_give_up(v, c, "they are not on the same network");
    }
}

/* Handles RAIL_CLOSES: the peer has closed its end of the connection, after `came` parts have
 * come. */
static void end_came(struct verbs *v, struct connection *c, uint32_t came)
{
    struct rail_qp *q = rail_of(c, RAIL_ASKED);

    if (q == NULL)
        return;
    if (q->state == RAIL_OPEN || q->state == RAIL_ACCEPTED)
        ncoll__rail_give_up(v, c, "that rank has closed it");
    else
        close_to(v, c);
    uint32_t lacks = (q->posted - came) % RAIL_COUNT;
    if (c->state == CONNECTION_DEAD)
        return;
    if (lacks > q->posted - q->completed) {
        ncoll__verbs_lost(v, c, "its second card has lost what it had acknowledged");
        return;
    }
    q->peer_closed = true;
    q->completed = q->posted - lacks;
    ncoll__verbs_has_words(v, c);
}

void ncoll__rail_word_came(struct verbs *v, struct connection *c, uint32_t number)
{
    switch ((enum rail_word)(number & ((1u << RAIL_WORD_BITS) - 1))) {
    case RAIL_ASKS:
        if (c->rail == NULL)
            offer(v, c);
        break;
    case RAIL_OFFERS:
        offer_came(v, c);
        break;
    case RAIL_ACCEPTS:
        answer_came(v, c);
        break;
    case RAIL_READY:
        if (c->rail != NULL && c->rail->state == RAIL_ACCEPTED)
            c->rail->state = RAIL_OPEN;
        break;
    case RAIL_CLOSES:
        end_came(v, c, number >> RAIL_WORD_BITS);
        break;
    case RAIL_NOTHING:
        break;
    }
}
