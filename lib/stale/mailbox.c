/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mailboxes. A mailbox has one sender, one reader and D places. A place is a slot of the object's
 * window, in one of its eight sets, with the bulk memory that belongs to it. The epoch of a put is
 * the number of the set, 1..8, so the window stays in epoch 0 for ever.
 *
 * The first message goes to place 0, and each message names the place of the next one. The sender
 * takes the places in turn. When it has used as much memory as the cache may hold (`cached`
 * places), it starts over at place 0 if that is free. If the next place is not free, it takes the
 * one with the oldest message, which is free if any is, and otherwise becomes free before all
 * others. So ranks in lockstep use the first few places again and again, however many there are.
 *
 * Reading. The reader takes the newest message whose flag is raised. It holds this message until it
 * takes a newer one. Then it drops the older ones: it lowers their flags, and tells the sender by a
 * credit. Messages of one sender to one reader are numbered in the order in which they leave,
 * across all mailboxes. A credit c says: I have dropped all of your messages up to number c. One
 * word is enough for this: messages of one connection arrive in order, so a mailbox that holds
 * message number m has dropped all of its earlier messages, and c is the smallest m of all
 * mailboxes, less 1.
 *
 * No torn reads. A sender writes to a place only if its last message there has a number up to c.
 * The reader has lowered the flag of that message before it gave the credit. It does not read there
 * until the flag is raised again, after the new message.
 *
 * Withholding. A sender without a credit does not wait. It keeps the message until a credit comes.
 * A newer message of the same mailbox replaces the kept one (in the partial allreduce it is added
 * to the kept one). When a credit has come, the message is sent in the next call of the library
 * that the rank makes or is in; ncoll_progress() is one of these.
 *
 * Withholding makes no reader wait if D >= 2 slack + 2 + lag, where a reader gives a credit when it
 * can drop `lag` messages more. Let reader R begin its calls c - 1 and c, and let sender S make
 * calls up to s meanwhile.
 *   - In call c - 1 R has accepted a message of clock k >= c - 1 - slack, and credits say so for
 *     all but lag - 1 of the messages before it.
 *   - S cannot complete call s without R's contribution of clock s - slack or later, and R's latest
 *     contribution is that of call c - 1. So s <= c - 1 + slack, and one more call may have begun.
 *   - So S sends at most s + 1 - k <= 2 slack + 2 messages after k. Together with those that have
 *     no credit yet, and the one that R holds, they fit into D places. None is withheld.
 * With fewer places (for long vectors, or a very large slack) messages may be withheld. A reader
 * that waits for such a message gets it. A credit counts for all mailboxes of a sender, so the
 * mailbox with the oldest message holds it back. Therefore a reader that waits takes the newest
 * message from each mailbox of that sender, and copies those that its call still uses. Then all
 * messages before the oldest one are dropped. So the mailbox with the oldest message has a free
 * place, and the message that the sender withholds for it can leave; and so on, until all have left
 * (test/model/credit.pml). One case remains: S makes more than D - 1 - lag calls between two calls
 * of R, and then makes no call of the library for a long time. R then has S's contributions up to
 * the last one sent. So R has to wait for S earlier than otherwise, by at most as many calls as S
 * has made since that one.
 */
#include <stdatomic.h>
#include <string.h>

#include "lib/stale/stale.h"

#define PLACED_SETS  EPOCHS
#define ALL_MESSAGES (UINT64_C(1) << 40) /* a credit of a rank that reads no more messages */

/* ------------------------------------------------------------------ places ------------------- */

/* A place of a mailbox. */
struct spot {
    uint64_t epoch;
    unsigned slot;
    size_t bulk_offset;
};

static inline struct spot spot_of(const struct ncoll_stale *s, unsigned slot, unsigned place)
{
    unsigned copy = place / PLACED_SETS;

    return (struct spot){.epoch = 1 + place % PLACED_SETS,
                         .slot = copy * s->slots + slot,
                         .bulk_offset = ((size_t)copy * s->slots + slot) * s->stride};
}

static struct slot *slot_at(const struct ncoll_stale *s, const struct spot *spot)
{
    return window_slot(s->group->mail, spot->epoch, spot->slot);
}

static inline bool is_raised(const struct ncoll_stale *s, const struct spot *spot)
{
    return window_raised(s->group->mail, spot->epoch, spot->slot);
}

/* ------------------------------------------------------------------ reading ------------------ */

/* Returns true if a message has come at this place: its flag is raised. The message that is held is
 * not mistaken for the next one, since a message never names its own place as that of the next. */
static bool has_come(const struct ncoll_stale *s, const struct inbox *in, unsigned place)
{
    struct spot spot = spot_of(s, in->slot, place);

    return is_raised(s, &spot);
}

