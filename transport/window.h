/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window. Each rank of a group owns one window, in memory that its peers can write:
 *
 *     struct slot slots[n_slots][EPOCHS];   one of each for an epoch, used in turn
 *     uint64_t fetched[n_slots][EPOCHS];    the last lent message that this rank has fetched
 *     uint64_t credits[ranks];              what the ranks of the group have finished
 *     struct invitation_box invitations[ranks][BOXES]; where they would have long messages
 *     bulk[EPOCHS][bulk_bytes];             payload that does not fit a slot
 *
 * and scratch[EPOCHS][scratch_bytes], which it writes itself, and shows to peers of its node.
 *
 * Epochs count the runs of schedules in a group, from 1. A slot has one writer and one reader per
 * epoch, and neighbours that look at it. flag holds the epoch of the message in it, so an old flag
 * never equals a new epoch: the reader acquires flag, then reads card and payload. Messages up to
 * SLOT_PAYLOAD bytes travel in the slot itself; longer ones lie in the bulk area of the same epoch,
 * at an offset that both sides compute from the schedule, and the slot carries the card only; or in
 * the receiver's OUT itself, if it has invited the sender to put them there; or they are shown:
 * they stay at the sender, where a receiver of the same node reads them; or they are lent: in
 * memory of the user's there, from where such a receiver fetches them. The slot says which. What
 * neighbours look at is in the slot or the bulk area. The card describes the call (see
 * lib/failure/card.h), so that a mismatched call is seen at the first message.
 *
 *   shm    the writer stores payload and card, then flag with release order; the reader's acquire
 *          load of flag orders its reads after it.
 *   verbs  the device writes card and payload (one RDMA write with immediate; bulk data as a plain
 *          RDMA write before it on the same queue pair, which RC keeps in order); progress() at the
 *          receiver drains the completion and raises flag itself, which orders its reads after the
 *          DMA.
 */
#ifndef NCOLL_TRANSPORT_WINDOW_H
#define NCOLL_TRANSPORT_WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPOCHS       8u /* sets of slots, bulk memory and scratch */
#define SLOT_BYTES   256
#define SLOT_PAYLOAD (SLOT_BYTES - 24)
#define NO_SLOT      UINT32_MAX /* in place of a slot number: none in particular */

/* What a rank has called, in words that can be compared: see lib/failure/card.h. Never all 0. */
struct card {
    uint64_t what, amount;
};

static inline bool card_equal(struct card a, struct card b)
{
    return a.what == b.what && a.amount == b.amount;
}

/* Each word once. Of ranks that call different things two may put into the same slot, one after the
 * other: what was found to differ must be what is told. */
static inline struct card card_read(const struct card *card)
{
    return (struct card){__atomic_load_n(&card->what, __ATOMIC_RELAXED),
                         __atomic_load_n(&card->amount, __ATOMIC_RELAXED)};
}

/* A place in a rank's memory, in words that its transport has chosen for its peers. */
struct place {
    uint64_t words[4];
};

struct slot {
    _Alignas(SLOT_BYTES) _Atomic uint64_t flag;
    struct card card;
    union {
        unsigned char payload[SLOT_PAYLOAD];
        struct {
            uint64_t where;     /* of a longer message: enum where */
            struct place shown; /* AT_SENDER, LENT: where it is there */
            /* Kept here by the receiver, from its wait on. */
            const unsigned char *found; /* the message, less bulk_offset: as if it were in bulk */
            size_t len_bytes, bulk_offset;
        };
    };
};
enum where { IN_BULK, IN_OUT, AT_SENDER, LENT };
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "the wire format fixes the size of a slot");

/*
 * What a receiver tells a sender when a call begins: long messages may be put into its OUT, at any
 * time from now on. Written into a box of the sender's window, one for each of the calls that can
 * be going on; the sender looks there without being told, so it checks that what it reads is whole.
 */
#define BOXES             4u
#define INVITATION_LISTED 22u
struct invitation {
    uint64_t check;                       /* of what follows */
    uint64_t epoch;                       /* the first that it is for */
    struct card card;                     /* of the sender's messages */
    uint32_t epochs, count;               /* that it is for; landings in use */
    struct place out;                     /* the start of OUT */
    uint64_t landings[INVITATION_LISTED]; /* slot << LANDING_BITS | bytes from the start of OUT */
};
#define LANDING_BITS 48
_Static_assert(sizeof(struct invitation) == 248, "not longer than a slot without its flag");

