/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path: puts and completions.
 *
 * A short message is one write of signature and payload to the peer's slot, next to its flag, with
 * immediate data. A long message takes two writes with one doorbell: a plain write of the payload
 * to the peer's bulk memory or its OUT, and a write of the head (signature and place of the
 * payload) with immediate data. On a queue pair a later write is placed after an earlier one, and
 * the receiver's completion comes after both. So when the receiver's progress() has polled the
 * completion, it may read both. It then raises the flag with release order for all ranks that read
 * the flag.
 *
 * Calls repeat, so the peer has mostly seen the head of a long message on this connection before.
 * Then the payload itself is written with the immediate data, and the receiver finds the head by
 * its digest: one write instead of two. Connections keep order, so both sides remember the same
 * heads. Very long payloads are still sent by a plain write, which a network may route adaptively,
 * followed by an empty write with the immediate data.
 *
 * With a second card, the first card sends its part of a long message in this way (rail.h).
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/post.h"
#include "transport/verbs/rail.h"

/* The longest payload that is sent in one write with the immediate data. */
#define ONE_WRITE_BYTES 16384u

/* ------------------------------------------------------------------ sending ------------------- */

/* Returns the work request that writes to the slot of a message and raises it. The caller adds the
 * data for the slot. */
static inline struct ibv_send_wr notification(const struct view *view, const struct put *put)
{
    size_t slot = slot_index(put->epoch, put->slot) * sizeof(struct slot);

    return (struct ibv_send_wr){
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data =
            htonl(imm_pack(IMM_MESSAGE, view->first + put->slot, put->epoch, put->signature)),
        .wr.rdma = {.remote_addr = view->addr + slot + offsetof(struct slot, signature),
                    .rkey = view->rkey},
    };
}

static uint32_t imm_of(const struct view *view, const struct put *put, enum imm_kind kind)
{
    return htonl(imm_pack(kind, view->first + put->slot, put->epoch, put->signature));
}

/* Returns the key of this rank's scratch or bulk memory, whichever contains the source of a put. */
static uint32_t own_key(const struct put *put)
{
    const struct verbs_window *own = (const struct verbs_window *)put->window;
    bool in_scratch = (const unsigned char *)put->src >= put->window->scratch;

    return (in_scratch ? own->scratch : own->bulk)[put->epoch % EPOCHS]->lkey;
}

/* Returns true if the peer has told the keys of all that the put writes. */
static inline bool has_keys(const struct view *view, const struct put *put)
{
    return put->slot < view->slots &&
           (put->len_bytes <= SLOT_PAYLOAD || put->route == ROUTE_PLACED ||
            put->bulk_offset + put->len_bytes <= view->bulk_bytes);
}

struct ibv_send_wr ncoll__verbs_payload(const struct view *view, const struct put *put, size_t from,
                                        size_t to, struct ibv_sge *sge)
{
    const struct verbs_memory *users = verbs_memory_of(put->memory);
    const struct window_shape *shape = &put->window->shape;
    unsigned set = put->epoch % EPOCHS;
    struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

    *sge = (struct ibv_sge){.addr = (uintptr_t)put->src + from,
                            .length = (uint32_t)(to - from),
                            .lkey = users != NULL ? users->mr->lkey : own_key(put)};
    if (put->route == ROUTE_PLACED) {
        wr.wr.rdma.remote_addr = put->advertisement->out.words[0] + put->out_offset + from;
        wr.wr.rdma.rkey = (uint32_t)put->advertisement->out.words[1];
    } else {
        wr.wr.rdma.remote_addr = view->addr - window_slots_at(shape) + window_bulk_at(shape) +
                                 set * shape->bulk_bytes + put->bulk_offset + from;
        wr.wr.rdma.rkey = view->bulk_rkeys[set];
    }
    return wr;
}

void ncoll__verbs_note_long(struct verbs *v, struct connection *c, bool is_users)
{
    if (!c->undrained) {
        c->undrained = true;
        c->next_undrained = v->undrained;
        v->undrained = c;
    }
    c->long_posted = c->posted;
    if (is_users)
        c->users_posted = c->posted;
}