bool ncoll__mail_has(const struct ncoll_stale *s, const struct inbox *in)
{
    return has_come(s, in, in->next);
}

static struct stamp stamp_in(const struct ncoll_stale *s, const struct inbox *in, unsigned place)
{
    struct spot spot = spot_of(s, in->slot, place);

    return stamp_unpack(signature_read(&slot_at(s, &spot)->signature), s->peers[in->from].seen,
                        s->clock);
}

bool ncoll__mail_peek(const struct ncoll_stale *s, const struct inbox *in, unsigned *i,
                      struct stamp *out)
{
    unsigned place = *i == 0 ? in->next : out->next;

    /* a mailbox has at most D messages, the held one included; `place` is then the first again */
    if (*i + in->holds >= s->D || !has_come(s, in, place))
        return false;
    *out = stamp_in(s, in, place);
    ++*i;
    return true;
}

void ncoll__mail_drop(struct ncoll_stale *s, struct inbox *in)
{
    struct spot last = spot_of(s, in->slot, in->place);

    /* Relaxed is enough: the sender writes here only after it has acquired a later credit. */
    atomic_store_explicit(&slot_at(s, &last)->flag, 0, memory_order_relaxed);
    in->holds = false;
    s->peers[in->from].moved = true;
}

/* Takes the next message, which has come, and drops the one before it. */
static void take(struct ncoll_stale *s, struct inbox *in)
{
    struct correspondent *c = &s->peers[in->from];

    if (in->holds)
        ncoll__mail_drop(s, in);
    in->place = in->next;
    in->last.stamp = stamp_in(s, in, in->place);
    in->next = in->last.stamp.next;
    in->taken = in->holds = true;
    c->seen = in->last.stamp.number > c->seen ? in->last.stamp.number : c->seen;
}

static void read_held(struct ncoll_stale *s, struct inbox *in)
{
    struct spot spot = spot_of(s, in->slot, in->place);
    struct mail *m = &in->last;
    size_t bytes = in->len_bytes + (m->stamp.sole ? 0 : s->ages_bytes);

    m->data =
        bytes <= SLOT_PAYLOAD
            ? slot_at(s, &spot)->payload
            : s->group->mail->bulk + spot.epoch % EPOCHS * s->shape.bulk_bytes + spot.bulk_offset;
    m->ages = bytes > in->len_bytes ? m->data + in->len_bytes : NULL;
    in->clock = m->stamp.clock;
}

bool ncoll__mail_next(struct ncoll_stale *s, struct inbox *in)
{
    if (!ncoll__mail_has(s, in))
        return false;
    take(s, in);
    read_held(s, in);
    return true;
}

bool ncoll__mail_newest(struct ncoll_stale *s, struct inbox *in)
{
    if (!ncoll__mail_has(s, in))
        return false;
    do
        take(s, in);
    while (ncoll__mail_has(s, in));
    read_held(s, in);
    return true;
}

/* Copies the latest message of a mailbox if the run still uses it, since its place may be
 * overwritten when a newer one is taken. Returns NCOLL_OK or an error. */
static int keep_used(struct ncoll_stale *s, struct inbox *in)
{
    size_t bytes = in->len_bytes + (in->in_use.ages != NULL ? s->ages_bytes : 0);

    if (in->use_epoch != s->epoch || in->in_use.data == in->copy)
        return NCOLL_OK;
    if (in->copy == NULL)
        in->copy = ncoll__allocate(s->group->ctx, in->len_bytes + s->ages_bytes);
    if (in->copy == NULL)
        return ncoll__fail(s->group->ctx, NCOLL_ERR_MEMORY, -1, NULL,
                           "no memory for a contribution that is still in use");
    memcpy(in->copy, in->in_use.data, bytes);
    in->in_use.data = in->copy;
    in->in_use.ages = in->in_use.ages != NULL ? in->copy + in->len_bytes : NULL;
    return NCOLL_OK;
}

int ncoll__mail_take_ahead(struct ncoll_stale *s, const struct inbox *awaited)
{
    const struct correspondent *c = &s->peers[awaited->from];
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < c->n_ins && rc == NCOLL_OK; i++) {
        struct inbox *in = &s->ins[c->ins[i]];
        if (in == awaited || !ncoll__mail_has(s, in) || (rc = keep_used(s, in)) != NCOLL_OK)
            continue;
        ncoll__mail_newest(s, in);
        rc = ncoll__past_check(s, in, &in->last.stamp);
    }
    return rc;
}

/* ------------------------------------------------------------------ credits ------------------ */

static void set_due(struct ncoll_stale *s, struct correspondent *c, bool due)
{
    if (c->due == due)
        return;
    c->due = due;
    s->n_due += due ? 1 : -1u;
    s->group->ctx->withheld += due ? 1 : -1u;
}

