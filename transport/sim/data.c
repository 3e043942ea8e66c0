/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path: when messages leave and arrive, and what they write.
 *
 * A message leaves when the link of its sender is free, and keeps the link busy for g + G len. It
 * arrives L later, or when the link of the receiver has taken in earlier messages, and never before
 * an earlier message of its connection. The source of a long message is read when the message
 * arrives.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/sim/sim_transport.h"

/* ------------------------------------------------------------------ sending ------------------- */

static uint64_t bytes_ns(size_t bytes)
{
    return (uint64_t)bytes * 1000 / ncoll__sim->config.bytes_per_us;
}

static uint64_t link_ns(size_t bytes)
{
    return ncoll__sim->config.gap_ns + bytes_ns(bytes);
}

struct sim_message *ncoll__sim_message(struct sim_transport *t, const struct link *link,
                                       enum message_kind kind, const void *payload, size_t bytes)
{
    size_t room = payload != NULL ? bytes : 0;
    struct sim_message *m = malloc(sizeof *m + room);

    if (m == NULL)
        abort();
    *m = (struct sim_message){
        .event = {.kind = EVENT_ARRIVAL, .rank = link->endpoint.rank, .place = NOT_QUEUED},
        .kind = kind,
        .from = t->config.rank,
        .session = t->session,
        .bytes = bytes,
    };
    if (room > 0)
        memcpy(m->payload, payload, room);
    return m;
}

void ncoll__sim_send(struct sim_transport *t, struct link *link, struct sim_message *m)
{
    const struct sim_config *c = &ncoll__sim->config;
    struct sim_rank *r = t->owner;
    bool is_near = link->endpoint.rank / c->node_ranks == r->rank / c->node_ranks;

    r->now_ns += c->overhead_ns;
    uint64_t leaves = r->now_ns > r->sends_from_ns ? r->now_ns : r->sends_from_ns;
    r->sends_from_ns = leaves + link_ns(m->bytes);
    uint64_t at_ns = leaves + bytes_ns(m->bytes) + (is_near ? c->near_latency_ns : c->latency_ns) +
                     link->slow_ns + sim_random_to(&r->random, c->jitter_ns);
    at_ns = at_ns > link->last_ns ? at_ns : link->last_ns + 1;
    link->last_ns = at_ns;
    ncoll__sim->report.messages++;
    ncoll__sim->report.message_bytes += m->bytes;
    ncoll__sim_push(&ncoll__sim->queue, &m->event, at_ns);
}

/* Counts a message that is now on its way, in its connection, its transport and its group's
 * window. */
static void count(struct sim_transport *t, struct link *link, struct sim_message *m,
                  const struct window *w)
{
    struct sim_window *own = (struct sim_window *)w;

    m->own = (struct window_name){w->shape.id, own->unique};
    m->there = link->views[w->shape.id].name;
    m->link = link;
    m->counted = true;
    own->on_way++;
    own->long_on_way += m->src != NULL;
    link->on_way++;
    t->on_way++;
    t->long_on_way += m->src != NULL;
    t->users_on_way += m->src != NULL && m->of_user;
}

/* Checks if a message may be sent to the peer's window of w's group. Returns NCOLL_OK;
 * NCOLL_TIMEOUT: not now; or NCOLL_ERR_PEER. */
static int may_send(struct sim_transport *t, struct link *link, const struct window *w)
{
    const struct sim_config *c = &ncoll__sim->config;

    if (ncoll__sim_is_dead(t) || link->gone || link->left)
        return NCOLL_ERR_PEER;
    if (!link->met || t->owner->now_ns < link->ready_at_ns)
        ncoll__sim_violation("rank %d writes to rank %d, which is not ready", t->config.rank,
                             link->endpoint.rank);
    if (w->shape.id >= link->n_views || link->views[w->shape.id].name.unique == 0) {
        ncoll__sim_violation("rank %d writes to a window of rank %d that it was not offered",
                             t->config.rank, link->endpoint.rank);
        return NCOLL_ERR_PEER;
    }
    if (link->on_way >= c->depth)
        return NCOLL_TIMEOUT;
    if (!sim_one_in(&t->owner->random, c->refuse_one_in))
        return NCOLL_OK;
    t->retries = true;
    return NCOLL_TIMEOUT;
}

static bool lies_in(const void *at, size_t len, const unsigned char *base, size_t bytes)
{
    size_t before = (size_t)((const unsigned char *)at - base);

    return before <= bytes && len <= bytes - before;
}

