/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages by two cards: sending parts, completions, and sending parts again. See rail.h. */
#include <arpa/inet.h>

#include "transport/verbs/post.h"
#include "transport/verbs/rail.h"

/* Parts begin at a multiple of this, so that a card writes whole packets and cache lines. */
#define PART_UNIT 4096u

/* ------------------------------------------------------------------ sending ------------------- */

/* Finds the second card's keys for a put. *own: of the source; *there: of the peer's memory.
 * Returns false if there are none. */
static bool find_keys(const struct view *view, const struct put *put, uint32_t *own,
                      uint32_t *there)
{
    const struct verbs_memory *users = verbs_memory_of(put->memory);
    const struct verbs_window *w = (const struct verbs_window *)put->window;
    unsigned set = put->epoch % EPOCHS;
    bool in_scratch = (const unsigned char *)put->src >= put->window->scratch;
    const struct ibv_mr *mr = users != NULL ? users->rail_mr
                              : in_scratch  ? w->rail_scratch[set]
                                            : w->rail_bulk[set];

    if (mr == NULL)
        return false;
    *own = mr->lkey;
    *there = put->route == ROUTE_PLACED ? (uint32_t)put->advertisement->out.words[2]
                                        : view->rail_bulk_rkeys[set];
    return *there != 0;
}

/* Returns the number of bytes that the first card sends. */
static size_t first_part(const struct rail *r, size_t bytes)
{
    uint64_t second = bytes * r->mbit_per_s / r->both_mbit_per_s / PART_UNIT * PART_UNIT;

    return bytes - (size_t)second;
}

static struct rail_part *part_at(struct rail_qp *q, uint32_t position)
{
    return &q->parts[position % RAIL_DEPTH];
}

static size_t rail_put(struct verbs *v, struct connection *c, const struct view *view,
                       const struct put *put)
{
    size_t all = put->len_bytes, first = first_part(v->rail, all);
    unsigned place = view->first + put->slot;
    uint32_t own, there;
    struct ibv_sge sge;
    struct ibv_send_wr *bad;

    if (v->rail->failed || first == all || !find_keys(view, put, &own, &there))
        return all;
    if (c->rail == NULL)
        ncoll__rail_begin(v, c);
    struct rail_qp *q = c->rail;
    if (q == NULL || q->state != RAIL_OPEN || q->posted - q->completed >= RAIL_DEPTH)
        return all;
    struct ibv_send_wr part = ncoll__verbs_payload(view, put, first, all, &sge);
    *part_at(q, q->posted + 1) = (struct rail_part){.sge = sge,
                                                    .to = part.wr.rdma.remote_addr,
                                                    .rkey = part.wr.rdma.rkey,
                                                    .number = place << 4 | (put->epoch & 15)};
    sge.lkey = own;
    part.wr.rdma.rkey = there;
    part.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    part.imm_data = htonl(imm_pack(IMM_MESSAGE, place, put->epoch, put->signature));
    part.send_flags = IBV_SEND_SIGNALED;
    part.wr_id = send_id(c, q->posted + 1);
    int error = ibv_post_send(q->qp, &part, &bad);
    if (error != 0) {
        ncoll__rail_give_up(v, c, strerror(error));
        return all;
    }
    q->posted++;
    v->rail->bytes += all - first;
    return first;
}

static bool rail_send_again(struct verbs *v, struct connection *c)
{
    struct rail_qp *q = c->rail;

    if (q == NULL || !q->peer_closed)
        return true;
    while (!rail_is_idle(c)) {
        struct rail_part *part = part_at(q, q->completed + 1);
        struct ibv_send_wr word = {
            .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
            .imm_data = htonl(imm_pack_word(WORD_PART, part->number)),
            .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
        };
        struct ibv_send_wr write = {
            .next = &word,
            .opcode = IBV_WR_RDMA_WRITE,
            .sg_list = &part->sge,
            .num_sge = 1,
            .wr.rdma = {.remote_addr = part->to, .rkey = part->rkey},
        };
        if (!may_send(c))
            return false;
        if (!verbs_post(v, c, &write, &word, 2, true))
            return true; /* the connection is lost */
        c->sent++;
        q->completed++;
        ncoll__verbs_note_long(v, c, true);
    }
    return true;
}

