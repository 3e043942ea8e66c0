/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invitations: long messages into the receiver's OUT, pair by pair.
 *
 * When a call begins whose OUT lies in memory that peers can reach, the receiver tells each of its
 * senders which of its messages may land there, and where (lib/plan/landing.h says why they may).
 * The sender looks when it puts: if it finds an invitation for this call it puts there, else into
 * the window, and the slot says which. So nobody waits for an invitation, and ranks whose memory
 * the library does not know take part without another word.
 *
 * A box is used again BOXES calls later. The receiver starts a run only when all runs but the last
 * LANES - 1 before it are over, so the call of the box has ended there, and with it all puts that
 * could have looked for it.
 */
#include <string.h>

#include "lib/internal.h"
#include "lib/memory/memory.h"

/* Of landings `first` on, those of one sender. Returns where the next sender's begin. */
static unsigned list(const struct call *c, unsigned first, struct invitation *out)
{
    const struct program *p = c->plan->programs;
    unsigned i = first;

    for (out->count = 0; i < p->n_landings && p->landings[i].peer == p->landings[first].peer; i++) {
        const struct landing *l = &p->landings[i];
        if (out->count < INVITATION_LISTED && !(l->apart && c->in_place))
            out->landings[out->count++] =
                (uint64_t)l->slot << LANDING_BITS | l->at * c->plan->element;
    }
    return i;
}

/* What the card of a sender's messages says besides the call. */
static uint64_t amount_from(const struct plan *plan, unsigned peer)
{
    return plan->key.sends != NULL ? plan->key.counts[peer] : plan->card.amount;
}

void ncoll__invite(struct ncoll_group *g, struct call *c)
{
    struct transport *t = g->ctx->transport;
    const struct plan *plan = c->plan;
    const struct program *p = plan->programs;
    struct invitation invitation = {.epoch = g->next_epoch - 1,
                                    .epochs = plan->inviting < UINT32_MAX ? (uint32_t)plan->inviting
                                                                          : UINT32_MAX};

    if (c->memories[BASE_OUT] == NULL || !c->memories[BASE_OUT]->reachable)
        return;
    for (unsigned i = 0; i < p->n_landings;) {
        unsigned peer = p->landings[i].peer;
        i = list(c, i, &invitation);
        struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, peer));
        if (to == NULL || invitation.count == 0)
            continue;
        invitation.card = (struct card){plan->card.what, amount_from(plan, peer)};
        /* Without room for it the message goes through the window. */
        t->ops->invite(t, to, g->window, (unsigned)(c->number % BOXES), c->memories[BASE_OUT],
                       c->args.out, &invitation);
    }
}

/* ------------------------------------------------------------------ at the sender ------------- */

/* Reads what may be written just now. False: it is for other epochs, or not whole. */
static bool read_box(const struct invitation_box *box, uint64_t epoch, struct invitation *out)
{
    uint64_t words[sizeof *out / sizeof(uint64_t)];
    size_t fixed = offsetof(struct invitation, landings) / sizeof *words, n = fixed;

    /* Acquire: with the check comes what was written before it. */
    words[0] = atomic_load_explicit(&box->words[0], memory_order_acquire);
    words[1] = atomic_load_explicit(&box->words[1], memory_order_relaxed);
    if (__builtin_expect(words[1] == 0 || words[1] > epoch, 1))
        return false;
    for (size_t i = 2; i < n; i++) {
        words[i] = atomic_load_explicit(&box->words[i], memory_order_relaxed);
        if (i + 1 == fixed) {
            memcpy(out, words, fixed * sizeof *words);
            if (epoch - out->epoch >= out->epochs || out->count > INVITATION_LISTED)
                return false;
            n += out->count;
        }
    }
    memcpy(out, words, n * sizeof *words);
    return out->check == invitation_check(out);
}

bool ncoll__is_invited(const struct ncoll_group *g, const struct run *run, unsigned peer,
                       struct put *put, struct invitation *invitation)
{
    const struct invitation_box *box =
        &g->window->invitations[(size_t)peer * BOXES + run->call->number % BOXES];

    if (!read_box(box, run->epoch, invitation) || !card_equal(invitation->card, put->card))
        return false;
    for (unsigned i = 0; i < invitation->count; i++)
        if (invitation->landings[i] >> LANDING_BITS == put->slot) {
            put->out_offset =
                run->done + (size_t)(invitation->landings[i] & ((UINT64_C(1) << LANDING_BITS) - 1));
            return true;
        }
    return false;
}