/* Returns the number up to which all messages have been dropped. */
static uint64_t dropped(const struct ncoll_stale *s, const struct correspondent *c)
{
    uint64_t least = UINT64_MAX;

    if (s->ends)
        return c->n_ins > 0 ? ALL_MESSAGES : 0;
    for (unsigned i = 0; i < c->n_ins; i++) {
        const struct inbox *in = &s->ins[c->ins[i]];
        uint64_t number =
            in->holds || !in->taken ? in->last.stamp.number : in->last.stamp.number + 1;
        least = number < least ? number : least;
    }
    return least > 0 && c->n_ins > 0 ? least - 1 : 0;
}

static bool has_left(const struct ncoll_stale *s, const struct correspondent *c)
{
    return s->group->ctx->peers[ncoll__world_rank(s->group, c->rank)].left;
}

/* Returns the result of a put or a credit that a peer has refused: NCOLL_OK if the peer has left,
 * since it needs neither; else NCOLL_ERR_PEER. */
static int gone(struct ncoll_stale *s, const struct correspondent *c)
{
    struct ncoll_context *ctx = s->group->ctx;

    return has_left(s, c) ? NCOLL_OK
                          : ctx->watch->unreachable(ctx, ncoll__world_rank(s->group, c->rank));
}

static int give(struct ncoll_stale *s, struct correspondent *c, uint64_t number)
{
    struct transport *by = c->to->by;
    int rc = by->ops->credit(by, c->to, s->group->mail, number);

    if (rc == NCOLL_TIMEOUT) {
        set_due(s, c, true);
        return NCOLL_OK;
    }
    set_due(s, c, false);
    c->moved = false;
    c->told = number;
    return rc == NCOLL_ERR_PEER ? gone(s, c) : rc;
}

int ncoll__mail_credits(struct ncoll_stale *s, bool all)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < s->n_peers && rc == NCOLL_OK; i++) {
        struct correspondent *c = &s->peers[i];
        if ((!c->moved && !s->ends) || (!all && c->seen < c->told + (uint64_t)s->lag * c->n_ins))
            continue;
        uint64_t number = dropped(s, c);
        if (number > c->told)
            rc = give(s, c, number);
    }
    return rc;
}

/* ------------------------------------------------------------------ sending ------------------ */

static bool is_free(const struct ncoll_stale *s, const struct outbox *out, unsigned place)
{
    return out->numbers[place] <= s->peers[out->to].heard;
}

static void hear(struct ncoll_stale *s, const struct outbox *out)
{
    struct correspondent *c = &s->peers[out->to];

    c->heard = atomic_load_explicit(&s->group->mail->credits[c->rank], memory_order_acquire);
}

static bool may_send(struct ncoll_stale *s, const struct outbox *out)
{
    if (!is_free(s, out, out->place))
        hear(s, out);
    return is_free(s, out, out->place);
}

/* Returns the place of the message that follows the one at out->place: a free place, else the one
 * with the oldest message. */
static unsigned place_after(struct ncoll_stale *s, const struct outbox *out)
{
    unsigned oldest = (out->place + 1) & (s->D - 1);

    if (out->place > 0 && out->place + 1 >= s->cached) {
        if (!is_free(s, out, 0))
            hear(s, out);
        if (is_free(s, out, 0))
            return 0;
    }
    for (unsigned i = 0; !is_free(s, out, oldest) && i < s->D; i++)
        oldest = i != out->place && out->numbers[i] < out->numbers[oldest] ? i : oldest;
    return oldest;
}

/* Puts a message into out->place. A device sends long messages from the window's scratch, which has
 * memory for each place of each mailbox. This memory is written again only when the receiver has
 * dropped the message, by when the device has read it. Returns NCOLL_OK, NCOLL_TIMEOUT if the
 * transport has no room, or an error. */
static int put(struct ncoll_stale *s, struct outbox *out, const void *data, size_t len_bytes)
{
    struct ncoll_context *ctx = s->group->ctx;
    struct correspondent *c = &s->peers[out->to];
    struct transport *by = c->to->by;
    struct spot spot = spot_of(s, out->slot, out->place);
    struct window *w = s->group->mail;
    unsigned char *staged = w->scratch + spot.epoch % EPOCHS * s->shape.scratch_bytes;
    bool is_staged = len_bytes > SLOT_PAYLOAD && !c->sends_any;
    size_t copy = out->place / PLACED_SETS;

    if (is_staged) {
        staged += (copy * s->slots + (size_t)(out - s->outs)) * s->stride;
        memcpy(staged, data, len_bytes);
    }
    out->stamp.number = c->sent + 1;
    out->stamp.next = place_after(s, out);
    struct put put = {
        .to = c->to,
        .window = w,
        .epoch = spot.epoch,
        .signature = stamp_pack(&out->stamp),
        .slot = spot.slot,
        .src = is_staged ? staged : data,
        .len_bytes = len_bytes,
        .answered = true,
        .route = len_bytes > SLOT_PAYLOAD ? ROUTE_BULK : ROUTE_SLOT,
        .bulk_offset = spot.bulk_offset,
    };
    int rc = by->ops->put(by, &put);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    if (rc == NCOLL_OK) {
        ctx->puts++;
        ctx->put_bytes += len_bytes;
    }
    out->numbers[out->place] = ++c->sent;
    out->place = out->stamp.next;
    return rc == NCOLL_ERR_PEER ? gone(s, c) : rc;
}