/* ------------------------------------------------------------------ receiving ----------------- */

/* Handles the second card's part of a message. Raises the flag if both parts have come. */
static void part_came(struct verbs *v, struct connection *c, unsigned place, uint32_t imm,
                      unsigned digest)
{
    unsigned stretch = place / IMM_STRETCH;

    c->rail->came++;
    if (stretch >= v->n_stretches || v->stretches[stretch] == NULL)
        return; /* a message to a window that was freed */
    struct verbs_window *w = v->stretches[stretch];
    unsigned slot = place - w->first;
    uint64_t epoch = imm_epoch(imm, w->window.epoch);
    if (slot < w->window.shape.n_slots && w->halves != NULL &&
        ncoll__rail_has_both(w, slot, epoch, PART_SECOND, digest))
        atomic_store_explicit(&window_slot(&w->window, epoch, slot)->flag, epoch,
                              memory_order_release);
}

/* Reports that a leaving peer has left, when all of its parts have come. */
static void look_for_the_last(struct verbs *v, struct connection *c)
{
    if (c->rail->leaves && rail_has_all(c, c->rail->last)) {
        c->rail->leaves = false;
        ncoll__verbs_has_left(v, c);
    }
}

static void rail_part_came(struct verbs *v, struct connection *c, uint32_t number)
{
    if (c->rail == NULL)
        return;
    part_came(v, c, number >> 4, (number & 15) << 4, ANY_DIGEST);
    look_for_the_last(v, c);
}

static void received(struct verbs *v, struct connection *c, uint32_t imm)
{
    struct rail_qp *q = c->rail;

    part_came(v, c, imm_place(imm), imm, imm_digest(imm));
    look_for_the_last(v, c);
    if (++q->receives_used < RECEIVE_BATCH || q->state == RAIL_CLOSED)
        return;
    if (!ncoll__rail_post_receives(c, q->receives_used))
        ncoll__rail_give_up(v, c, "its receive queue failed");
    q->receives_used = 0;
}

/* True if this rank still accepts parts by the second card. It ignores them once it has sent
 * RAIL_CLOSES with the number of parts that have come: the peer sends the others again. */
static bool is_read(const struct rail_qp *q)
{
    return q->state != RAIL_CLOSED || q->owes == RAIL_CLOSES;
}

static void handle(struct verbs *v, const struct ibv_wc *wc)
{
    struct connection *c = v->connections[(wc->wr_id >> 32) - 1];
    uint32_t position = (uint32_t)wc->wr_id; /* 0: a receive */

    if (c->rail == NULL || c->state == CONNECTION_DEAD || !is_read(c->rail))
        return;
    c->rail->flushed |= position == 0 && wc->status == IBV_WC_WR_FLUSH_ERR;
    if (wc->status != IBV_WC_SUCCESS)
        ncoll__rail_give_up(v, c, ibv_wc_status_str(wc->status));
    else if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
        received(v, c, ntohl(wc->imm_data));
    else if (c->rail->state != RAIL_CLOSED)
        c->rail->completed = position;
}

static void rail_progress(struct verbs *v)
{
    struct ibv_wc wc[POLL_BATCH];
    int n = 0;

    if (v->rail->n_qps == 0)
        return;
    do {
        n = ibv_poll_cq(v->rail->cq, POLL_BATCH, wc);
        for (int i = 0; i < n; i++)
            handle(v, &wc[i]);
        v->completions += n > 0 ? (uint64_t)n : 0;
    } while (n == POLL_BATCH);
    if (n < 0)
        ncoll__rail_fail(v, "its completion queue failed");
}

const struct rail_calls ncoll__rail_calls = {
    .put = rail_put,
    .progress = rail_progress,
    .word_came = ncoll__rail_word_came,
    .part_came = rail_part_came,
    .send_word = ncoll__rail_send_word,
    .send_again = rail_send_again,
};
