/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shown messages: long puts to ranks of the same node that are read where they lie, in the window
 * shared with them, in place of being copied to the receiver's bulk memory.
 *
 * What may be shown (sources.c finds out when it compiles):
 *
 *   scratch   what a schedule puts from there, and a copy of IN or OUT there that goes to several
 *             ranks of the node: one copy for all of them;
 *   IN        in memory from ncoll_alloc(), if the algorithm says that it is answered
 *             (algos/schedule.h): no copy at all.
 *
 * What lies in other memory of the user's may be lent, and is fetched: see lend.c.
 *
 * It is the sender that decides; the slot tells the receiver, which is ready for both: it copies to
 * its bulk memory what it cannot map. Everything else goes as to a rank of another node.
 *
 * What keeps it there. A receiver reads a message until its run is over, scratch is written again
 * EPOCHS runs later: so the sender starts that run only when it knows that all to whom it has shown
 * something in this set have finished, as it does before it puts to them (credit.h). Who would not
 * know is told by a credit, at the start of that run at the receiver. IN is the user's again, or is
 * overwritten in place, when the receiver has read it for the last time: that is what answered
 * means. Scratch stays mapped at the receiver whatever happens to the sender.
 *
 * Memory order. Sender: writes what it shows, then raises the flag (release). Receiver: sees the
 * flag (acquire), reads. Then, for scratch: its run ends, it tells so by a credit (a sequentially
 * consistent store) or by a put of a later run (release); the sender acquires that before it writes
 * there again. For IN: the put that answers comes after the reads in program order (release), and
 * the sender acquires its flag, or that of a message put after it, before its call ends.
 *
 * Failures. A call that fails gives IN back to the user, unanswered. Before it does, the rank has
 * told all its peers of the failure; so a receiver that has read what was overwritten since finds
 * that word when it looks after its last read, and fails, too. So does who destroys its context in
 * the middle of a call. Memory that is freed reads as zeroes while it is mapped.
 */
#include <string.h>

#include "lib/failure/failure.h"
#include "lib/internal.h"
#include "lib/memory/memory.h"

bool ncoll__reads(const struct ncoll_group *g, unsigned rank)
{
    const struct ncoll_context *ctx = g->ctx;

    return ctx->transport->shows && rank != (unsigned)g->rank &&
           ctx->peers[ncoll__world_rank(g, rank)].node == ctx->peers[ctx->rank].node;
}

bool ncoll__may_show(const struct ncoll_group *g, unsigned rank)
{
    return g->ctx->settings.show_bytes > 0 && ncoll__reads(g, rank);
}

/* ------------------------------------------------------------------ what is noted ------------- */

int ncoll__shown_prepare(struct ncoll_group *g)
{
    struct shown *s = &g->shown;
    unsigned words = ((unsigned)g->size + 63) / 64;

    if (s->words > 0 || !g->ctx->transport->shows)
        return NCOLL_OK;
    uint64_t *room = ncoll__allocate(g->ctx, (size_t)2 * EPOCHS * words * sizeof *room);
    if (room == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned set = 0; set < EPOCHS; set++) {
        s->to[set] = room + (size_t)2 * set * words;
        s->by[set] = s->to[set] + words;
    }
    s->words = words;
    return NCOLL_OK;
}

void ncoll__shown_free(struct ncoll_group *g)
{
    ncoll__release(g->ctx, g->shown.to[0]);
    g->shown = (struct shown){0};
}

static void note(uint64_t *ranks, unsigned *any, unsigned set, unsigned rank)
{
    ranks[rank / 64] |= UINT64_C(1) << rank % 64;
    *any |= 1u << set;
}

void ncoll__shown_clear(uint64_t *ranks, unsigned rank)
{
    ranks[rank / 64] &= ~(UINT64_C(1) << rank % 64);
}

