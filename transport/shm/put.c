/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path: one notified write.
 *
 * A payload of up to 40 bytes shares a cache line with flag and signature, so the message moves a
 * single line. The flag is stored last, with release order, and the receiver acquires it. There is
 * no locked instruction and no fence: these would wait until the cache line has come from the
 * receiver's core, which takes about as long as the whole exchange.
 */
#include <string.h>

#include "transport/shm/shm.h"

/* Copies a short payload. The usual lengths are constants here, for which the compiler emits one or
 * two moves by registers. */
static inline void copy_small(unsigned char *to, const void *from, size_t len_bytes)
{
    switch (len_bytes) {
    case 0:
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    default:
        memcpy(to, from, len_bytes);
    }
}

static void wake_if_slept_for(struct shm_peer *peer, unsigned id, const struct put *put,
                              uint32_t sleeps_for)
{
    if (sleeps_for_anything(sleeps_for) || sleeps_for == sleeps_for_slot(id, put->epoch, put->slot))
        ncoll__shm_wake(peer, sleeps_for);
    if (sleeps_for == sleeps_for_all(id, put->epoch) && put->slot < SLOTS_OF_ALL) {
        uint64_t bit = UINT64_C(1) << put->slot;
        /* the sender of the last missing message wakes the peer */
        if ((atomic_fetch_and(&peer->board->lacks, ~bit) & ~bit) == 0)
            ncoll__shm_wake(peer, sleeps_for);
    }
}

/* Returns the place of a message that stays in the sender's memory. With shm+verbs the window
 * belongs to the verbs transport, but both transports have the same scratch. */
static struct place source_of(const struct put *put)
{
    const unsigned char *src = put->src;

    if (put->route == ROUTE_SINGLE_COPY)
        return (struct place){{0, 0, 0, (uintptr_t)src}};
    if (put->memory != NULL)
        return shm_place(put->memory, src);
    return (struct place){{0, 0, 0, (uint64_t)(src - put->window->scratch)}};
}

/* Returns the address for a message in the OUT that its receiver has advertised; NULL: OUT cannot
 * be mapped. The first message to a segment maps it. */
static unsigned char *placed_at(struct shm_peer *to, const struct put *put)
{
    const struct place *out = &put->advertisement->out;
    struct reach *r = shm_find_reach(to, out);

    if (r == NULL && ncoll__shm_attach(to, out, &r) != 0)
        return NULL;
    return shm_reach_at(r, out->words[3] + put->out_offset, put->len_bytes);
}

/* Puts a message that does not fit into the slot. */
static void put_long(const struct transport *t, struct shm_peer *to, const struct shm_view *view,
                     const struct put *put, struct slot *slot)
{
    unsigned char *at = NULL;

    switch (put->route) {
    case ROUTE_PEER_READ:
    case ROUTE_SINGLE_COPY:
        slot->route = put->route;
        slot->source = source_of(put);
        return;
    case ROUTE_PLACED:
        at = placed_at(to, put);
        break;
    case ROUTE_SLOT:
    case ROUTE_BULK:
        break;
    }
    slot->route = at != NULL ? ROUTE_PLACED : ROUTE_BULK;
    if (at == NULL)
        at = view->bulk + put->epoch % EPOCHS * put->window->shape.bulk_bytes + put->bulk_offset;
    if (put->len_bytes >= STRING_BYTES)
        ncoll__push(&to->pushes, t->moves_strings, at, put->src, put->len_bytes);
    else
        memcpy(at, put->src, put->len_bytes);
}

int ncoll__shm_put(struct transport *t, const struct put *put)
{
    struct shm_peer *to = (struct shm_peer *)put->to;
    const struct shm_view *view = &to->views[put->window->shape.id];
    struct slot *slot = &view->slots[slot_index(put->epoch, put->slot)];
    uint32_t sleeps_for;

    slot->signature = put->signature;
    if (__builtin_expect(put->len_bytes <= SLOT_PAYLOAD, 1))
        copy_small(slot->payload, put->src, put->len_bytes);
    else
        put_long(t, to, view, put, slot);

    /* The flag must be visible before sleeps_for is read: see sleep.c. */
    if (__builtin_expect(!to->fenced, 1)) {
        atomic_store_explicit(&slot->flag, put->epoch, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        sleeps_for = atomic_load_explicit(&to->board->sleeps_for, memory_order_relaxed);
        if (__builtin_expect(sleeps_for != 0, 0))
            sleeps_for = ncoll__shm_look_again(to);
    } else {
        atomic_store(&slot->flag, put->epoch);
        sleeps_for = atomic_load(&to->board->sleeps_for);
    }
    if (__builtin_expect(sleeps_for != 0, 0))
        wake_if_slept_for(to, view->id, put, sleeps_for);
    return NCOLL_OK;
}

int ncoll__shm_credit(struct transport *t, struct endpoint *to, const struct window *w,
                      uint64_t epoch)
{
    struct shm_peer *peer = (struct shm_peer *)to;
    const struct shm_view *view = &peer->views[w->shape.id];

    (void)t;
    atomic_store(&view->credits[w->shape.rank], epoch);
    uint32_t sleeps_for = atomic_load(&peer->board->sleeps_for);
    if (sleeps_for_anything(sleeps_for))
        ncoll__shm_wake(peer, sleeps_for);
    return NCOLL_OK;
}
