/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peer reads: a long message to a rank of the same node stays where it is, in memory that the
 * receiver maps, and is read there. It is not copied to the receiver's bulk memory.
 *
 * The data lies in one of two places (lib/plan/sources.c determines which a put may use):
 *
 *   scratch   data that the schedule puts from scratch, or data of IN or OUT that goes to several
 *             ranks of the node: it is copied to scratch once for all of them;
 *   IN        in memory from ncoll_alloc(), if the algorithm acknowledges it (`acknowledges`,
 *             algos/schedule.h): no copy at all.
 *
 * A message in other memory of the user may be a single copy: single_copy.c.
 *
 * The sender decides, and the slot tells the receiver. A receiver that cannot map the memory copies
 * the message to its bulk memory, and goes on as if it had been put there.
 *
 * Lifetime of the data. A receiver reads a message until its run ends. The sender writes to the
 * same scratch again EPOCHS runs later. It starts that run only when it knows that all readers of
 * the set have finished the earlier one; it needs the same knowledge before it puts to them
 * (lib/base/credit.h). If the sender would not learn this otherwise, the reader gives it a credit
 * when it starts the later run itself. IN belongs to the user again when the call ends: by then the
 * receiver has acknowledged that it does not read IN any more. Scratch stays mapped at the receiver
 * even if the sender fails.
 *
 * Memory order. The sender writes the data, then raises the flag (release). The receiver sees the
 * flag (acquire), and reads. For scratch: the receiver's run ends, then it gives a credit (a
 * sequentially consistent store) or puts in a later run (release), and the sender acquires that
 * before it writes there again. For IN: the acknowledging put follows the reads in program order
 * (release), and the sender acquires its flag, or the flag of a later message, before its call
 * ends.
 *
 * Failures. A call that fails gives IN back to the user without an acknowledgement. Before it does,
 * the rank has told all its peers of the failure by a control word. A receiver checks for such a
 * word after its last read. So if it may have read data that was overwritten, it finds the word,
 * and fails, too. A rank that destroys its context in the middle of a call also tells its peers
 * first. Freed memory reads as zeroes as long as it is mapped.
 */
#include <string.h>

#include "lib/base/failure.h"
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/deliver/memory.h"

/* ------------------------------------------------------------------ notes of readers ---------- */

void ncoll__routes_free(struct ncoll_group *g)
{
    ncoll__release(g->ctx, g->messages);
    g->messages = NULL;
    g->n_messages = 0;
    ncoll__release(g->ctx, g->readers.to[0]);
    g->readers = (struct readers){0};
}

void ncoll__note_reader(uint64_t *ranks, unsigned *any, unsigned set, unsigned rank)
{
    ranks[rank / 64] |= UINT64_C(1) << rank % 64;
    *any |= 1u << set;
}

void ncoll__clear_reader(uint64_t *ranks, unsigned rank)
{
    ranks[rank / 64] &= ~(UINT64_C(1) << rank % 64);
}

bool ncoll__first_reader(const struct readers *s, const uint64_t *ranks, unsigned *any,
                         unsigned set, unsigned *rank)
{
    for (unsigned w = 0; w < s->words && (*any >> set & 1) != 0; w++)
        if (ranks[w] != 0) {
            *rank = 64 * w + (unsigned)__builtin_ctzll(ranks[w]);
            return true;
        }
    *any &= ~(1u << set);
    return false;
}

bool ncoll__holds_scratch(struct ncoll_group *g, uint64_t epoch, struct holder *out)
{
    struct readers *s = &g->readers;
    unsigned set = epoch % EPOCHS;

    *out = (struct holder){.slot = NO_SLOT};
    while (ncoll__first_reader(s, s->to[set], &s->to_any, set, &out->rank)) {
        if (ncoll__lacks_credit(g, out->rank, epoch))
            return true;
        ncoll__clear_reader(s->to[set], out->rank);
    }
    return false;
}

/* ------------------------------------------------------------------ at the receiver ----------- */

int ncoll__find_at_peer(struct ncoll_group *g, struct run *run, const struct instruction *i,
                        struct message *m)
{
    struct transport *t = g->ctx->transport;
    const struct slot *slot = window_slot(g->window, run->epoch, i->slot);
    struct endpoint *from = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
    unsigned set = run->epoch % EPOCHS;
    const unsigned char *found;

    unsigned char *room = run->base[BASE_BULK] + i->bulk_offset;
    int rc = t->ops->find(t, from, g->window, slot, i->len_bytes, room, &found);
    if (rc != NCOLL_OK)
        return rc;
    /* found == room: the transport has copied the message to bulk memory */
    m->route = found != room ? ROUTE_PEER_READ : ROUTE_BULK;
    m->at = (const unsigned char *)((uintptr_t)found - i->bulk_offset);
    if (slot->source.words[0] == 0)
        ncoll__note_reader(g->readers.by[set], &g->readers.by_any, set, i->peer);
    else
        run->reads_users = true;
    return NCOLL_OK;
}

/* A mismatch in a later run does not make the reads of this run invalid: the rank that finds it
 * gives up that run and all later ones, but no earlier run. */
int ncoll__check_reads(struct ncoll_group *g, const struct run *run)
{
    struct transport *t = g->ctx->transport;
    const struct failure *f = &g->ctx->failure;

    /* The failure word must be read after the last read of data. */
    atomic_thread_fence(memory_order_acquire);
    t->ops->check(t, -1);
    if (f->kind == CONTROL_MISMATCH && f->group == g->name &&
        (int32_t)(f->epoch - (uint32_t)run->epoch) > 0)
        return NCOLL_OK;
    return ncoll__failure(g->ctx);
}
