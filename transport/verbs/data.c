/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path: puts, and what completes.
 *
 * A short message is one write of card and payload to the peer's slot, behind its flag, with the
 * immediate. A long one is a plain write of the payload to the peer's bulk memory, or to its OUT,
 * and then the head (the card, and where the payload is) with the immediate, both with one
 * doorbell. On a queue pair a later write is placed after an earlier one, and the receiver's
 * completion of the immediate comes after both; so when the receiver's progress() has polled it, it
 * may read them, and it raises the flag with release order for whoever reads the flag.
 *
 * Calls repeat, so most long messages have a head that the peer has seen on this connection. Then
 * the payload brings the immediate itself, and the receiver recalls the head by its signature: one
 * message instead of two. Connections keep order, so what one side takes for known, the other side
 * knows. Very long payloads stay plain writes, which a network may route adaptively, before an
 * empty write with the immediate.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/verbs.h"

/* The longest payload that brings the immediate itself. */
#define ONE_WRITE_BYTES 16384u

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* ------------------------------------------------------------------ sending ------------------- */

/* Which connection and which position in its send queue: wr_id. Receives have 0. */
static uint64_t send_id(const struct connection *c, uint32_t position)
{
    return (uint64_t)(c->index + 1) << 32 | position;
}

/* What has completed must not seem to lie ahead when positions come round. */
static void keep_up(const struct connection *c, uint32_t *position)
{
    if ((int32_t)(c->completed - *position) > 0)
        *position = c->completed;
}

bool ncoll__verbs_post(struct verbs *v, struct connection *c, struct ibv_send_wr *first,
                       struct ibv_send_wr *last, unsigned count, bool signalled)
{
    uint32_t end = c->posted + count;
    struct ibv_send_wr *bad;

    first->wr_id = last->wr_id = send_id(c, end);
    if (signalled || end - c->signalled >= c->signal_every) {
        last->send_flags |= IBV_SEND_SIGNALED;
        c->signalled = end;
        keep_up(c, &c->long_posted);
        keep_up(c, &c->users_posted);
        keep_up(c, &c->ping);
    }
    int error = ibv_post_send(c->qp, first, &bad);
    if (unlikely(error != 0)) {
        ncoll__verbs_lost(v, c, strerror(error));
        return false;
    }
    c->posted = end;
    return true;
}

bool ncoll__verbs_word(struct verbs *v, struct connection *c, enum imm_word kind, const void *word,
                       size_t len_bytes, size_t offset)
{
    struct ibv_sge sge = {.addr = (uintptr_t)word, .length = (uint32_t)len_bytes};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = len_bytes > 0,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack_word(kind, 0)),
        .wr.rdma = {.remote_addr = c->peer_inbox + offset, .rkey = c->peer_inbox_rkey},
    };

    if (send_room(c) == 0)
        return false;
    take_along(c, &wr, len_bytes);
    return ncoll__verbs_post(v, c, &wr, &wr, 1, true);
}

/* Whether one more message may be sent: there is room in the send queue, and a receive for it. */
static inline bool may_send(const struct connection *c)
{
    return likely(send_room(c) >= SEND_RESERVE + 2 && c->sent - c->confirmed < c->may_send);
}

/* Of a message: who gets it and which slot it raises; what is written to the slot is to be added.
 */
static inline struct ibv_send_wr notification(const struct view *view, const struct put *put)
{
    size_t slot = slot_index(put->epoch, put->slot) * sizeof(struct slot);

    return (struct ibv_send_wr){
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack(IMM_MESSAGE, view->id, put->slot, put->epoch, put->card)),
        .wr.rdma = {.remote_addr = view->addr + slot + offsetof(struct slot, card),
                    .rkey = view->rkey},
    };
}

static uint32_t imm_of(const struct view *view, const struct put *put, enum imm_kind kind)
{
    return htonl(imm_pack(kind, view->id, put->slot, put->epoch, put->card));
}

/* The payload of a long message, on its way to bulk memory or to the receiver's OUT. */
static struct ibv_send_wr payload_of(const struct view *view, const struct put *put,
                                     struct ibv_sge *sge)
{
    const struct verbs_window *own = (const struct verbs_window *)put->window;
    const struct verbs_memory *users = (const struct verbs_memory *)put->memory;
    const struct window_shape *shape = &put->window->shape;
    struct ibv_send_wr wr = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE};

    *sge = (struct ibv_sge){.addr = (uintptr_t)put->src,
                            .length = (uint32_t)put->len_bytes,
                            .lkey = users != NULL ? users->mr->lkey : own->memory.mr->lkey};
    if (put->invitation != NULL) {
        wr.wr.rdma.remote_addr = put->invitation->out.words[0] + put->out_offset;
        wr.wr.rdma.rkey = (uint32_t)put->invitation->out.words[1];
    } else {
        wr.wr.rdma.remote_addr = view->addr + window_bulk_at(shape) +
                                 put->epoch % EPOCHS * shape->bulk_bytes + put->bulk_offset;
        wr.wr.rdma.rkey = view->rkey;
    }
    return wr;
}

