/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Words between two ranks that raise no slot: credits, confirmations, the keys of windows.
 *
 * A peer can write only to the part of a window whose keys it has. The offer of a window has the
 * key of the first slots. When a plan needs more, the receiver registers a larger part, and writes
 * a note with all present keys to the inbox of each rank that puts to it in this plan. Only one
 * note at a time is on its way to a peer, since the next one would overwrite it; the peer answers
 * each note. A sender that does not have the keys yet cannot put, as if the peer's queue were full.
 * So the ranks need no agreement: all make the same call, and a receiver tells its keys when it
 * reaches the call.
 *
 * A credit has no data: its immediate data has the difference from the credit before.
 */
#include <arpa/inet.h>

#include "transport/verbs/post.h"
#include "transport/verbs/rail.h"

/* ------------------------------------------------------------------ sending ------------------- */

/* Puts the connection into the list of those that have words to send. */
void ncoll__verbs_has_words(struct verbs *v, struct connection *c)
{
    if (c->has_words)
        return;
    c->has_words = true;
    c->next_with_words = v->with_words;
    v->with_words = c;
}

static bool post_word(struct verbs *v, struct connection *c, unsigned word, uint32_t number)
{
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack_word(word, number)),
        .wr.rdma = {.remote_addr = c->peer_inbox, .rkey = c->peer_inbox_rkey},
    };

    return verbs_post(v, c, &wr, &wr, 1, false);
}

bool ncoll__verbs_word(struct verbs *v, struct connection *c, enum imm_word kind, uint32_t number,
                       const void *data, size_t len_bytes, size_t offset)
{
    struct ibv_sge sge = {.addr = (uintptr_t)data, .length = (uint32_t)len_bytes};
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = len_bytes > 0,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl(imm_pack_word(kind, number)),
        .wr.rdma = {.remote_addr = c->peer_inbox + offset, .rkey = c->peer_inbox_rkey},
    };

    if (send_room(c) == 0)
        return false;
    take_along(c, &wr, len_bytes);
    return verbs_post(v, c, &wr, &wr, 1, true);
}

/* Sends a credit. If it is much larger than the last one, after many runs without a credit, it
 * takes a word for each digit. */
int ncoll__verbs_credit(struct transport *t, struct endpoint *to, const struct window *w,
                        uint64_t epoch)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = (struct connection *)to;
    struct view *view = &c->views[w->shape.id];

    if (c->state != CONNECTION_READY || c->left)
        return NCOLL_ERR_PEER;
    while (epoch > view->credited) {
        struct imm_step step = imm_step_to(epoch - view->credited);
        if (!may_send(c))
            return NCOLL_TIMEOUT;
        if (!post_word(v, c, WORD_CREDIT + step.power,
                       imm_credit(view->first / IMM_STRETCH, step.digit)))
            return NCOLL_ERR_PEER;
        c->sent++;
        view->credited += imm_step_length(step);
    }
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ keys ---------------------- */

void ncoll__verbs_admit(struct transport *t, struct window *w, int peer)
{
    struct verbs *v = verbs_of(t);
    struct connection *c = v->by_rank[peer];
    const struct window_extent *all = &((struct verbs_window *)w)->extent;

    if (c == NULL || c->state != CONNECTION_READY)
        return;
    struct view *view = &c->views[w->shape.id];
    if (view->told.slots >= all->slots && view->told.bulk_bytes >= all->bulk_bytes)
        return;
    view->own = (struct verbs_window *)w;
    view->admits = c->admits = true;
    ncoll__verbs_has_words(v, c);
    ncoll__verbs_send_words(v);
}

static struct note note_of(const struct view *view, const struct verbs_window *w)
{
    struct note note = {.stretch = view->first / IMM_STRETCH,
                        .slots = w->extent.slots,
                        .slots_rkey = w->slots->rkey,
                        .bulk_bytes = w->extent.bulk_bytes};

    for (unsigned set = 0; set < EPOCHS && w->extent.bulk_bytes > 0; set++) {
        note.bulk_rkeys[set] = w->bulk[set]->rkey;
        if (w->rail_bulk[set] != NULL)
            note.rail_bulk_rkeys[set] = w->rail_bulk[set]->rkey;
    }
    return note;
}

/* Sends the keys of the first view whose keys have to be told. */
static void send_note(struct verbs *v, struct connection *c)
{
    for (unsigned id = 0; id < c->n_views; id++) {
        struct view *view = &c->views[id];
        if (!view->admits)
            continue;
        const struct note note = note_of(view, view->own);
        if (!ncoll__verbs_word(v, c, WORD_KEYS, 0, &note, sizeof note,
                               offsetof(struct inbox, keys)))
            return;
        view->admits = false;
        view->told = view->own->extent;
        c->note_on_way = true;
        c->sent++;
        return;
    }
    c->admits = false;
}

static void keys_came(struct verbs *v, struct connection *c)
{
    const struct note note = c->inbox->keys;
    const struct verbs_window *w = ncoll__verbs_window_from(v, note.stretch);
    struct view *view = w != NULL ? ncoll__connection_view(v, c, w->window.shape.id) : NULL;

    c->owes_answer = true;
    ncoll__verbs_has_words(v, c);
    if (view == NULL)
        return; /* the window was freed */
    view->slots = note.slots;
    view->rkey = note.slots_rkey;
    view->bulk_bytes = note.bulk_bytes;
    memcpy(view->bulk_rkeys, note.bulk_rkeys, sizeof view->bulk_rkeys);
    memcpy(view->rail_bulk_rkeys, note.rail_bulk_rkeys, sizeof view->rail_bulk_rkeys);
}

