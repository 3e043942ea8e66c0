/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single copies: a route for a long message to a rank of the same node, from memory of the user
 * that other processes cannot map. The slot holds the address of the data, from where the receiver
 * gets it (process_vm_readv(), or memcpy() if both ranks are threads of one process). It copies the
 * message to its OUT if the schedule only copies it there (lib/plan/placed.h), otherwise to its
 * bulk memory, as if it had been put there.
 *
 * The sender uses this route once it knows that all receivers of the plan's single copies may read
 * its memory. The kernel must allow that; ranks try it when they connect. Otherwise messages take
 * the other routes.
 *
 * Lifetime of the data. A receiver gets the message once, in its wait. Then it writes the epoch to
 * a word of its window that belongs to the slot and the set (transport/window.h). The sender does
 * not end the run before it has seen all these words. Until then data in OUT stays, since a
 * schedule does not overwrite in the same call what it has put. IN may be overwritten by OUT, in
 * place: a program that does so before the put is acknowledged (`acknowledges`, algos/schedule.h)
 * has no single copies from IN. The word is not part of the slot: when a slow sender looks at it,
 * the slot may already belong to another sender, eight runs later; the word then has a larger
 * epoch, which also means that the message was read.
 *
 * Memory order, as for a credit: the receiver's reads come before the word (release), and the
 * sender acquires the word before the call ends and the user may write to the buffer.
 *
 * No deadlock. Suppose that some run never ends on some rank; take the first such run, and a rank
 * that waits there for its receivers. The receivers reach their waits as they would without single
 * copies: they need puts of the same run, and these need credits for earlier runs only, since no
 * rank waits for a word before it has put everything. So a receiver blocks the sender only if it
 * never makes the call, and this is reported like a deadlock (lib/watch/deadlock.c).
 *
 * Failures, as for peer reads (peer_read.c): a rank that fails, or leaves in the middle of a call,
 * tells its peers by a control word before it gives the memory back to the user. A rank that has
 * copied a message checks for such a word before it ends its run. If the memory cannot be read and
 * no rank has failed, the sender's user passed a bad address.
 */
#include "lib/base/failure.h"
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/deliver/memory.h"

/* ------------------------------------------------------------------ at the sender ------------- */

/* Asks the transport whether all receivers of the plan's single copies may read this rank's
 * memory. */
static enum single_copy ask(struct ncoll_group *g, const struct plan *plan)
{
    struct transport *t = g->ctx->transport;
    enum single_copy all = SINGLE_COPY_ALLOWED;

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned k = 0; k < plan->programs[p].count; k++) {
            const struct instruction *i = &plan->programs[p].instructions[k];
            if (i->kind != STEP_PUT)
                continue;
            enum single_copy one =
                i->routes & MAY_SINGLE_COPY ? t->ops->single_copy(t, i->to) : SINGLE_COPY_ALLOWED;
            if (one == SINGLE_COPY_REFUSED)
                return one;
            all = one == SINGLE_COPY_UNKNOWN ? one : all;
        }
    return all;
}

bool ncoll__may_single_copy(struct ncoll_group *g, struct plan *plan, const struct memory *memory)
{
    if (!(plan->routes & MAY_SINGLE_COPY))
        return false;
    if (plan->single_copy == SINGLE_COPY_UNKNOWN)
        plan->single_copy = ask(g, plan);
    /* Memory that peers can map has better routes: they read messages there, or write placed
     * messages to it. */
    return plan->single_copy == SINGLE_COPY_ALLOWED && (memory == NULL || !memory->peer_readable);
}

/* True if the instruction is a put that is, or will be, a single copy in this run: see
 * ncoll__route(). */
static bool is_single_copy(const struct ncoll_group *g, const struct run *run,
                           const struct instruction *i)
{
    if (i->kind != STEP_PUT || !(i->routes & MAY_SINGLE_COPY))
        return false;
    if (!(i->routes & FROM_MESSAGE))
        return (run->can[i->user.base] & MAY_SINGLE_COPY) != 0;
    return message_of(g, run, i->message_a)->route == ROUTE_PLACED &&
           (run->can[BASE_OUT] & MAY_SINGLE_COPY) != 0;
}

bool ncoll__holds_users(struct ncoll_group *g, struct run *run, struct holder *out)
{
    struct transport *t = g->ctx->transport;
    const struct program *p = run->program;
    struct window_view there;

    if (((run->can[BASE_IN] | run->can[BASE_OUT]) & MAY_SINGLE_COPY) == 0)
        return false;
    for (; run->returned < p->count; run->returned++) {
        const struct instruction *i = &p->instructions[run->returned];
        if (!is_single_copy(g, run, i) || !t->ops->view(t, i->to, g->window, &there))
            continue;
        *out = (struct holder){i->peer, i->slot, &there.got[slot_index(run->epoch, i->slot)]};
        if (atomic_load_explicit(out->word, memory_order_acquire) < run->epoch)
            return true;
    }
    return false;
}

bool ncoll__lets_others_read(struct ncoll_context *ctx)
{
    for (struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
            const struct run *run = run_of(g, e);
            if (run->call != NULL && ((run->can[BASE_IN] | run->can[BASE_OUT]) &
                                      (MAY_PEER_READ_IN | MAY_SINGLE_COPY)) != 0)
                return true;
        }
    return false;
}

/* ------------------------------------------------------------------ at the receiver ----------- */

static int cannot_be_read(struct ncoll_group *g, const struct run *run, const struct instruction *i)
{
    int rank = ncoll__world_rank(g, i->peer);
    int rc = ncoll__check_reads(g, run);

    return rc != NCOLL_OK
               ? rc
               : ncoll__fail(
                     g->ctx, NCOLL_ERR_ARGUMENT, rank,
                     "pass memory that is mapped and can be read, or set NCOLL_SINGLE_COPY=0 "
                     "if it is a device's",
                     "%zu bytes in a buffer of rank %d cannot be read", i->len_bytes, rank);
}

int ncoll__single_copy(struct ncoll_group *g, struct run *run, const struct instruction *i,
                       struct message *m)
{
    struct transport *t = g->ctx->transport;
    struct endpoint *from = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
    const struct call *c = run->call;
    /* If OUT is the source of a later put to another node, it must be memory that the device
     * knows. */
    bool placed = i->routes & MAY_PLACED && !(i->routes & IF_APART && c->in_place) &&
                  (t->sends_any_memory || c->memories[BASE_OUT] != NULL);
    unsigned char *room = run->base[BASE_BULK] + i->bulk_offset;
    unsigned char *to = placed ? run->base[BASE_OUT] + i->user.offset : room;

    int rc = t->ops->get(t, from, g->window, run->epoch, i->slot, i->len_bytes, to);
    /* The error may come from the source or from OUT. A second attempt, to bulk memory, tells them
     * apart. */
    if (rc == NCOLL_ERR_ARGUMENT && placed) {
        placed = false;
        to = room;
        rc = t->ops->get(t, from, g->window, run->epoch, i->slot, i->len_bytes, to);
    }
    if (rc == NCOLL_ERR_ARGUMENT)
        return cannot_be_read(g, run, i);
    if (rc == NCOLL_ERR_PEER)
        return g->ctx->watch->unreachable(g->ctx, ncoll__world_rank(g, i->peer));
    if (rc != NCOLL_OK)
        return rc;
    m->route = placed ? ROUTE_PLACED : ROUTE_BULK;
    m->at = (const unsigned char *)((uintptr_t)to - i->bulk_offset);
    run->reads_users = true;
    return NCOLL_OK;
}