struct invitation_box {
    _Alignas(SLOT_BYTES) _Atomic uint64_t words[sizeof(struct invitation) / sizeof(uint64_t)];
};

/* Bytes that are in use. */
static inline size_t invitation_bytes(const struct invitation *i)
{
    return offsetof(struct invitation, landings) + i->count * sizeof i->landings[0];
}

static inline uint64_t invitation_check(const struct invitation *i)
{
    const uint64_t *words = (const uint64_t *)i;
    uint64_t check = 0;

    for (size_t at = 1; at < invitation_bytes(i) / sizeof *words; at++) {
        check = (check ^ words[at]) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    return check;
}

/* What a window is to be like; the same on all ranks of the group, but for id and rank. */
struct window_shape {
    unsigned id;          /* this rank's number for it, 0..WINDOWS_MAX-1 */
    unsigned rank, ranks; /* of the group */
    unsigned n_slots;
    size_t bulk_bytes, scratch_bytes; /* of one epoch, multiples of 64 */
};
#define WINDOWS_MAX 1008u

/* A rank's own window. Made by the transport, freed by it. */
struct window {
    struct window_shape shape;
    uint64_t epoch;            /* all up to this one are finished here; kept by lib/ */
    struct slot *slots;        /* [n_slots][EPOCHS] */
    _Atomic uint64_t *fetched; /* [n_slots][EPOCHS]: epochs; its senders look there */
    _Atomic uint64_t *credits; /* [ranks]: the last epoch that each is known to have finished */
    struct invitation_box *invitations; /* [ranks][BOXES] */
    unsigned char *bulk;                /* [EPOCHS][bulk_bytes], 64-byte aligned */
    unsigned char *scratch; /* [EPOCHS][scratch_bytes], 64-byte aligned; a legal source of puts */
};

/* Where things are in the memory that peers write, from its start. */
static inline size_t window_fetched_at(const struct window_shape *s)
{
    return (size_t)s->n_slots * EPOCHS * sizeof(struct slot);
}
static inline size_t window_credits_at(const struct window_shape *s)
{
    return window_fetched_at(s) + (size_t)s->n_slots * EPOCHS * sizeof(uint64_t);
}
static inline size_t window_invitations_at(const struct window_shape *s)
{
    size_t credits = s->ranks * sizeof(uint64_t);
    return window_credits_at(s) + (credits + sizeof(struct invitation_box) - 1) /
                                      sizeof(struct invitation_box) * sizeof(struct invitation_box);
}
static inline size_t window_bulk_at(const struct window_shape *s)
{
    return window_invitations_at(s) + s->ranks * BOXES * sizeof(struct invitation_box);
}
static inline size_t window_bytes(const struct window_shape *s)
{
    return window_bulk_at(s) + EPOCHS * s->bulk_bytes;
}
static inline size_t slot_index(uint64_t epoch, unsigned slot)
{
    return (size_t)slot * EPOCHS + epoch % EPOCHS;
}

static inline struct slot *window_slot(const struct window *w, uint64_t epoch, unsigned slot)
{
    return &w->slots[slot_index(epoch, slot)];
}

static inline bool window_raised(const struct window *w, uint64_t epoch, unsigned slot)
{
    return atomic_load_explicit(&window_slot(w, epoch, slot)->flag, memory_order_acquire) == epoch;
}

/* The window of a peer of the node, as far as this rank may read it: see SHARES in
 * algos/schedule.h. Laid out as the own. */
struct window_view {
    const struct slot *slots;
    const _Atomic uint64_t *fetched;
    const _Atomic uint64_t *credits; /* that of the owner itself: all up to this one it has
                                        finished, if its group shares */
    const unsigned char *bulk;
};

struct awaited {
    uint64_t epoch;
    unsigned slot;                /* of the own window; */
    const _Atomic uint64_t *near; /* NULL, or a word of a neighbour's that comes to the epoch */
};

static inline bool awaited_raised(const struct window *w, const struct awaited *a)
{
    if (a->near != NULL)
        return atomic_load(a->near) >= a->epoch;
    return atomic_load(&window_slot(w, a->epoch, a->slot)->flag) == a->epoch;
}

#endif
