/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advertisements: a receiver tells its senders the places in its OUT to which they may write long
 * messages.
 *
 * At the beginning of a call whose OUT lies in memory that peers can reach, the receiver advertises
 * to each sender a list of messages and their places (lib/plan/placed.h has the conditions). The
 * sender checks this when it puts. If there is an advertisement for the call, it writes the message
 * to the advertised place, otherwise to bulk memory; the slot tells the receiver the route. So no
 * rank waits for an advertisement, and a rank whose OUT the library does not know simply sends
 * none.
 *
 * The memory of an advertisement is used again ADVERTISEMENTS calls later. The receiver starts a
 * run only when all earlier runs but the last LANES - 1 have ended. So the earlier call has ended
 * on the receiver, and no put can look for its advertisement any more.
 */
#include <string.h>

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
        /* If the transport has no room for it, the messages go through the window. */
        t->ops->advertise(t, to, g->window, (unsigned)(c->number % ADVERTISEMENTS),
                          c->memories[BASE_OUT], c->args.out, &advertisement);
    }
}

/* ------------------------------------------------------------------ at the sender ------------- */

/* Reads an advertisement that the peer may be writing at this moment. Returns false if it is for
 * other epochs, from another rank, or not complete. */
static bool read_box(const struct advertisement_box *box, unsigned peer, uint64_t epoch,
                     struct advertisement *out)
{
    uint64_t words[sizeof *out / sizeof(uint64_t)];
    size_t fixed = offsetof(struct advertisement, placed) / sizeof *words, n = fixed;

    /* Acquire: all words that were written before this one are visible, too. */
    words[0] = atomic_load_explicit(&box->words[0], memory_order_acquire);
    words[1] = atomic_load_explicit(&box->words[1], memory_order_relaxed);
    if (__builtin_expect(words[1] == 0 || words[1] > epoch, 1))
        return false;
    for (size_t i = 2; i < n; i++) {
        words[i] = atomic_load_explicit(&box->words[i], memory_order_relaxed);
        if (i + 1 == fixed) {
            memcpy(out, words, fixed * sizeof *words);
            if (epoch - out->epoch >= out->epochs || out->count > ADVERTISEMENT_LISTED)
                return false;
            n += out->count;
        }
    }
    memcpy(out, words, n * sizeof *words);
    return out->check == advertisement_check(out, peer);
}

bool ncoll__find_advertised(const struct ncoll_group *g, const struct run *run, unsigned peer,
                            struct put *put, struct advertisement *advertisement)
{
    const struct window *w = g->window;
    size_t at = advertisement_index(&w->shape, peer, run->call->number % ADVERTISEMENTS);

    if (!read_box(&w->advertisements[at], peer, run->epoch, advertisement) ||
        !signature_equal(advertisement->signature, put->signature))
        return false;
    for (unsigned i = 0; i < advertisement->count; i++)
        if (advertisement->placed[i] >> PLACED_BITS == put->slot) {
            put->out_offset =
                run->done + (size_t)(advertisement->placed[i] & ((UINT64_C(1) << PLACED_BITS) - 1));
            /* Two ranks may make different calls that have the same signature. Even then a message
             * must not be written past the end of OUT. */
            return put->out_offset <= advertisement->out_bytes &&
                   put->len_bytes <= advertisement->out_bytes - put->out_offset;
        }
    return false;
}
