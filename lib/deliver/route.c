/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The route of a message is the way from its sender's memory to the place where its receiver needs
 * it (enum route, transport/window.h).
 *
 *   SLOT         up to SLOT_PAYLOAD bytes, written into the receiver's slot; not handled in this
 *                file
 *   BULK         written into the receiver's bulk memory
 *   PLACED       written into the receiver's OUT, where it has advertised a place: advertise.c
 *   PEER_READ    a receiver on the same node reads it where it lies, in shared memory: peer_read.c
 *   SINGLE_COPY  a receiver on the same node copies it out of the sender's process: single_copy.c
 *
 * The compiler notes for each put and each wait the routes that are allowed (lib/plan/sources.c).
 * At the start of a run the memory of the call decides which of these are possible. The put takes
 * the best route and writes it into the slot, by which the receiver finds the message.
 */
#include <string.h>

#include "lib/deliver/memory.h"

/* ------------------------------------------------------------------ at the start of a run ----- */

static unsigned possible(struct ncoll_group *g, const struct run *run, enum base base)
{
    const struct call *c = run->call;
    const struct program *p = run->program;
    const struct memory *memory = c->memories[base];
    bool in_place = base == BASE_IN && c->in_place, copied = p->stages_for_far;
    unsigned can = 0;

    if (copied && p->longest_staged >= g->ctx->settings.zero_copy_bytes && memory != NULL &&
        !(in_place && p->in_is_overwritten))
        can |= CAN_REGISTERED;
    if (base == BASE_IN && c->plan->routes & MAY_PEER_READ_IN && memory != NULL &&
        memory->peer_readable)
        can |= MAY_PEER_READ_IN;
    if (ncoll__may_single_copy(g, c->plan, memory) && !(in_place && p->single_copy_is_overwritten))
        can |= MAY_SINGLE_COPY;
    if (!(can & CAN_REGISTERED) && !(can & MAY_PEER_READ_IN && !copied) &&
        !(can & MAY_SINGLE_COPY && !p->stages_always))
        can |= NEEDS_COPY;
    return can;
}

void ncoll__routes_find(struct ncoll_group *g, struct run *run)
{
    run->can[BASE_IN] = possible(g, run, BASE_IN);
    run->can[BASE_OUT] = possible(g, run, BASE_OUT);
}

/* ------------------------------------------------------------------ at the sender ------------- */

/* True if that rank is known to have mapped this rank's scratch. Otherwise that rank may still be
 * connecting peers for a call that has ended here. This rank may then leave, and its memory would
 * be gone. */
static bool has_mapped(const struct ncoll_group *g, const struct run *run, unsigned rank)
{
    uint64_t since = g->connected_at;

    return run->call->plan->synchronises || g->credits.synced >= since ||
           ncoll__credit_of(&g->credits, rank)->heard >= since ||
           atomic_load_explicit(&g->window->credits[rank], memory_order_acquire) >= since;
}

/* Copies a peer read, out of its sender's memory, to bulk memory, as if it had been put there. */
static void bring_to_bulk(struct ncoll_group *g, const struct run *run, unsigned slot)
{
    struct message *m = message_of(g, run, slot);

    if (m->route != ROUTE_PEER_READ)
        return;
    memcpy(run->base[BASE_BULK] + m->bulk_offset, m->at + m->bulk_offset, m->len_bytes);
    m->at = run->base[BASE_BULK];
    m->route = ROUTE_BULK;
}

/* Returns the routes that the run allows for a put from the user's memory; 0 if the data is not
 * there. *base: the buffer that has the data. */
static unsigned find_source(struct ncoll_group *g, const struct run *run,
                            const struct instruction *i, struct put *put, enum base *base)
{
    *base = (enum base)i->user.base;
    if (i->routes & FROM_MESSAGE) {
        if (i->routes & FROM_WINDOW)
            bring_to_bulk(g, run, i->message_a);
        const struct message *message = message_of(g, run, i->message_a);
        put->src = message->at + i->a.offset;
        *base = BASE_OUT;
        return message->route == ROUTE_PLACED
                   ? CAN_REGISTERED | (run->can[BASE_OUT] & MAY_SINGLE_COPY)
                   : 0;
    }
    return *base == BASE_IN || *base == BASE_OUT ? run->can[*base] : 0;
}