static void set_withheld(struct ncoll_stale *s, struct outbox *out, bool withheld, bool refused)
{
    if (out->withheld != withheld) {
        s->n_withheld += withheld ? 1 : -1u;
        s->group->ctx->withheld += withheld ? 1 : -1u;
    }
    if (out->refused != refused)
        s->n_refused += refused ? 1 : -1u;
    out->withheld = withheld;
    out->refused = refused;
}

/* Allocates the buffer of an outbox at its first use. */
static int buffer_of(struct ncoll_stale *s, struct outbox *out)
{
    if (out->buffer == NULL)
        out->buffer = ncoll__allocate(s->group->ctx, out->len_bytes + s->ages_bytes);
    if (out->buffer != NULL)
        return NCOLL_OK;
    return ncoll__fail(s->group->ctx, NCOLL_ERR_MEMORY, -1, NULL,
                       "no memory for a contribution that cannot be sent yet");
}

static int withhold(struct ncoll_stale *s, struct outbox *out, const void *data, size_t len_bytes,
                    bool refused)
{
    int rc = buffer_of(s, out);

    if (rc != NCOLL_OK)
        return rc;
    if (data != out->buffer)
        memcpy(out->buffer, data, len_bytes);
    out->withheld_bytes = len_bytes;
    set_withheld(s, out, true, refused);
    return NCOLL_OK;
}

/* Writes a message and the ages of all ranks' contributions (struct mail) to the buffer of the
 * outbox. Returns NCOLL_OK or an error. */
static int append_ages(struct ncoll_stale *s, struct outbox *out, const void *data)
{
    int rc = buffer_of(s, out);

    if (rc != NCOLL_OK)
        return rc;
    memcpy(out->buffer, data, out->len_bytes);
    for (size_t q = 0; q < (size_t)s->group->size; q++) {
        uint16_t age = s->sum[q] != 0 ? (uint16_t)(s->sum[q] - out->stamp.min + 1) : 0;
        memcpy(out->buffer + out->len_bytes + q * sizeof age, &age, sizeof age);
    }
    return NCOLL_OK;
}

int ncoll__mail_send(struct ncoll_stale *s, struct outbox *out, const void *data,
                     struct stamp stamp, bool ages)
{
    size_t len_bytes = out->len_bytes + (ages ? s->ages_bytes : 0);
    int rc = NCOLL_TIMEOUT;

    out->stamp = stamp;
    if (ages && (rc = append_ages(s, out, data)) != NCOLL_OK)
        return rc;
    data = ages ? out->buffer : data;
    bool may = may_send(s, out);
    rc = may ? put(s, out, data, len_bytes) : NCOLL_TIMEOUT;
    if (rc == NCOLL_TIMEOUT)
        return withhold(s, out, data, len_bytes, may);
    set_withheld(s, out, false, false);
    return rc;
}

int ncoll__mail_add(struct ncoll_stale *s, struct outbox *out, const void *data, struct stamp stamp)
{
    if (!out->withheld)
        return ncoll__mail_send(s, out, data, stamp, false);
    s->op.combine(out->buffer, out->buffer, data, s->count, s->type, s->op.arg);
    stamp.min = out->stamp.min;
    return ncoll__mail_send(s, out, out->buffer, stamp, false);
}

int ncoll__mail_flush(struct ncoll_stale *s)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; s->n_withheld > 0 && i < s->n_outs && rc == NCOLL_OK; i++) {
        struct outbox *out = &s->outs[i];
        if (!out->withheld)
            continue;
        if (has_left(s, &s->peers[out->to])) {
            set_withheld(s, out, false, false);
            continue;
        }
        if (!may_send(s, out))
            continue;
        rc = put(s, out, out->buffer, out->withheld_bytes);
        if (rc != NCOLL_TIMEOUT)
            set_withheld(s, out, false, false);
        rc = rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
    }
    for (unsigned i = 0; s->n_due > 0 && i < s->n_peers && rc == NCOLL_OK; i++)
        if (s->peers[i].due)
            rc = give(s, &s->peers[i], dropped(s, &s->peers[i]));
    return rc;
}