/* Sends the first `bytes` bytes of a long message. The second card sends the rest, if there is
 * any. */
static bool put_long(struct verbs *v, struct connection *c, const struct view *view,
                     const struct put *put, size_t bytes)
{
    uint64_t joint = bytes < put->len_bytes ? ROUTE_JOINT : 0;
    struct head head = {put->signature,
                        (put->route == ROUTE_PLACED ? ROUTE_PLACED : ROUTE_BULK) | joint};
    struct head *known = &c->heads_there[imm_digest_of(put->signature) % SIGNATURES];
    struct ibv_sge sge, head_sge = {.addr = (uintptr_t)&head, .length = sizeof head};
    struct ibv_send_wr payload = ncoll__verbs_payload(view, put, 0, bytes, &sge),
                       notify = notification(view, put);
    bool is_known = signature_equal(known->signature, head.signature) && known->route == head.route,
         posted;

    if (is_known && bytes <= ONE_WRITE_BYTES) {
        payload.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        payload.imm_data = imm_of(view, put, IMM_RECALL);
        posted = verbs_post(v, c, &payload, &payload, 1, !put->answered);
    } else {
        payload.next = &notify;
        notify.imm_data = imm_of(view, put, is_known ? IMM_RECALL : IMM_LEARN);
        if (!is_known) { /* the write is empty if the peer knows the head */
            *known = head;
            notify.sg_list = &head_sge;
            notify.num_sge = 1;
            take_along(c, &notify, sizeof head);
        }
        posted = verbs_post(v, c, &payload, &notify, 2, !put->answered);
    }
    ncoll__verbs_note_long(v, c, put->memory != NULL);
    return posted;
}

int ncoll__verbs_put(struct transport *t, const struct put *put)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)put->to;
    const struct view *view = &c->views[put->window->shape.id];
    bool posted;

    if (unlikely(c->state != CONNECTION_READY || c->left))
        return NCOLL_ERR_PEER;
    if (unlikely(!may_send(c) || !has_keys(view, put)))
        return NCOLL_TIMEOUT;
    if (likely(put->len_bytes <= SLOT_PAYLOAD)) {
        struct ibv_send_wr wr = notification(view, put);
        struct ibv_sge sge[2] = {
            {.addr = (uintptr_t)&put->signature, .length = sizeof put->signature},
            {.addr = (uintptr_t)put->src, .length = (uint32_t)put->len_bytes},
        };
        wr.sg_list = sge;
        wr.num_sge = put->len_bytes > 0 ? 2 : 1;
        take_along(c, &wr, sizeof put->signature + put->len_bytes);
        posted = verbs_post(v, c, &wr, &wr, 1, false);
    } else {
        bool divides = unlikely(v->rail != NULL) && put->len_bytes >= v->config.rail_bytes;
        size_t bytes = divides ? v->rail_calls->put(v, c, view, put) : put->len_bytes;
        posted = put_long(v, c, view, put, bytes);
    }
    c->sent += posted;
    return likely(posted) ? NCOLL_OK : NCOLL_ERR_PEER;
}

/* True if the send queue has completed up to a position. If no later request reports a completion,
 * posts an empty write that does. */
static bool has_completed(struct verbs *v, struct connection *c, uint32_t position)
{
    struct ibv_send_wr last = {
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };

    if ((int32_t)(position - c->completed) <= 0)
        return true;
    if ((int32_t)(position - c->signalled) > 0 && send_room(c) > 0)
        verbs_post(v, c, &last, &last, 1, true);
    return false;
}

bool ncoll__verbs_drained(struct transport *t, bool users_only)
{
    struct verbs *v = verbs_of(t);
    struct connection **link = &v->undrained, *c;
    bool all = true;

    while ((c = *link) != NULL) {
        bool gone = c->state != CONNECTION_READY || c->left;
        if (gone || ((int32_t)(c->long_posted - c->completed) <= 0 && rail_is_idle(c))) {
            *link = c->next_undrained;
            c->undrained = false;
            continue;
        }
        all &=
            has_completed(v, c, users_only ? c->users_posted : c->long_posted) && rail_is_idle(c);
        link = &c->next_undrained;
    }
    return all;
}