static bool put_long(struct verbs *v, struct connection *c, const struct view *view,
                     const struct put *put)
{
    struct head head = {put->card, put->invitation != NULL ? IN_OUT : IN_BULK};
    struct head *known = &c->heads_there[imm_signature_of(put->card) % CARDS];
    struct ibv_sge sge, head_sge = {.addr = (uintptr_t)&head, .length = sizeof head};
    struct ibv_send_wr payload = payload_of(view, put, &sge), notify = notification(view, put);
    bool is_known = card_equal(known->card, head.card) && known->where == head.where, posted;

    if (is_known && put->len_bytes <= ONE_WRITE_BYTES) {
        payload.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        payload.imm_data = imm_of(view, put, IMM_RECALL);
        posted = ncoll__verbs_post(v, c, &payload, &payload, 1, !put->answered);
    } else {
        payload.next = &notify;
        notify.imm_data = imm_of(view, put, is_known ? IMM_RECALL : IMM_LEARN);
        if (!is_known) { /* else it is empty */
            *known = head;
            notify.sg_list = &head_sge;
            notify.num_sge = 1;
            take_along(c, &notify, sizeof head);
        }
        posted = ncoll__verbs_post(v, c, &payload, &notify, 2, !put->answered);
    }
    if (!c->undrained) {
        c->undrained = true;
        c->next_undrained = v->undrained;
        v->undrained = c;
    }
    c->long_posted = c->posted;
    if (put->memory != NULL)
        c->users_posted = c->posted;
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
    if (unlikely(!may_send(c)))
        return NCOLL_TIMEOUT;
    if (likely(put->len_bytes <= SLOT_PAYLOAD)) {
        struct ibv_send_wr wr = notification(view, put);
        struct ibv_sge sge[2] = {
            {.addr = (uintptr_t)&put->card, .length = sizeof put->card},
            {.addr = (uintptr_t)put->src, .length = (uint32_t)put->len_bytes},
        };
        wr.sg_list = sge;
        wr.num_sge = put->len_bytes > 0 ? 2 : 1;
        take_along(c, &wr, sizeof put->card + put->len_bytes);
        posted = ncoll__verbs_post(v, c, &wr, &wr, 1, false);
    } else {
        posted = put_long(v, c, view, put);
    }
    c->sent += posted;
    return likely(posted) ? NCOLL_OK : NCOLL_ERR_PEER;
}

int ncoll__verbs_credit(struct transport *t, struct endpoint *to, const struct window *w,
                        uint64_t epoch)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)to;
    const struct view *view = &c->views[w->shape.id];
    struct ibv_sge sge = {.addr = (uintptr_t)&epoch, .length = sizeof epoch};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack_word(WORD_CREDIT + view->id, 0)),
        .wr.rdma = {.remote_addr = view->addr + window_credits_at(&w->shape) +
                                   w->shape.rank * sizeof(uint64_t),
                    .rkey = view->rkey},
    };

    if (unlikely(c->state != CONNECTION_READY || c->left))
        return NCOLL_ERR_PEER;
    if (unlikely(!may_send(c)))
        return NCOLL_TIMEOUT;
    take_along(c, &wr, sizeof epoch);
    bool posted = ncoll__verbs_post(v, c, &wr, &wr, 1, false);
    c->sent += posted;
    return posted ? NCOLL_OK : NCOLL_ERR_PEER;
}

/* Whether the send queue has completed up to a position. If nothing from there on reports that, an
 * empty write that comes after it does. */
static bool has_completed(struct verbs *v, struct connection *c, uint32_t position)
{
    struct ibv_send_wr last = {
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };

    if ((int32_t)(position - c->completed) <= 0)
        return true;
    if ((int32_t)(position - c->signalled) > 0 && send_room(c) > 0)
        ncoll__verbs_post(v, c, &last, &last, 1, true);
    return false;
}