/* Reports sources and routes that a network card would refuse. */
static void check_source(const struct sim_transport *t, const struct put *put)
{
    const struct window *w = put->window;
    const struct window_extent *own = &((const struct sim_window *)w)->extent;
    const struct memory *m = put->memory;
    size_t set = put->epoch % EPOCHS;
    bool known = m != NULL
                     ? lies_in(put->src, put->len_bytes, m->base, m->bytes)
                     : lies_in(put->src, put->len_bytes, w->scratch + set * w->shape.scratch_bytes,
                               own->scratch_bytes) ||
                           lies_in(put->src, put->len_bytes, w->bulk + set * w->shape.bulk_bytes,
                                   own->bulk_bytes);

    if (!known)
        ncoll__sim_violation("rank %d sends %zu bytes from memory that the transport does not know",
                             t->config.rank, put->len_bytes);
    if (put->route > ROUTE_PLACED)
        ncoll__sim_violation("rank %d sends by route %d, which does not exist here", t->config.rank,
                             (int)put->route);
}

/* True if the peer has admitted this rank to all that the put writes. */
static bool is_admitted(const struct link *link, const struct put *put)
{
    const struct window_extent *e = &link->views[put->window->shape.id].admitted;

    return put->slot < e->slots && (put->len_bytes <= SLOT_PAYLOAD || put->route == ROUTE_PLACED ||
                                    put->bulk_offset + put->len_bytes <= e->bulk_bytes);
}

int ncoll__sim_put(struct transport *transport, const struct put *put)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = (struct link *)put->to;
    bool is_long = put->len_bytes > SLOT_PAYLOAD;

    int rc = may_send(t, link, put->window);
    if (rc != NCOLL_OK)
        return rc;
    if (!is_admitted(link, put)) {
        t->retries = true;
        return NCOLL_TIMEOUT;
    }
    ncoll__sim_give_back((struct sim_window *)put->window);
    if (is_long) {
        check_source(t, put);
        ncoll__sim_use_scratch((struct sim_window *)put->window, put->epoch, put->src,
                               put->len_bytes);
    }
    struct sim_message *m =
        ncoll__sim_message(t, link, MESSAGE_PUT, is_long ? NULL : put->src, put->len_bytes);
    m->epoch = put->epoch;
    m->slot = put->slot;
    m->signature = put->signature;
    if (is_long) {
        m->route = put->route == ROUTE_PLACED ? ROUTE_PLACED : ROUTE_BULK;
        m->src = put->src;
        m->of_user = put->memory != NULL;
        m->bulk_offset = m->route == ROUTE_PLACED ? put->out_offset : put->bulk_offset;
        if (m->route == ROUTE_PLACED)
            m->out = put->advertisement->out;
    }
    count(t, link, m, put->window);
    ncoll__sim_send(t, link, m);
    return NCOLL_OK;
}

int ncoll__sim_credit(struct transport *transport, struct endpoint *to, const struct window *w,
                      uint64_t epoch)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = (struct link *)to;

    int rc = may_send(t, link, w);
    if (rc != NCOLL_OK)
        return rc;
    ncoll__sim_give_back((struct sim_window *)w);
    struct sim_message *m = ncoll__sim_message(t, link, MESSAGE_CREDIT, &epoch, sizeof epoch);
    m->epoch = epoch;
    m->slot = w->shape.rank;
    count(t, link, m, w);
    ncoll__sim_send(t, link, m);
    return NCOLL_OK;
}

/* Sends an advertisement. The words of advertisement->out are the address of OUT and the unique
 * number of the memory. */
int ncoll__sim_advertise(struct transport *transport, struct endpoint *to, const struct window *w,
                         unsigned box, const struct memory *memory, const void *out,
                         struct advertisement *advertisement)
{
    struct sim_transport *t = sim_of(transport);
    struct link *link = (struct link *)to;

    int rc = may_send(t, link, w);
    if (rc != NCOLL_OK)
        return rc;
    advertisement->out =
        (struct place){{(uintptr_t)out, ((const struct sim_memory *)memory)->unique}};
    advertisement->check = advertisement_check(advertisement, w->shape.rank);
    struct sim_message *m = ncoll__sim_message(t, link, MESSAGE_ADVERTISEMENT, advertisement,
                                               advertisement_bytes(advertisement));
    m->slot = (unsigned)advertisement_index(&w->shape, w->shape.rank, box);
    count(t, link, m, w);
    ncoll__sim_send(t, link, m);
    return NCOLL_OK;
}