bool ncoll__verbs_arrived(struct transport *t, struct window *w)
{
    struct verbs *v = verbs_of(t);
    unsigned id = w->shape.id;
    bool all = true;

    for (unsigned i = 0; i < v->n_connections; i++) {
        struct connection *c = v->connections[i];
        struct view *view = id < c->n_views ? &c->views[id] : NULL;
        if (c->state != CONNECTION_READY || c->left || view == NULL || view->addr == 0)
            continue;
        /* Wait until parts on the second card have arrived, since they may have to be sent again,
         * and until all keys are sent: keys that arrive after the peer has freed its window would
         * be taken for the keys of the next window with this number. */
        if (!rail_is_idle(c) || view->admits) {
            view->flushing = all = false;
            continue;
        }
        if (!view->flushing) {
            view->flushing = true;
            view->flush_to = c->posted;
        }
        all &= has_completed(v, c, view->flush_to);
    }
    for (unsigned i = 0; all && i < v->n_connections; i++)
        if (id < v->connections[i]->n_views)
            v->connections[i]->views[id].flushing = false;
    return all;
}

/* ------------------------------------------------------------------ completions --------------- */

/* Keeps the head of a long message, or writes the head that was kept into the message's slot. */
static void learn_or_recall(struct connection *c, uint32_t imm, struct slot *slot)
{
    struct head *head = &c->heads_here[imm_digest(imm) % SIGNATURES];

    if (imm_kind(imm) == IMM_LEARN) {
        *head = (struct head){slot->signature, slot->route};
        return;
    }
    slot->signature = head->signature;
    slot->route = head->route;
}

static void arrived(struct verbs *v, const struct ibv_wc *wc)
{
    uint32_t imm = ntohl(wc->imm_data);
    unsigned place = imm_place(imm), stretch = place / IMM_STRETCH;
    struct connection *c = ncoll__connection_of(v, wc->qp_num);

    if (unlikely(c == NULL))
        return;
    c->receives_used++;
    if (unlikely(imm_kind(imm) == IMM_WORD)) {
        ncoll__verbs_word_came(v, c, imm);
        if (!imm_is_counted(imm))
            return;
    }
    if (unlikely(++c->arrived - c->told_arrived >= c->confirm_every && !c->confirms))
        ncoll__verbs_must_confirm(v, c);
    if (unlikely(imm_kind(imm) == IMM_WORD))
        return;
    if (unlikely(stretch >= v->n_stretches || v->stretches[stretch] == NULL))
        return; /* a message to a window that was freed */
    struct verbs_window *own = v->stretches[stretch];
    struct window *w = &own->window;
    unsigned index = place - own->first;
    if (unlikely(index >= w->shape.n_slots))
        return;
    uint64_t epoch = imm_epoch(imm, w->epoch);
    struct slot *slot = window_slot(w, epoch, index);
    if (unlikely(imm_kind(imm) != IMM_MESSAGE))
        learn_or_recall(c, imm, slot);
    /* Two different calls have written to this slot, so this message is lost. If the other message
     * is complete, its own completion raises the flag. A rank that waits for the lost message tells
     * its position, by which the two calls are found and named (lib/watch/mismatch.c). */
    if (unlikely(imm_digest(imm) != imm_digest_of(slot->signature)))
        return;
    if (unlikely(imm_kind(imm) != IMM_MESSAGE && (slot->route & ROUTE_JOINT) != 0)) {
        slot->route &= ~(uint64_t)ROUTE_JOINT;
        if (own->halves == NULL ||
            !ncoll__rail_has_both(own, index, epoch, PART_FIRST, imm_digest(imm)))
            return;
    }
    /* Release: a rank that acquires the flag sees signature and payload. The device had written
     * both before the completion that was just polled. */
    atomic_store_explicit(&slot->flag, epoch, memory_order_release);
}