bool ncoll__verbs_drained(struct transport *t, bool users_only)
{
    struct verbs *v = verbs_of(t);
    struct connection **link = &v->undrained, *c;
    bool all = true;

    while ((c = *link) != NULL) {
        bool gone = c->state != CONNECTION_READY || c->left;
        if (gone || (int32_t)(c->long_posted - c->completed) <= 0) {
            *link = c->next_undrained;
            c->undrained = false;
            continue;
        }
        all &= has_completed(v, c, users_only ? c->users_posted : c->long_posted);
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

/* Keeps the head of a long message, or puts the one in its slot that was kept. */
static void learn_or_recall(struct connection *c, uint32_t imm, struct slot *slot)
{
    struct head *head = &c->heads_here[imm_signature(imm) % CARDS];

    if (imm_kind(imm) == IMM_LEARN) {
        *head = (struct head){slot->card, slot->where};
        return;
    }
    slot->card = head->card;
    slot->where = head->where;
}

static void arrived(struct verbs *v, const struct ibv_wc *wc)
{
    uint32_t imm = ntohl(wc->imm_data);
    unsigned group = imm_group(imm);
    struct connection *c = ncoll__connection_of(v, wc->qp_num);

    if (unlikely(c == NULL))
        return;
    if (unlikely(imm_kind(imm) == IMM_WORD && imm_word(imm) < WORD_CREDIT)) {
        ncoll__verbs_word_came(v, c, imm);
        return;
    }
    if (unlikely(++c->arrived - c->told_arrived >= c->confirm_every && !c->to_confirm)) {
        c->to_confirm = true;
        c->next_to_confirm = v->to_confirm;
        v->to_confirm = c;
    }
    if (unlikely(imm_kind(imm) == IMM_WORD))
        return; /* a credit lies where it belongs */
    if (unlikely(group >= v->n_windows || v->windows[group] == NULL))
        return; /* to a window that is gone */
    struct window *w = &v->windows[group]->window;
    if (unlikely(imm_slot(imm) >= w->shape.n_slots))
        return;
    uint64_t epoch = imm_epoch(imm, w->epoch);
    struct slot *slot = window_slot(w, epoch, imm_slot(imm));
    if (unlikely(imm_kind(imm) != IMM_MESSAGE))
        learn_or_recall(c, imm, slot);
    /* Two different calls wrote here, maybe some bytes each. No call has card 0, so this makes a
     * mismatch of it. */
    if (unlikely(imm_signature(imm) != imm_signature_of(slot->card)))
        slot->card = (struct card){0};
    /* Release: whoever acquires the flag sees card and payload, which the device had placed before
     * the completion that was just polled. */
    atomic_store_explicit(&slot->flag, epoch, memory_order_release);
}

/* What a device says of itself, rather than of the other end. */
static bool is_local(enum ibv_wc_status status)
{
    return status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_LOC_QP_OP_ERR ||
           status == IBV_WC_LOC_PROT_ERR || status == IBV_WC_FATAL_ERR ||
           status == IBV_WC_GENERAL_ERR;
}

/* A status that is not success. Of a receive it says nothing that a send will not say as well. */
static void handle_failure(struct verbs *v, const struct ibv_wc *wc)
{
    char why[128], port[64];

    if (wc->wr_id == 0) {
        v->receives_used++;
        return;
    }
    struct connection *c = v->connections[(wc->wr_id >> 32) - 1];
    if (c->state == CONNECTION_DEAD || ncoll__direct_again(v, c, wc->status))
        return;
    snprintf(why, sizeof why, "%s%s, vendor code 0x%x%s",
             is_local(wc->status) ? "reported by this rank's own device: " : "",
             ibv_wc_status_str(wc->status), wc->vendor_err,
             ncoll__verbs_port_text(v, port, sizeof port));
    ncoll__verbs_lost(v, c, why);
}

void ncoll__verbs_handle(struct verbs *v, const struct ibv_wc *wc)
{
    if (unlikely(wc->status != IBV_WC_SUCCESS)) {
        handle_failure(v, wc);
    } else if (wc->wr_id == 0) {
        v->receives_used++;
        arrived(v, wc);
    } else {
        struct connection *c = v->connections[(wc->wr_id >> 32) - 1];
        if (c->state != CONNECTION_DEAD)
            c->completed = (uint32_t)wc->wr_id;
    }
}

/*
 * Tells a peer how many of its messages have come, when their receives have been posted again. By a
 * word, which wakes a peer that waits to send more. Of words that say so there are four on their
 * way at most: the peer cannot have sent more than four times what is told at once.
 */
static bool confirm(struct verbs *v, struct connection *c)
{
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack_word(WORD_CONFIRMED, c->arrived)),
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };

    if (c->state != CONNECTION_READY || c->left)
        return true;
    if (send_room(c) < SEND_RESERVE)
        return false;
    if (ncoll__verbs_post(v, c, &wr, &wr, 1, false))
        c->told_arrived = c->arrived;
    return true;
}

static void confirm_all(struct verbs *v)
{
    struct connection **link = &v->to_confirm, *c;

    while ((c = *link) != NULL) {
        if (!confirm(v, c)) {
            link = &c->next_to_confirm;
            continue;
        }
        *link = c->next_to_confirm;
        c->to_confirm = false;
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
    if (unlikely(v->to_confirm != NULL))
        confirm_all(v);
}