bool ncoll__sim_drained(struct transport *transport, bool users_only)
{
    const struct sim_transport *t = sim_of(transport);

    return (users_only ? t->users_on_way : t->long_on_way) == 0;
}

bool ncoll__sim_arrived(struct transport *transport, struct window *w)
{
    (void)transport;
    return ((struct sim_window *)w)->on_way == 0;
}

/* ------------------------------------------------------------------ arriving ------------------ */

/* Lets a message pass the receiver's link, which takes one message at a time. Returns true if the
 * message has to wait for that; then it is in the queue again. */
static bool queues(struct sim_rank *to, struct sim_message *m)
{
    struct sim *s = ncoll__sim;
    uint64_t free_ns = to->receives_from_ns + link_ns(m->bytes);

    m->through = true;
    to->receives_from_ns = free_ns > s->now_ns ? free_ns : s->now_ns;
    if (free_ns <= s->now_ns)
        return false;
    ncoll__sim_push(&s->queue, &m->event, free_ns);
    return true;
}

/* Lets the sender know that a message has arrived. */
static void complete(const struct sim_message *m)
{
    struct sim *s = ncoll__sim;
    struct sim_rank *from = sim_rank_of(m->from);
    struct sim_transport *t = from->transport;
    struct sim_window *own;

    if (t == NULL || t->session != m->session)
        return;
    t->farewells_on_way -= m->kind == MESSAGE_FAREWELL;
    if (!m->counted)
        return;
    t->on_way--;
    t->long_on_way -= m->src != NULL;
    t->users_on_way -= m->src != NULL && m->of_user;
    m->link->on_way--;
    if ((own = ncoll__sim_window(t, m->own)) != NULL) {
        own->on_way--;
        own->long_on_way -= m->src != NULL;
    }
    if (from->n_awaited == 0)
        ncoll__sim_wake(from, s->now_ns + s->config.latency_ns);
}

static void wake(struct sim_rank *to)
{
    bool wakes = to->n_awaited == 0;

    for (unsigned i = 0; i < to->n_awaited && !wakes; i++)
        wakes = awaited_raised(to->window, &to->awaited[i]);
    if (wakes)
        ncoll__sim_wake(to, ncoll__sim->now_ns);
}

static void check_epoch(const struct sim_message *m, const struct window *w)
{
    if (ncoll__sim->wounded)
        return;
    if (m->slot >= w->shape.n_slots)
        ncoll__sim_violation("rank %d writes to slot %u of rank %d, which has %u slots", m->from,
                             m->slot, m->event.rank, w->shape.n_slots);
    else if (m->epoch > w->epoch + EPOCHS || m->epoch <= w->epoch)
        ncoll__sim_violation(
            "rank %d writes in epoch %llu to slot %u of rank %d, which has finished %llu", m->from,
            (unsigned long long)m->epoch, m->slot, m->event.rank, (unsigned long long)w->epoch);
}

/* Returns the address of a message in the OUT that the receiver has advertised; NULL: that memory
 * is no longer registered. */
static unsigned char *placed_at(const struct sim_transport *t, const struct sim_message *m)
{
    const struct sim_memory *memory = t->memories;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the receiver's own address */
    unsigned char *at = (unsigned char *)(uintptr_t)m->out.words[0] + m->bulk_offset;

    while (memory != NULL && memory->unique != m->out.words[1])
        memory = memory->next;
    return memory != NULL && lies_in(at, m->bytes, memory->memory.base, memory->memory.bytes)
               ? at
               : NULL;
}

static void put_long(const struct sim_transport *t, const struct sim_message *m, struct window *w,
                     struct slot *slot)
{
    const struct window_shape *shape = &w->shape;
    unsigned char *at = m->route == ROUTE_PLACED
                            ? placed_at(t, m)
                            : w->bulk + m->epoch % EPOCHS * shape->bulk_bytes + m->bulk_offset;

