/* SPDX-License-Identifier: BSD-3-Clause */
/* The second card of a rank: see rail.h. */
#include "transport/verbs/rail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "transport/verbs/network.h"
#include "transport/verbs/post.h"

/* Parts begin at a multiple of this, so that a card writes whole packets and cache lines. */
#define PART_UNIT 4096u

static bool is_usable(const struct verbs *v)
{
    return v->rail != NULL && !v->rail->failed;
}

/* ------------------------------------------------------------------ opening ------------------- */

static const char *open_queue(struct rail *r)
{
    int flags;

    if (ibv_query_port(r->device, (uint8_t)r->where.port, &r->port) != 0)
        return "cannot query its port";
    if ((r->pd = ibv_alloc_pd(r->device)) == NULL)
        return "cannot make a protection domain";
    if ((r->channel = ibv_create_comp_channel(r->device)) == NULL ||
        (flags = fcntl(r->channel->fd, F_GETFL)) < 0 ||
        fcntl(r->channel->fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return "cannot make a completion channel";
    if ((r->cq = ibv_create_cq(r->device, 2 * HELD_MOST, NULL, r->channel, 0)) == NULL)
        return "cannot make a completion queue";
    return NULL;
}

static void free_rail(struct rail *r)
{
    if (r->cq != NULL) {
        if (r->events_unacked > 0)
            ibv_ack_cq_events(r->cq, r->events_unacked);
        ibv_destroy_cq(r->cq);
    }
    if (r->channel != NULL)
        ibv_destroy_comp_channel(r->channel);
    if (r->pd != NULL)
        ibv_dealloc_pd(r->pd);
    if (r->device != NULL)
        ibv_close_device(r->device);
    free(r);
}

void ncoll__rail_open(struct verbs *v)
{
    const struct transport_events *e = &v->config.events;
    struct rail *r = v->rail;
    const char *why;

    if (r == NULL)
        return;
    if (v->wiring != &ncoll__wiring_direct)
        why = "peers are connected by rdmacm";
    else
        why = open_queue(r);
    if (why != NULL) {
        e->log(e->arg, NCOLL_LOG_WARN, "verbs: NCOLL_RAILS: the second card %s is not used: %s",
               r->where.device, why);
        ncoll__rail_close(v);
        return;
    }
    r->mbit_per_s = r->where.mbit_per_s;
    r->both_mbit_per_s = r->mbit_per_s + v->where.mbit_per_s;
    if (r->mbit_per_s == 0 || v->where.mbit_per_s == 0) {
        r->mbit_per_s = 1;
        r->both_mbit_per_s = 2;
    }
    v->transport.held = &r->n_held;
    e->log(e->arg, NCOLL_LOG_INFO, "verbs: second device %s, port %d, GID %d", r->where.device,
           r->where.port, r->where.gid_index);
}

void ncoll__rail_close(struct verbs *v)
{
    if (v->rail != NULL)
        free_rail(v->rail);
    v->rail = NULL;
}

/* ------------------------------------------------------------------ words --------------------- */

static void owe(struct verbs *v, struct connection *c, enum rail_word word)
{
    c->rail->owes = word;
    ncoll__verbs_has_words(v, c);
}

/* From now on the second card writes nothing from this rank's memory to the peer's, nor into this
 * rank's. */
static void end(struct connection *c)
{
    struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};

    if (c->rail->qp != NULL)
        (void)ibv_modify_qp(c->rail->qp, &error, IBV_QP_STATE);
    c->rail->state = RAIL_CLOSED;
}

static void close_to(struct verbs *v, struct connection *c)
{
    end(c);
    owe(v, c, RAIL_CLOSES);
}

/* The second card carries nothing more to a peer. */
static void give_up(struct verbs *v, struct connection *c, const char *why)
{
    const struct transport_events *e = &v->config.events;

    if (c->rail->state == RAIL_CLOSED)
        return;
    e->log(e->arg, NCOLL_LOG_WARN,
           "verbs: the second card %s does not reach rank %d: %s; the first one goes on alone",
           v->rail != NULL ? v->rail->where.device : "", c->endpoint.rank, why);
    close_to(v, c);
}

/* Makes a queue pair. Returns false if that is not possible. */
static bool make_qp(struct verbs *v, struct connection *c)
{
    struct rail_qp *q = c->rail;
    struct ibv_qp_init_attr attr = {
        .send_cq = v->rail->cq,
        .recv_cq = v->rail->cq,
        .cap = {.max_send_wr = RAIL_DEPTH, .max_send_sge = 1},
        .qp_type = IBV_QPT_RC,
    };

    if ((q->qp = ibv_create_qp(v->rail->pd, &attr)) == NULL)
        return false;
    if (getrandom(&q->psn, sizeof q->psn, 0) != sizeof q->psn)
        q->psn = (uint32_t)c->endpoint.rank;
    q->psn &= 0xffffff;
    const struct qp_ends ends = {.qp = q->qp, .where = &v->rail->where};
    return ncoll__qp_to_init(&ends) == 0;
}

/* Returns what this connection has, in a state; NULL: no memory, so it stays as it is. */
static struct rail_qp *rail_of(struct connection *c, enum rail_state state)
{
    if (c->rail == NULL && (c->rail = calloc(1, sizeof *c->rail)) != NULL)
        c->rail->state = state;
    return c->rail;
}

static void offer(struct verbs *v, struct connection *c)
{
    if (rail_of(c, RAIL_OFFERED) == NULL)
        return;
    if (is_usable(v) && make_qp(v, c))
        owe(v, c, RAIL_OFFERS);
    else
        close_to(v, c);
}

/* Begins to connect the second cards. */
static void begin(struct verbs *v, struct connection *c)
{
    if (v->config.rank < c->endpoint.rank)
        offer(v, c);
    else if (rail_of(c, RAIL_ASKED) != NULL)
        owe(v, c, RAIL_ASKS);
}

static struct rail_note note_of(const struct verbs *v, const struct connection *c)
{
    struct rail_note note = {.word = c->rail->owes};

    if (c->rail->qp == NULL)
        return note;
    const struct candidate *where = &v->rail->where;
    note.qpn = c->rail->qp->qp_num;
    note.psn = c->rail->psn;
    note.prefix_bits = where->prefix_bits;
    note.port = (struct verbs_description){
        .lid = v->rail->port.lid,
        .mtu = (uint8_t)ncoll__verbs_mtu(v, &v->rail->port),
        .link_layer = v->rail->port.link_layer,
        .gid_kind = (uint16_t)where->kind,
        .pkey = where->pkey,
        .needs_grh = ncoll__needs_grh(&v->rail->port),
    };
    memcpy(note.port.gid, where->gid.raw, sizeof note.port.gid);
    return note;
}

bool ncoll__rail_send_word(struct verbs *v, struct connection *c)
{
    if (c->rail == NULL || c->rail->owes == RAIL_NOTHING)
        return true;
    if (!may_send(c))
        return false;
    const struct rail_note note = note_of(v, c);
    if (!ncoll__verbs_word(v, c, WORD_RAIL, &note, sizeof note, offsetof(struct inbox, rail)))
        return false;
    c->rail->owes = RAIL_NOTHING;
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

static bool connect_to(struct verbs *v, struct connection *c, const struct rail_note *note)
{
    const struct qp_ends ends = {.qp = c->rail->qp,
                                 .where = &v->rail->where,
                                 .port = &v->rail->port,
                                 .psn = c->rail->psn,
                                 .peer = &note->port,
                                 .peer_qpn = note->qpn,
                                 .peer_psn = note->psn};

    return meets(v, note) && ncoll__qp_to_rtr(v, &ends) == 0 && ncoll__qp_to_rts(v, &ends) == 0;
}

static void offer_came(struct verbs *v, struct connection *c, const struct rail_note *note)
{
    if (rail_of(c, RAIL_ASKED) == NULL || c->rail->state != RAIL_ASKED)
        return;
    if (!is_usable(v) || !make_qp(v, c)) {
        close_to(v, c);
    } else if (connect_to(v, c, note)) {
        c->rail->state = RAIL_ACCEPTED;
        owe(v, c, RAIL_ACCEPTS);
    } else {
        give_up(v, c, "they are not on the same network");
    }
}

static void answer_came(struct verbs *v, struct connection *c, const struct rail_note *note)
{
    if (c->rail == NULL || c->rail->state != RAIL_OFFERED)
        return;
    if (is_usable(v) && connect_to(v, c, note)) {
        c->rail->state = RAIL_OPEN;
        owe(v, c, RAIL_READY);
    } else {
        give_up(v, c, "they are not on the same network");
    }
}

static void end_came(struct verbs *v, struct connection *c)
{
    if (rail_of(c, RAIL_ASKED) == NULL)
        return;
    c->rail->peer_closed = true;
    if (c->rail->state == RAIL_OPEN || c->rail->state == RAIL_ACCEPTED)
        give_up(v, c, "that rank has closed it");
    else if (c->rail->state != RAIL_CLOSED)
        close_to(v, c);
}

void ncoll__rail_word_came(struct verbs *v, struct connection *c)
{
    const struct rail_note note = c->inbox->rail;

    switch ((enum rail_word)note.word) {
    case RAIL_ASKS:
        if (c->rail == NULL)
            offer(v, c);
        break;
    case RAIL_OFFERS:
        offer_came(v, c, &note);
        break;
    case RAIL_ACCEPTS:
        answer_came(v, c, &note);
        break;
    case RAIL_READY:
        if (c->rail != NULL && c->rail->state == RAIL_ACCEPTED)
            c->rail->state = RAIL_OPEN;
        break;
    case RAIL_CLOSES:
        end_came(v, c);
        break;
    case RAIL_NOTHING:
        break;
    }
}

/* ------------------------------------------------------------------ failures ------------------ */

/* The card carries nothing more, to any peer. */
static void fail(struct verbs *v, const char *why)
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
        if (v->connections[i]->rail != NULL && v->connections[i]->rail->state != RAIL_CLOSED)
            close_to(v, v->connections[i]);
}

void ncoll__rail_listen(struct verbs *v, struct connection *c, uint64_t elapsed_ns)
{
    struct rail_qp *q = c->rail;
    char why[80];

    if (q == NULL || q->state != RAIL_OPEN)
        return;
    bool silent = q->posted != q->completed && q->completed == q->seen_completed;
    q->seen_completed = q->completed;
    q->silent_ns = silent ? q->silent_ns + elapsed_ns : 0;
    if (q->silent_ns < v->config.peer_timeout_ns)
        return;
    snprintf(why, sizeof why, "it has not answered for %.1f s (NCOLL_PEER_TIMEOUT)",
             (double)q->silent_ns / 1e9);
    give_up(v, c, why);
}

static bool is_the_end(const struct rail *r, const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_DEVICE_FATAL:
    case IBV_EVENT_CQ_ERR:
        return true;
    case IBV_EVENT_PORT_ERR: /* the other card works, so there is no reason to wait */
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
            fail(v, ibv_event_type_str(event.event_type));
        ibv_ack_async_event(&event);
    }
}

