/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lent messages: long puts, to ranks of the same node, of what lies in memory of the user's that
 * nobody can map. The sender says where it is; the receiver fetches it (process_vm_readv(), or, of
 * a thread, memcpy()) to where it is needed: to its OUT, if it is only copied there
 * (lib/plan/landing.h), else to its bulk memory, as if it had come there. One copy, of lines that
 * the sender has not written for it.
 *
 * It is the sender that decides, once it has heard that all to whom a plan lends may fetch: the
 * kernel has its say, and is asked when ranks connect. Else messages go as before.
 *
 * What keeps it there. A receiver fetches in its wait, once. Then it says so, in a word of its
 * window that belongs to the slot and the set (window.h), and the sender does not end the run
 * before it has seen all of these. What is lent from OUT stays till then, as nothing that has been
 * put is written again in a call. IN may be overwritten by OUT, in place: a program in which that
 * is so, before an answer (algos/schedule.h) to what it puts has come, lends nothing from there.
 * The word is not in the slot, since that may be another sender's, eight runs later, when a slow
 * sender still looks; by then the word says more than it looks for.
 *
 * Memory order. As of a credit: the receiver's reads come before the word (release), which the
 * sender acquires before the call ends and its user writes there.
 *
 * Nobody waits for ever. Take the first run that does not end anywhere, and a rank that waits there
 * for its receivers. They come to their waits as if there was no lending: what these need is puts
 * of the same run, which need credits for earlier runs only, and none waits for a word before it
 * has put all. So a receiver keeps it only by not coming to the call, which is told as deadlocks
 * are (lib/failure/deadlock.c).
 *
 * Failures. As of what is shown (show.c): who fails, or leaves in the middle of a call, has told so
 * before its user has the memory again, and who has fetched something looks for that word before it
 * ends its run. Memory that is not there any more, or never was, is found by the receiver: if
 * nobody has failed its sender passed an address that cannot be read.
 */
#include "lib/failure/failure.h"
#include "lib/internal.h"
#include "lib/memory/memory.h"

/* ------------------------------------------------------------------ at the sender ------------- */

/* Of all peers together. */
static enum lending ask(struct ncoll_group *g, const struct plan *plan)
{
    struct transport *t = g->ctx->transport;
    enum lending all = LENDING_ALLOWED;

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned k = 0; k < plan->programs[p].count; k++) {
            const struct instruction *i = &plan->programs[p].instructions[k];
            enum lending one = i->shows & LENDS ? t->ops->lending(t, i->to) : LENDING_ALLOWED;
            if (one == LENDING_REFUSED)
                return one;
            all = one == LENDING_UNKNOWN ? one : all;
        }
    return all;
}

/* Memory that peers can map is shown instead, or they are invited to it. */
static bool is_private(const struct memory *memory)
{
    return memory == NULL || !memory->shown;
}

void ncoll__lend_begin(struct ncoll_group *g, struct run *run)
{
    const struct call *c = run->call;
    struct plan *plan = c->plan;

    run->returned = 0;
    if (plan->lending == LENDING_UNKNOWN)
        plan->lending = ask(g, plan);
    if (plan->lending != LENDING_ALLOWED)
        return;
    run->lends[BASE_IN] =
        is_private(c->memories[BASE_IN]) && !(c->in_place && run->program->lent_is_overwritten);
    run->lends[BASE_OUT] = is_private(c->memories[BASE_OUT]);
}

const void *ncoll__lent_from(const struct ncoll_group *g, const struct run *run,
                             const struct instruction *i)
{
    if (!(i->shows & LENDS) || !run->lends[i->user.base])
        return NULL;
    if (i->lands && window_slot(g->window, run->epoch, i->landed)->where != IN_OUT)
        return NULL;
    return run->base[i->user.base] + i->user.offset;
}

const struct instruction *ncoll__lent_out(struct ncoll_group *g, struct run *run,
                                          const _Atomic uint64_t **word)
{
    struct transport *t = g->ctx->transport;
    const struct program *p = run->program;
    struct window_view there;

    if (!run->lends[BASE_IN] && !run->lends[BASE_OUT])
        return NULL;
    for (; run->returned < p->count; run->returned++) {
        const struct instruction *i = &p->instructions[run->returned];
        if (i->kind != STEP_PUT || ncoll__lent_from(g, run, i) == NULL ||
            !t->ops->view(t, i->to, g->window, &there))
            continue;
        *word = &there.fetched[slot_index(run->epoch, i->slot)];
        if (atomic_load_explicit(*word, memory_order_acquire) < run->epoch)
            return i;
    }
    return NULL;
}

bool ncoll__has_lent(struct ncoll_context *ctx)
{
    for (struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++) {
            const struct run *run = run_of(g, e);
            if (run->call != NULL && (run->shows_in || run->lends[BASE_IN] || run->lends[BASE_OUT]))
                return true;
        }
    return false;
}

/* ------------------------------------------------------------------ at the receiver ----------- */

static int cannot_be_read(struct ncoll_group *g, const struct run *run, const struct instruction *i)
{
    int rank = ncoll__world_rank(g, i->peer);
    int rc = ncoll__shown_stayed(g, run);

    return rc != NCOLL_OK
               ? rc
               : ncoll__fail(
                     g->ctx, NCOLL_ERR_ARGUMENT, rank,
                     "pass memory that is mapped and can be read, or set NCOLL_SINGLE_COPY=0 "
                     "if it is a device's",
                     "%zu bytes in a buffer of rank %d cannot be read", i->len_bytes, rank);
}

int ncoll__fetch_lent(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    struct transport *t = g->ctx->transport;
    struct slot *slot = window_slot(g->window, run->epoch, i->slot);
    struct endpoint *from = t->ops->endpoint(t, ncoll__world_rank(g, i->peer));
    const struct call *c = run->call;
    /* What is put from there later on, to another node, must be known to the device. */
    bool lands = i->lands && !(i->apart && c->in_place) &&
                 (t->sends_any_memory || c->memories[BASE_OUT] != NULL);
    unsigned char *room = run->base[BASE_BULK] + i->bulk_offset;
    unsigned char *to = lands ? run->base[BASE_OUT] + i->user.offset : room;

    int rc = t->ops->fetch(t, from, g->window, run->epoch, i->slot, i->len_bytes, to);
    if (rc == NCOLL_ERR_ARGUMENT && lands) { /* whose memory is it? A bad OUT faults in the copy */
        lands = false;
        rc = t->ops->fetch(t, from, g->window, run->epoch, i->slot, i->len_bytes, room);
    }
    if (rc == NCOLL_ERR_ARGUMENT)
        return cannot_be_read(g, run, i);
    if (rc == NCOLL_ERR_PEER)
        return ncoll__peer_unreachable(g->ctx, ncoll__world_rank(g, i->peer));
    if (rc != NCOLL_OK)
        return rc;
    slot->where = lands ? IN_OUT : IN_BULK;
    run->reads_users = true;
    return NCOLL_OK;
}
