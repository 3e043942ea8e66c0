/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advertisements: a receiver tells its senders the places in its OUT to which they may write long
 * messages.
 *
 * At the beginning of a call whose OUT lies in memory that peers can reach, the receiver advertises
 * to each sender a list of messages and their places (lib/plan/placed.h has the conditions). When
 * the sender puts, it looks for an advertisement for the call. If there is one, it writes the
 * message to the advertised place, otherwise to bulk memory; the slot tells the receiver the route.
 * So no rank waits for an advertisement, and a rank whose OUT the library does not know simply
 * sends none.
 *
 * The memory of an advertisement is used again ADVERTISEMENTS calls later. The receiver starts a
 * run only when all earlier runs but the last LANES - 1 have ended. So the earlier call has ended
 * on the receiver, and no put can look for its advertisement any more.
 */
#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"
#include "lib/deliver/memory.h"

/* Lists the placed messages of one sender, which begin at `first`. Returns the index of the first
 * message of the next sender. */
static unsigned list(const struct call *c, unsigned first, struct advertisement *out)
{
    const struct program *p = c->plan->programs;
    unsigned i = first;

    for (out->count = 0; i < p->n_placed && p->placed[i].peer == p->placed[first].peer; i++) {
        const struct placed *l = &p->placed[i];
        if (out->count < ADVERTISEMENT_LISTED && !(l->apart && c->in_place))
            out->placed[out->count++] = (uint64_t)l->slot << PLACED_BITS | l->at * c->plan->element;
    }
    return i;
}

/* Returns the amount field in the signature of a sender's messages. */
static uint64_t amount_from(const struct plan *plan, unsigned peer)
{
    return plan->key.sends != NULL
               ? ncoll__signature_amount(plan->signature, plan->key.counts[peer])
               : plan->signature.amount;
}

void ncoll__advertise(struct ncoll_group *g, struct call *c)
{
    struct transport *t = g->ctx->transport;
    const struct plan *plan = c->plan;
    const struct program *p = plan->programs;
    struct advertisement advertisement = {
        .epoch = g->next_epoch - 1,
        .epochs = plan->advertised < UINT32_MAX ? (uint32_t)plan->advertised : UINT32_MAX,
        .out_bytes = plan->out_bytes};

    if (c->memories[BASE_OUT] == NULL || !c->memories[BASE_OUT]->reachable)
        return;
    for (unsigned i = 0; i < p->n_placed;) {
        unsigned peer = p->placed[i].peer;
        i = list(c, i, &advertisement);
        struct endpoint *to = t->ops->endpoint(t, ncoll__world_rank(g, peer));
        if (to == NULL || advertisement.count == 0)
            continue;
        advertisement.signature = (struct signature){plan->signature.what, amount_from(plan, peer)};
        /* If the transport has no room for the advertisement, the messages go to bulk memory. */
        to->by->ops->advertise(to->by, to, g->window, (unsigned)(c->number % ADVERTISEMENTS),
                               c->memories[BASE_OUT], c->args.out, &advertisement);
    }
}