struct ibv_mr *ncoll__rail_register(struct verbs *v, void *base, size_t bytes, bool is_bulk)
{
    struct ibv_mr *mr = NULL;

    if (is_usable(v) &&
        (mr = ibv_reg_mr(v->rail->pd, base, bytes, ncoll__memory_access(v, is_bulk))) == NULL)
        fail(v, "it cannot register memory");
    return mr;
}

/* ------------------------------------------------------------------ messages ------------------ */

/* Finds the keys of a put on the second card: of the source, and of the memory there. */
static bool find_keys(const struct view *view, const struct put *put, uint32_t *own, uint32_t *there)
{
    const struct verbs_memory *users = (const struct verbs_memory *)put->memory;
    const struct verbs_window *w = (const struct verbs_window *)put->window;
    unsigned set = put->epoch % EPOCHS;
    bool in_scratch = (const unsigned char *)put->src >= put->window->scratch;
    const struct ibv_mr *mr = users != NULL ? users->rail_mr
                              : in_scratch  ? w->rail_scratch[set]
                                            : w->rail_bulk[set];

    if (mr == NULL)
        return false;
    *own = mr->lkey;
    *there = put->route == ROUTE_PLACED ? (uint32_t)(put->advertisement->out.words[1] >> 32)
                                        : view->rail_bulk_rkeys[set];
    return *there != 0;
}