bool ncoll__shown_first(const struct shown *s, const uint64_t *ranks, unsigned *any, unsigned set,
                        unsigned *rank)
{
    for (unsigned w = 0; w < s->words && (*any >> set & 1) != 0; w++)
        if (ranks[w] != 0) {
            *rank = 64 * w + (unsigned)__builtin_ctzll(ranks[w]);
            return true;
        }
    *any &= ~(1u << set);
    return false;
}

bool ncoll__shown_keeps(const struct ncoll_group *g, uint64_t epoch, unsigned *rank)
{
    const struct shown *s = &g->shown;
    unsigned set = epoch % EPOCHS;

    if ((s->to_any >> set & 1) == 0)
        return false;
    for (unsigned q = 0; q < (unsigned)g->size; q++)
        if ((s->to[set][q / 64] >> q % 64 & 1) != 0 && ncoll__lacks_credit(g, q, epoch)) {
            *rank = q;
            return true;
        }
    return false;
}

/* ------------------------------------------------------------------ at the sender ------------- */

void ncoll__show(const struct ncoll_group *g, const struct run *run, const struct instruction *i,
                 struct put *put)
{
    bool is_copied = !i->staged || run->sources[i->user.base] == NULL;
    const void *lent = ncoll__lent_from(g, run, i);

    if ((i->shows & SHOWS_IN) && run->shows_in) {
        put->shown = true;
        put->src = run->base[BASE_IN] + i->user.offset;
        put->memory = run->call->memories[BASE_IN];
    } else if (lent != NULL) {
        put->shown = put->lent = true;
        put->src = lent;
        put->memory = NULL;
    } else if ((i->shows & SHOWS_SCRATCH) && is_copied) {
        put->shown = true;
    }
}

void ncoll__shown_to(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                     const struct put *put)
{
    unsigned set = run->epoch % EPOCHS;

    if (put->lent) {
        g->ctx->lent_bytes += put->len_bytes;
        return;
    }
    g->ctx->shown_bytes += put->len_bytes;
    if (put->memory == NULL)
        note(g->shown.to[set], &g->shown.to_any, set, i->peer);
}

/* ------------------------------------------------------------------ at the receiver ----------- */

int ncoll__find_shown(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    struct transport *t = g->ctx->transport;
    struct slot *slot = window_slot(g->window, run->epoch, i->slot);
    struct endpoint *from = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
    unsigned set = run->epoch % EPOCHS;
    const unsigned char *message;

    unsigned char *room = run->base[BASE_BULK] + i->bulk_offset;
    int rc = t->ops->find(t, from, g->window, slot, i->len_bytes, room, &message);
    if (rc != NCOLL_OK)
        return rc;
    slot->where = message != room ? AT_SENDER : IN_BULK; /* as if it had come there */
    slot->found = (const unsigned char *)((uintptr_t)message - i->bulk_offset);
    slot->len_bytes = i->len_bytes;
    slot->bulk_offset = i->bulk_offset;
    if (slot->shown.words[0] == 0)
        note(g->shown.by[set], &g->shown.by_any, set, i->peer);
    else
        run->reads_users = true;
    return NCOLL_OK;
}

void ncoll__fetch_shown(struct ncoll_group *g, const struct run *run, unsigned landed)
{
    struct slot *slot = window_slot(g->window, run->epoch, landed);

    if (slot->where != AT_SENDER)
        return;
    memcpy(run->base[BASE_BULK] + slot->bulk_offset, slot->found + slot->bulk_offset,
           slot->len_bytes);
    slot->where = IN_BULK;
}

/* Who finds a mismatch has given up all runs from that one on, but none before it. */
int ncoll__shown_stayed(struct ncoll_group *g, const struct run *run)
{
    struct transport *t = g->ctx->transport;
    const struct failure *f = &g->ctx->failure;

    atomic_thread_fence(memory_order_acquire); /* the word is looked for after the last read */
    t->ops->check(t, -1);
    if (f->kind == CONTROL_MISMATCH && f->group == g->name &&
        (int32_t)(f->epoch - (uint32_t)run->epoch) > 0)
        return NCOLL_OK;
    return ncoll__failure(g->ctx);
}