/* True if the status is an error of this rank's device, not of the peer's device. */
static bool is_local(enum ibv_wc_status status)
{
    return status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_QP_OP_ERR ||
           status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_FATAL_ERR ||
           status == IBV_WC_GENERAL_ERR;
}

/* Handles a completion that reports an error. The message of a failed receive is lost: the sender
 * will not send it again, and the connection cannot receive any other message. */
static void handle_failure(struct verbs *v, const struct ibv_wc *wc)
{
    char why[256], port[64], path[PATH_TEXT];

    bool is_receive = verbs_is_receive(wc);
    if (is_receive && verbs_shares_receives(v))
        verbs_receive_used(v, wc);
    struct connection *c =
        is_receive ? ncoll__connection_of(v, wc->qp_num) : v->connections[(wc->wr_id >> 32) - 1];
    if (c == NULL || c->state == CONNECTION_DEAD)
        return;
    if (is_receive && wc->status == IBV_WC_WR_FLUSH_ERR) {
        snprintf(why, sizeof why, "its connection failed%s",
                 ncoll__verbs_port_text(v, port, sizeof port));
        ncoll__verbs_lost(v, c, why);
        return;
    }
    if (is_receive) {
        snprintf(why, sizeof why,
                 "this rank's own device lost a message of it: %s, vendor code 0x%x%s",
                 ibv_wc_status_str(wc->status), wc->vendor_err,
                 ncoll__verbs_port_text(v, port, sizeof port));
        ncoll__verbs_lost(v, c, why);
        return;
    }
    if (wc->status == IBV_WC_RETRY_EXC_ERR && c->completed == 0 && c->arrived == 0) {
        snprintf(why, sizeof why, "%s%s, and it has never answered: %s",
                 ibv_wc_status_str(wc->status), ncoll__verbs_port_text(v, port, sizeof port),
                 ncoll__verbs_path_text(v, c, path));
        ncoll__verbs_unreached(v, c, why);
        return;
    }
    snprintf(why, sizeof why, "%s%s%s, vendor code 0x%x%s",
             is_local(wc->status) ? "reported by this rank's own device: " : "",
             ibv_wc_status_str(wc->status),
             wc->status == IBV_WC_RETRY_EXC_ERR ? " (NCOLL_RETRIES, NCOLL_TIMEOUT_EXPONENT)" : "",
             wc->vendor_err, ncoll__verbs_port_text(v, port, sizeof port));
    ncoll__verbs_lost(v, c, why);
}

void ncoll__verbs_handle(struct verbs *v, const struct ibv_wc *wc)
{
    if (unlikely(wc->status != IBV_WC_SUCCESS)) {
        handle_failure(v, wc);
    } else if (verbs_is_receive(wc)) {
        verbs_receive_used(v, wc);
        arrived(v, wc);
    } else {
        struct connection *c = v->connections[(wc->wr_id >> 32) - 1];
        if (c->state != CONNECTION_DEAD)
            c->completed = (uint32_t)wc->wr_id;
    }
}

void ncoll__verbs_progress(struct transport *t)
{
    struct verbs *v = verbs_of(t);
    struct ibv_wc wc[POLL_BATCH];
    int n;

    do {
        n = ibv_poll_cq(v->cq, POLL_BATCH, wc);
        for (int i = 0; i < n; i++)
            ncoll__verbs_handle(v, &wc[i]);
        v->completions += n > 0 ? (uint64_t)n : 0;
    } while (n == POLL_BATCH);
    if (unlikely(n < 0))
        ncoll__verbs_all_lost(v, "the completion queue of this rank failed");
    if (unlikely(v->receives_used >= RECEIVE_BATCH))
        ncoll__receives_refill(v);
    if (unlikely(v->rail != NULL && v->rail->n_qps > 0))
        v->rail_calls->progress(v);
    if (unlikely(v->with_words != NULL))
        ncoll__verbs_send_words(v);
}