static bool has_room(const struct verbs *v, const struct connection *c)
{
    const struct rail_qp *q = c->rail;

    return v->rail->n_held < HELD_MOST && q->posted - q->completed < RAIL_DEPTH &&
           send_room(c) >= SEND_RESERVE + 2;
}

/* Returns the number of bytes that the first card sends. */
static size_t first_part(const struct rail *r, size_t bytes)
{
    uint64_t second = bytes * r->mbit_per_s / r->both_mbit_per_s / PART_UNIT * PART_UNIT;

    return bytes - (size_t)second;
}

bool ncoll__rail_put(struct verbs *v, struct connection *c, const struct view *view,
                     const struct put *put, bool *posted)
{
    struct rail_qp *q = c->rail;
    uint32_t own, there;
    struct ibv_sge sge;
    struct ibv_send_wr *bad;

    if (v->rail->failed || put->goes_now || !find_keys(view, put, &own, &there))
        return false;
    if (q == NULL)
        begin(v, c);
    if (q == NULL || q->state != RAIL_OPEN || !has_room(v, c))
        return false;
    size_t from = first_part(v->rail, put->len_bytes);
    struct ibv_send_wr part = ncoll__verbs_payload(view, put, from, put->len_bytes, &sge);
    sge.lkey = own;
    part.wr.rdma.rkey = there;
    part.send_flags = IBV_SEND_SIGNALED;
    part.wr_id = send_id(c, q->posted + 1);
    int error = ibv_post_send(q->qp, &part, &bad);
    if (error != 0) {
        give_up(v, c, strerror(error));
        return false;
    }
    v->rail->held[v->rail->n_held++] = (struct held){
        .c = c, .window = put->window->shape.id, .from = from, .end = ++q->posted, .put = *put};
    v->rail->bytes += put->len_bytes - from;
    part = ncoll__verbs_payload(view, put, 0, from, &sge);
    *posted = verbs_post(v, c, &part, &part, 1, !put->answered);
    return true;
}