static void answer_came(struct verbs *v, struct connection *c)
{
    c->note_on_way = false;
    if (c->admits)
        ncoll__verbs_has_words(v, c);
}

/* ------------------------------------------------------------------ arriving ------------------ */

static void add_credit(const struct window *w, const struct view *view, uint64_t step)
{
    _Atomic uint64_t *credit = &w->credits[view->rank];
    uint64_t before = atomic_load_explicit(credit, memory_order_relaxed);

    atomic_store_explicit(credit, before + step, memory_order_release);
}

static void credit_came(struct verbs *v, struct connection *c, uint32_t imm)
{
    const struct verbs_window *w = ncoll__verbs_window_from(v, imm_credit_stretch(imm));
    struct view *view = w != NULL ? ncoll__connection_view(v, c, w->window.shape.id) : NULL;
    uint64_t step = imm_step_length(imm_credit_step(imm));

    if (view == NULL)
        return; /* the window was freed */
    if (view->addr != 0)
        add_credit(&w->window, view, step);
    else
        view->early_credit += step;
}

void ncoll__verbs_take_early_credit(const struct window *w, struct view *view)
{
    if (view->early_credit > 0)
        add_credit(w, view, view->early_credit);
    view->early_credit = 0;
}

void ncoll__verbs_has_left(struct verbs *v, struct connection *c)
{
    const struct transport_events *e = &v->config.events;
    const struct control goodbye = {.kind = CONTROL_PEER_LEFT, .rank = {c->endpoint.rank, -1}};

    c->left = true;
    ncoll__verbs_left_before_ready(c);
    e->control(e->arg, c->endpoint.rank, &goodbye);
}

/* Handles WORD_LEFT. parts: the number of parts that the peer has sent by its second card: see
 * rail.h. */
static void goodbye_came(struct verbs *v, struct connection *c, uint32_t parts)
{
    if (!rail_has_all(c, parts) && v->rail != NULL)
        v->rail_calls->progress(v);
    if (rail_has_all(c, parts)) {
        ncoll__verbs_has_left(v, c);
        return;
    }
    if (c->rail != NULL) {
        c->rail->leaves = true;
        c->rail->last = parts;
    }
}

void ncoll__verbs_word_came(struct verbs *v, struct connection *c, uint32_t imm)
{
    const struct transport_events *e = &v->config.events;

    switch (imm_word(imm)) {
    /* the low bits of the number of messages that the peer has got; it grows by less than their
     * range from one word to the next */
    case WORD_CONFIRMED:
        c->confirmed += (imm_number(imm) - c->confirmed) % IMM_NUMBER;
        break;
    case WORD_FAILURE:
        e->control(e->arg, c->endpoint.rank, &c->inbox->failure);
        break;
    case WORD_LEFT:
        goodbye_came(v, c, imm_number(imm));
        break;
    case WORD_RAW:
        c->raw_arrived++;
        break;
    case WORD_KEYS:
        keys_came(v, c);
        break;
    case WORD_HAS_KEYS:
        answer_came(v, c);
        break;
    case WORD_RAIL:
        v->rail_calls->word_came(v, c, imm_number(imm));
        break;
    case WORD_PART:
        v->rail_calls->part_came(v, c, imm_number(imm));
        break;
    default:
        credit_came(v, c, imm);
    }
}

void ncoll__verbs_must_confirm(struct verbs *v, struct connection *c)
{
    c->confirms = true;
    ncoll__verbs_has_words(v, c);
}

/* ------------------------------------------------------------------ what is due --------------- */

/*
 * Tells a peer the number of its messages that have come, after their receives have been posted
 * again. The word comes with a notification, since the peer may be waiting to send more. At most
 * four such words are in flight: the peer cannot have sent more than four times the number that one
 * word confirms.
 */
static void confirm(struct verbs *v, struct connection *c)
{
    uint32_t arrived = c->arrived;

    if (post_word(v, c, WORD_CONFIRMED, arrived))
        c->told_arrived = arrived;
    c->confirms = false;
}

/* Sends the words of a connection. Returns false if some have to wait: for room in the queue, or
 * for the connection to become ready, as keys of the peer may come before this rank knows that. */
static bool send_words(struct verbs *v, struct connection *c)
{
    if (c->state == CONNECTION_DEAD)
        return true;
    if (c->left) /* the leaving peer may still wait for RAIL_CLOSES */
        return c->rail == NULL || c->rail->owes != RAIL_CLOSES || v->rail_calls->send_word(v, c);
    if (c->state != CONNECTION_READY)
        return false;
    if (c->confirms && send_room(c) >= SEND_RESERVE)
        confirm(v, c);
    if (c->owes_answer && may_send(c) && post_word(v, c, WORD_HAS_KEYS, 0)) {
        c->owes_answer = false;
        c->sent++;
    }
    if (c->admits && !c->note_on_way && may_send(c))
        send_note(v, c);
    bool said = v->rail_calls->send_word(v, c) && v->rail_calls->send_again(v, c);
    return said && !c->confirms && !c->owes_answer && (!c->admits || c->note_on_way);
}

void ncoll__verbs_send_words(struct verbs *v)
{
    struct connection **link = &v->with_words, *c;

    if (v->rail != NULL) /* RAIL_CLOSES tells the number of parts that have come */
        v->rail_calls->progress(v);
    while ((c = *link) != NULL) {
        if (!send_words(v, c) && c->state != CONNECTION_DEAD) {
            link = &c->next_with_words;
            continue;
        }
        *link = c->next_with_words;
        c->has_words = false;
    }
}
