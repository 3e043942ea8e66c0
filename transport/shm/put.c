/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hot path: one notified write.
 *
 * Up to 40 bytes of payload share a cache line with flag and card, so a message moves one line. The
 * flag is stored last, with release order, and the receiver acquires it. There is no locked
 * instruction and no fence: those would wait for the line to come over from the receiver, about as
 * long as the whole exchange takes.
 */
#include <string.h>

#include "transport/copy.h"
#include "transport/shm/shm.h"

/* The compiler turns a copy of known length into a register or two. */
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
    if (sleeps_for == SLEEPS_FOR_ANYTHING ||
        sleeps_for == sleeps_for_slot(id, put->epoch, put->slot))
        ncoll__shm_wake(peer, sleeps_for);
}

/* Where it lies, in place of the message. In mixed/ the window is the device's, but its scratch is
 * the same. */
static void show(const struct put *put, struct slot *slot)
{
    if (put->lent) {
        slot->where = LENT;
        slot->shown = (struct place){{0, 0, 0, (uintptr_t)put->src}};
        return;
    }
    slot->where = AT_SENDER;
    slot->shown =
        put->memory != NULL
            ? ncoll__shm_place(put->memory, put->src)
            : (struct place){
                  {0, 0, 0, (uint64_t)((const unsigned char *)put->src - put->window->scratch)}};
}

/* A message that does not fit the slot. By ordinary stores, in any size: the receiver uses it next,
 * and finds it in a cache, of its core or of this one. Stores past the caches would leave it in
 * memory. */
static void put_long(const struct transport *t, struct shm_peer *to, const struct shm_view *view,
                     const struct put *put, struct slot *slot)
{
    unsigned char *at = NULL;

    if (put->shown) {
        show(put, slot);
        return;
    }
    if (put->invitation != NULL)
        at = ncoll__shm_reach(to, &put->invitation->out, put->out_offset, put->len_bytes);
    slot->where = at != NULL ? IN_OUT : IN_BULK;
    if (at == NULL)
        at = view->bulk + put->epoch % EPOCHS * put->window->shape.bulk_bytes + put->bulk_offset;
    if (t->moves_strings && put->len_bytes >= STRING_BYTES)
        ncoll__move_string(at, put->src, put->len_bytes);
    else
        memcpy(at, put->src, put->len_bytes);
}

int ncoll__shm_put(struct transport *t, const struct put *put)
{
    struct shm_peer *to = (struct shm_peer *)put->to;
    const struct shm_view *view = &to->views[put->window->shape.id];
    struct slot *slot = &view->slots[slot_index(put->epoch, put->slot)];
    uint32_t sleeps_for;

    slot->card = put->card;
    if (__builtin_expect(put->len_bytes <= SLOT_PAYLOAD, 1))
        copy_small(slot->payload, put->src, put->len_bytes);
    else
        put_long(t, to, view, put, slot);

    /* The flag must be seen before the look at sleeps_for is taken: see sleep.c. */
    if (__builtin_expect(!to->fenced, 1)) {
        atomic_store_explicit(&slot->flag, put->epoch, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        sleeps_for = atomic_load_explicit(&to->board->sleeps_for, memory_order_relaxed);
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
    if (sleeps_for == SLEEPS_FOR_ANYTHING)
        ncoll__shm_wake(peer, sleeps_for);
    return NCOLL_OK;
}