/* ------------------------------------------------------------------ held messages ------------- */

void ncoll__rail_forget(struct verbs *v, const struct connection *c, unsigned window)
{
    struct rail *r = v->rail;
    unsigned kept = 0;

    if (r == NULL)
        return;
    for (unsigned i = 0; i < r->n_held; i++) {
        const struct held *h = &r->held[i];
        if ((c == NULL || h->c == c) && (window == ALL_WINDOWS || h->window == window))
            continue;
        r->held[kept++] = *h;
    }
    r->n_held = kept;
}

/* Sends the notification of a message, if its parts have arrived, or after what the second card has not
 * delivered. Returns false if it is to be held on. */
static bool release(struct verbs *v, struct held *h)
{
    struct connection *c = h->c;
    const struct rail_qp *q = c->rail;
    const struct view *view = &c->views[h->window];
    bool delivered = (int32_t)(h->end - q->completed) <= 0;
    struct ibv_sge sge;

    if (!delivered && !(q->state == RAIL_CLOSED && q->peer_closed))
        return false;
    if (send_room(c) < SEND_RESERVE + 2)
        return false;
    if (!delivered) {
        struct ibv_send_wr again =
            ncoll__verbs_payload(view, &h->put, h->from, h->put.len_bytes, &sge);
        if (!verbs_post(v, c, &again, &again, 1, !h->put.answered))
            return false;
        ncoll__verbs_note_long(v, c, &h->put);
    }
    (void)ncoll__verbs_notify(v, c, view, &h->put);
    return true;
}

/* A connection that is lost while something is sent has its messages forgotten, so the list may become
 * shorter at any time. */
static void release_all(struct verbs *v)
{
    struct rail *r = v->rail;

    for (unsigned i = 0; i < r->n_held;) {
        struct held h = r->held[i];
        if (!release(v, &h)) {
            i++;
            continue;
        }
        if (i < r->n_held && r->held[i].c == h.c && r->held[i].end == h.end)
            r->held[i] = r->held[--r->n_held];
    }
}

static void handle(struct verbs *v, const struct ibv_wc *wc)
{
    struct connection *c = v->connections[(wc->wr_id >> 32) - 1];

    if (c->rail == NULL || c->rail->state == RAIL_CLOSED)
        return;
    if (wc->status == IBV_WC_SUCCESS)
        c->rail->completed = (uint32_t)wc->wr_id;
    else
        give_up(v, c, ibv_wc_status_str(wc->status));
}

void ncoll__rail_progress(struct verbs *v)
{
    struct ibv_wc wc[POLL_BATCH];
    int n;

    while ((n = ibv_poll_cq(v->rail->cq, POLL_BATCH, wc)) > 0) {
        for (int i = 0; i < n; i++)
            handle(v, &wc[i]);
        v->completions += (uint64_t)n;
    }
    if (n < 0)
        fail(v, "its completion queue failed");
    release_all(v);
}

/* ------------------------------------------------------------------ sleep --------------------- */

static bool waits(const struct verbs *v)
{
    return v->rail != NULL && v->rail->n_held > 0;
}

int ncoll__rail_wake_fd(const struct verbs *v)
{
    return waits(v) ? v->rail->channel->fd : -1;
}

bool ncoll__rail_is_armed(const struct verbs *v)
{
    return !waits(v) || v->rail->armed;
}

void ncoll__rail_arm(struct verbs *v)
{
    if (waits(v) && !v->rail->armed)
        v->rail->armed = ibv_req_notify_cq(v->rail->cq, 0) == 0;
}

void ncoll__rail_take_event(struct verbs *v)
{
    struct rail *r = v->rail;
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(r->channel, &cq, &context) != 0)
        return;
    r->armed = false;
    r->events_unacked++;
}

/* ------------------------------------------------------------------ ends of connections ------- */

void ncoll__rail_end(struct verbs *v, struct connection *c)
{
    if (c->rail == NULL)
        return;
    end(c);
    c->rail->owes = RAIL_NOTHING;
    ncoll__rail_forget(v, c, ALL_WINDOWS);
}

void ncoll__rail_qp_free(struct connection *c)
{
    if (c->rail != NULL && c->rail->qp != NULL)
        ibv_destroy_qp(c->rail->qp);
    free(c->rail);
    c->rail = NULL;
}
