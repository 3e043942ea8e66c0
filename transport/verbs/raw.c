/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bare exchange: each side posts one inlined 8-byte write with immediate data, and polls until
 * the other side's has come. Everything else is left out: there are no slots and no signatures, the
 * request is made once, and receives are posted again in batches. No program that synchronises two
 * ranks over these queue pairs can be faster, so ncoll's calls are compared with it.
 *
 * With data, plain writes of the data come before the notification, which is then empty. This is as
 * fast as these queue pairs can be while both sides send.
 */
#include <arpa/inet.h>
#include <sched.h>

#include "transport/verbs/post.h"
#include "transport/verbs/verbs.h"

/* The number of polls without a message after which the peer is checked. */
#define POLLS_PER_CHECK 100000u

static int peer_gone(struct verbs *v, const struct connection *c)
{
    const struct transport_events *e = &v->config.events;

    return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), c->endpoint.rank, NULL,
                   "rank %d is gone in the middle of a raw exchange", c->endpoint.rank);
}

static void poll_once(struct verbs *v, struct connection *c, uint32_t imm)
{
    struct ibv_wc wc[4];
    int n = ibv_poll_cq(v->cq, 4, wc);

    for (int i = 0; i < n; i++) {
        if (wc[i].status == IBV_WC_SUCCESS && verbs_is_receive(&wc[i]) && wc[i].imm_data == imm &&
            wc[i].qp_num == c->qp->qp_num) {
            c->raw_arrived++;
            c->receives_used++;
            verbs_receive_used(v, &wc[i]);
        } else {
            ncoll__verbs_handle(v, &wc[i]);
        }
    }
}

static bool await(struct verbs *v, struct connection *c, uint32_t imm)
{
    for (unsigned polls = 1; c->raw_arrived == c->raw_taken; polls++) {
        poll_once(v, c, imm);
        if (c->raw_arrived != c->raw_taken)
            break;
        if (v->config.ranks_per_core > 1)
            sched_yield();
        if (polls % POLLS_PER_CHECK == 0) {
            ncoll__verbs_check(&v->transport, c->endpoint.rank);
            if (c->state != CONNECTION_READY || c->left)
                return false;
        }
    }
    c->raw_taken++;
    return true;
}

/* Waits until the send queue has room for n requests. */
static bool have_room(struct verbs *v, struct connection *c, uint32_t imm, unsigned n)
{
    for (unsigned polls = 1; send_room(c) < n && c->state == CONNECTION_READY; polls++) {
        poll_once(v, c, imm);
        if (polls % POLLS_PER_CHECK == 0)
            ncoll__verbs_check(&v->transport, c->endpoint.rank);
    }
    return c->state == CONNECTION_READY;
}

/* Writes len_bytes in all. If the destination is shorter, it is written several times. The last
 * write is posted together with the notification. */
static bool send_data(struct verbs *v, struct connection *c, struct window *w, size_t len_bytes,
                      uint32_t imm, struct ibv_send_wr *notify)
{
    const struct view *view = &c->views[w->shape.id];
    size_t part =
        w->shape.bulk_bytes < w->shape.scratch_bytes ? w->shape.bulk_bytes : w->shape.scratch_bytes;
    struct ibv_sge sge = {.addr = (uintptr_t)w->scratch,
                          .lkey = ((struct verbs_window *)w)->scratch[0]->lkey};
    struct ibv_send_wr data = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .wr.rdma = {.remote_addr =
                        view->addr - window_slots_at(&w->shape) + window_bulk_at(&w->shape),
                    .rkey = view->bulk_rkeys[0]},
    };

    for (size_t room = EPOCHS * part; len_bytes > 0; len_bytes -= sge.length) {
        bool last = len_bytes <= room;
        sge.length = (uint32_t)(last ? len_bytes : room);
        data.next = last ? notify : NULL;
        data.send_flags = 0;
        if (!have_room(v, c, imm, 2) ||
            !verbs_post(v, c, &data, last ? notify : &data, 1 + last, false))
            return false;
    }
    return true;
}

/* Registers all bulk memory and scratch, with one key for each, tells the peer, and waits for the
 * peer's keys. */
static int prepare(struct verbs *v, struct connection *c, struct window *w)
{
    const struct window_extent all = {0, w->shape.bulk_bytes, w->shape.scratch_bytes};
    const struct view *view = &c->views[w->shape.id];
    int rc = ncoll__verbs_extend(&v->transport, w, &all);

    ncoll__verbs_admit(&v->transport, w, c->endpoint.rank);
    for (unsigned polls = 1; rc == NCOLL_OK && view->bulk_bytes < all.bulk_bytes; polls++) {
        ncoll__verbs_progress(&v->transport);
        if (v->config.ranks_per_core > 1)
            sched_yield();
        if (polls % POLLS_PER_CHECK == 0)
            ncoll__verbs_check(&v->transport, c->endpoint.rank);
        if (c->state != CONNECTION_READY || c->left)
            rc = peer_gone(v, c);
    }
    return rc;
}

int ncoll__verbs_raw_exchange(struct transport *t, struct window *w, struct endpoint *peer,
                              unsigned writes, size_t len_bytes, unsigned iterations,
                              uint64_t *samples_ns)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)peer;
    uint32_t imm = htonl(imm_pack_word(WORD_RAW, 0));
    uint64_t word = 0, before_ns;
    bool inlined = c->max_inline >= sizeof word;
    struct ibv_sge sge = {.addr = inlined ? (uintptr_t)&word : (uintptr_t)c->bounce,
                          .length = sizeof word,
                          .lkey = c->bounce_lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = imm,
        .wr.rdma = {.remote_addr = c->peer_inbox + offsetof(struct inbox, raw),
                    .rkey = c->peer_inbox_rkey},
    };

    int rc = len_bytes > 0 ? prepare(v, c, w) : NCOLL_OK;
    if (rc != NCOLL_OK)
        return rc;
    before_ns = verbs_now_ns(v);
    for (unsigned i = 0; i < iterations; i++) {
        bool good = true;
        word++;
        for (unsigned k = 0; k < writes && good; k++) {
            bool data = len_bytes > 0 && k == writes - 1;
            wr.num_sge = !data;
            wr.send_flags = inlined && !data ? IBV_SEND_INLINE : 0;
            good = have_room(v, c, imm, 1) && (data ? send_data(v, c, w, len_bytes, imm, &wr)
                                                    : verbs_post(v, c, &wr, &wr, 1, false));
        }
        for (unsigned k = 0; k < writes && good; k++)
            good = await(v, c, imm);
        if (!good)
            return peer_gone(v, c);
        if (v->receives_used >= RECEIVE_BATCH)
            ncoll__receives_refill(v);
        uint64_t now_ns = verbs_now_ns(v);
        samples_ns[i] = now_ns - before_ns;
        before_ns = now_ns;
    }
    return NCOLL_OK;
}