    if (at == NULL ||
        (m->route == ROUTE_BULK && !lies_in(at, m->bytes, w->bulk, EPOCHS * shape->bulk_bytes))) {
        if (!ncoll__sim->wounded)
            ncoll__sim_violation("rank %d writes %zu bytes to rank %d outside of its memory",
                                 m->from, m->bytes, m->event.rank);
        return;
    }
    if (m->route == ROUTE_BULK)
        ncoll__sim_use_bulk((struct sim_window *)w, m->epoch, m->bulk_offset + m->bytes);
    slot->route = m->route;
    memcpy(at, m->copy != NULL ? m->copy : m->src, m->bytes);
}

static void take_put(struct sim_transport *t, const struct sim_message *m, struct window *w)
{
    check_epoch(m, w);
    if (m->slot >= w->shape.n_slots)
        return;
    struct slot *slot = window_slot(w, m->epoch, m->slot);
    ncoll__sim_use_slot((struct sim_window *)w, m->epoch, m->slot);
    slot->signature = m->signature;
    if (m->src != NULL)
        put_long(t, m, w, slot);
    else
        memcpy(slot->payload, m->payload, m->bytes);
    atomic_store_explicit(&slot->flag, m->epoch, memory_order_release);
    wake(t->owner);
}

/* Writes an advertisement to its box. The receiver is not woken: it reads the box when it sends. */
static void take_advertisement(const struct sim_message *m, struct window *w)
{
    struct advertisement_box *box = &w->advertisements[m->slot];
    uint64_t word;

    for (size_t i = 0; i < m->bytes / sizeof word; i++) {
        memcpy(&word, m->payload + i * sizeof word, sizeof word);
        atomic_store_explicit(&box->words[i], word, memory_order_relaxed);
    }
}

/* Delivers a message to its receiver. Returns true if the message is kept as mail. */
static bool take(struct sim_transport *t, struct sim_message *m)
{
    struct sim_window *w;

    if (m->kind >= MESSAGE_CONTROL) {
        ncoll__sim_mail(t, m);
        return true;
    }
    if ((w = ncoll__sim_window(t, m->there)) == NULL) {
        ncoll__sim->report.delivered_to_nobody++;
        if (m->kind == MESSAGE_PUT && !ncoll__sim->wounded)
            ncoll__sim_violation("rank %d writes to a window of rank %d that no longer exists",
                                 m->from, m->event.rank);
        return false;
    }
    if (m->kind == MESSAGE_PUT)
        take_put(t, m, &w->window);
    else if (m->kind == MESSAGE_ADVERTISEMENT)
        take_advertisement(m, &w->window);
    else
        atomic_store_explicit(&w->window.credits[m->slot], m->epoch, memory_order_release);
    if (m->kind == MESSAGE_CREDIT && t->owner->n_awaited == 0)
        ncoll__sim_wake(t->owner, ncoll__sim->now_ns);
    return false;
}

void ncoll__sim_arrive(struct sim_message *m)
{
    struct sim_rank *to = sim_rank_of(m->event.rank);
    struct sim_transport *t = to->transport;
    bool kept = false;

    if (!m->through && queues(to, m))
        return;
    complete(m);
    if (m->lost || to->killed || t == NULL || t->session != m->session)
        ncoll__sim->report.delivered_to_nobody++;
    else
        kept = take(t, m);
    if (!kept) {
        free(m->copy);
        free(m);
    }
}

/* ------------------------------------------------------------------ kills --------------------- */

static void cut(struct sim_message *m, bool lost)
{
    m->counted = false;
    m->lost = lost;
    if (lost || m->src == NULL)
        return;
    m->copy = malloc(m->bytes);
    if (m->copy == NULL)
        abort();
    memcpy(m->copy, m->src, m->bytes);
}

void ncoll__sim_cut(struct sim_rank *r)
{
    const struct queue *q = &ncoll__sim->queue;
    struct sim_transport *t = r->transport;
    bool lost = ncoll__sim->over || sim_one_in(&r->random, 2);

    for (size_t i = 0; i < q->count; i++) {
        struct sim_message *m = (struct sim_message *)q->entries[i].event;
        if (m->event.kind == EVENT_ARRIVAL && m->from == r->rank && m->kind != MESSAGE_GONE)
            cut(m, lost);
    }
    if (t == NULL)
        return;
    t->on_way = t->long_on_way = t->users_on_way = 0;
    for (unsigned i = 0; i < t->n_windows; i++)
        if (t->windows[i] != NULL)
            t->windows[i]->on_way = t->windows[i]->long_on_way = 0;
    for (unsigned i = 0; i < t->n_places; i++)
        if (t->links[i] != NULL)
            t->links[i]->on_way = 0;
}