/* Puts from the user's memory. The call ends only after the device has sent the data. */
static void put_from_users(struct run *run, struct memory *memory, const void *src, struct put *put)
{
    put->src = src;
    if (memory == NULL)
        return;
    put->memory = memory;
    put->answered = false;
    run->call->sends_own = true;
}

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

/* If the receiver has advertised a place in its OUT for this put (advertise.c), returns true and
 * fills in the put's destination. */
static bool find_advertised(const struct ncoll_group *g, const struct run *run, unsigned peer,
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

void ncoll__route(struct ncoll_group *g, struct run *run, const struct instruction *i,
                  struct put *put, struct advertisement *advertisement)
{
    enum base base;
    unsigned can = find_source(g, run, i, put, &base);

    if (i->len_bytes <= SLOT_PAYLOAD)
        return;
    const void *users = i->routes & FROM_MESSAGE ? put->src : run->base[base] + i->user.offset;
    put->route = ROUTE_BULK;
    if (i->routes & can & MAY_PEER_READ_IN) {
        put->route = ROUTE_PEER_READ;
        put->src = users;
        put->memory = run->call->memories[base];
    } else if (i->routes & can & MAY_SINGLE_COPY) {
        put->route = ROUTE_SINGLE_COPY;
        put->src = users;
    } else if (can & CAN_REGISTERED && i->routes & (FROM_COPY | FROM_MESSAGE)) {
        put_from_users(run, run->call->memories[base], users, put);
    } else if (i->routes & MAY_PEER_READ && has_mapped(g, run, i->peer)) {
        put->route = ROUTE_PEER_READ;
    }
    if (put->route == ROUTE_BULK && find_advertised(g, run, i->peer, put, advertisement)) {
        put->route = ROUTE_PLACED;
        put->advertisement = advertisement;
    }
}

void ncoll__routed(struct ncoll_group *g, const struct run *run, const struct instruction *i,
                   const struct put *put)
{
    unsigned set = run->epoch % EPOCHS;

    if (put->route == ROUTE_SINGLE_COPY) {
        g->ctx->lent_bytes += put->len_bytes;
        return;
    }
    g->ctx->shown_bytes += put->len_bytes;
    if (put->memory == NULL)
        ncoll__note_reader(g->readers.to[set], &g->readers.to_any, set, i->peer);
}

/* ------------------------------------------------------------------ memory in use ------------- */

bool ncoll__find_holder(struct ncoll_group *g, struct run *run, struct holder *out)
{
    if (run->next == 0)
        return ncoll__holds_scratch(g, run->epoch, out);
    return run->next == run->program->count && ncoll__holds_users(g, run, out);
}

/* ------------------------------------------------------------------ at the receiver ----------- */

int ncoll__receive(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    const struct slot *slot = window_slot(g->window, run->epoch, i->slot);
    struct message *m = message_of(g, run, i->slot);

    *m = (struct message){.at = run->base[BASE_BULK],
                          .bulk_offset = i->bulk_offset,
                          .len_bytes = i->len_bytes,
                          .route = ROUTE_BULK};
    switch (slot->route) {
    case ROUTE_PLACED:
        if (!(i->routes & MAY_PLACED))
            return NCOLL_OK;
        m->route = ROUTE_PLACED;
        m->at = (const unsigned char *)((uintptr_t)run->base[BASE_OUT] + i->user.offset -
                                        i->bulk_offset);
        return NCOLL_OK;
    case ROUTE_PEER_READ:
        return i->routes & MAY_PEER_READ ? ncoll__find_at_peer(g, run, i, m) : NCOLL_OK;
    case ROUTE_SINGLE_COPY:
        return i->routes & MAY_SINGLE_COPY ? ncoll__single_copy(g, run, i, m) : NCOLL_OK;
    default:
        return NCOLL_OK;
    }
}
