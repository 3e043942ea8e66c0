/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window. Each rank of a group owns one window, in memory that its peers can write:
 *
 *     struct advertisement_box advertisements[places][ADVERTISEMENTS];  written by receivers
 *     struct slot slots[n_slots][EPOCHS];   EPOCHS instances of each slot, used in turn
 *     uint64_t got[n_slots][EPOCHS];        epoch of the last single copy that this rank has got
 *     uint64_t credits[ranks];              epochs that the ranks of the group have finished
 *     bulk[EPOCHS][bulk_bytes];             payload that does not fit into a slot
 *
 * and scratch[EPOCHS][scratch_bytes], which only the owner writes. Peers of its node can read it.
 *
 * A window is large, and plans use little of it (struct window_extent). Only the part that plans
 * have used so far is registered with a device: advertisements, the first slots, and the first
 * bytes of the bulk memory and the scratch of each epoch. A device writes neither `got`, which is
 * for ranks of the node, nor credits, which the receiver stores itself when a word about them
 * arrives.
 *
 * Epochs count the runs of schedules in a group, from 1. In each epoch a slot has one writer and
 * one reader; neighbours may look at it, too. The flag of a slot holds the epoch of the message in
 * it, so an old flag never equals a new epoch. The reader acquires the flag, then reads signature
 * and payload. The signature describes the call (see lib/base/signature.h), so that a mismatch is
 * noticed at the first message.
 *
 * A message of up to SLOT_PAYLOAD bytes lies in the slot itself. For a longer message the slot has
 * only the signature and the route (enum route). The payload then lies in the bulk memory of the
 * same epoch, at an offset that both sides compute from the schedule; or in the receiver's OUT, if
 * the receiver has advertised OUT to the sender; or it stays in the sender's memory, where a
 * receiver on the same node reads it, or from where that receiver copies it. Messages that
 * neighbours look at lie in the slot or the bulk memory.
 *
 *   shm    the writer stores payload and signature, then flag with release order; the acquiring
 *          load of flag orders its reads after it.
 *   verbs  the device writes signature and payload (one RDMA write with immediate; bulk data as a
 *          plain RDMA write before it on the same queue pair, which RC keeps in order); at the
 *          receiver progress() polls the completion (with two cards, both completions), and then
 *          stores flag itself, so all reads after the flag come after the DMA.
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
#define NO_SLOT      UINT32_MAX /* means "no slot" in place of a slot number */

/* The signature of a rank's call, as two words that can be compared: see lib/base/signature.h. It
 * is never all 0. */
struct signature {
    uint64_t what, amount;
};

static inline bool signature_equal(struct signature a, struct signature b)
{
    return a.what == b.what && a.amount == b.amount;
}

/* Returns a copy of a signature, each word of which is read once. Two ranks with different calls
 * may write to the same slot one after the other, so the caller must not read the slot once to
 * compare the signature and once more to report it. */
static inline struct signature signature_read(const struct signature *signature)
{
    return (struct signature){__atomic_load_n(&signature->what, __ATOMIC_RELAXED),
                              __atomic_load_n(&signature->amount, __ATOMIC_RELAXED)};
}

/* A place in a rank's memory, in words whose meaning the transport defines. */
struct place {
    uint64_t words[4];
};

/* The ways of a message from its sender to its receiver. */
enum route {
    ROUTE_SLOT,        /* in the slot: all messages of up to SLOT_PAYLOAD bytes, and no others */
    ROUTE_BULK,        /* put into the receiver's bulk memory */
    ROUTE_PLACED,      /* put into the receiver's OUT, at a place that it has advertised */
    ROUTE_PEER_READ,   /* stays in the sender's memory, which the receiver maps and reads */
    ROUTE_SINGLE_COPY, /* stays in the sender's user memory, from where the receiver copies it */
};

struct slot {
    _Alignas(SLOT_BYTES) _Atomic uint64_t flag;
    struct signature signature;
    union {
        unsigned char payload[SLOT_PAYLOAD];
        struct {
            uint64_t route;      /* enum route, for a message longer than SLOT_PAYLOAD */
            struct place source; /* ROUTE_PEER_READ, ROUTE_SINGLE_COPY: the data at the sender */
        };
    };
};
_Static_assert(sizeof(struct slot) == SLOT_BYTES, "the wire format fixes the size of a slot");

/*
 * An advertisement: at the beginning of a call a receiver tells a sender that the sender may write
 * long messages into the receiver's OUT from now on. The receiver writes it to the sender's window,
 * which has a box for each call that may be active at once. The sender is not notified: it reads
 * the box when it sends, and checks that the advertisement is complete.
 */
#define ADVERTISEMENTS       4u
#define ADVERTISEMENT_LISTED 21u
/* In a group of more than ADVERTISERS_MAX ranks several receivers share the same boxes, so that
 * windows do not grow with the group. Then one advertisement may overwrite another, in whole or in
 * part. `check` depends on the receiver's rank, so the sender notices this, and sends the message
 * to bulk memory. */
#define ADVERTISERS_LOG 9u
#define ADVERTISERS_MAX (1u << ADVERTISERS_LOG)
struct advertisement {
    uint64_t check;             /* hash of the other words */
    uint64_t epoch;             /* the first epoch that the advertisement holds for */
    struct signature signature; /* of the sender's messages */
    /* number of epochs that the advertisement holds for; number of messages in `placed` */
    uint32_t epochs, count;
    struct place out;   /* the start of OUT */
    uint64_t out_bytes; /* length of OUT; no message goes beyond it */
    /* [count] for each message: slot << PLACED_BITS | offset from the start of OUT in bytes */
    uint64_t placed[ADVERTISEMENT_LISTED];
};
#define PLACED_BITS 48
_Static_assert(sizeof(struct advertisement) == 248, "not longer than a slot without its flag");

struct advertisement_box {
    _Alignas(SLOT_BYTES) _Atomic uint64_t words[sizeof(struct advertisement) / sizeof(uint64_t)];
};

/* Returns the length of an advertisement in bytes, without the unused part of `placed`. */
static inline size_t advertisement_bytes(const struct advertisement *i)
{
    return offsetof(struct advertisement, placed) + i->count * sizeof i->placed[0];
}

/* Returns the value of `check` for an advertisement. rank: the receiver's rank in the group. */
static inline uint64_t advertisement_check(const struct advertisement *i, unsigned rank)
{
    const uint64_t *words = (const uint64_t *)i;
    uint64_t check = rank;

    for (size_t at = 1; at < advertisement_bytes(i) / sizeof *words; at++) {
        check = (check ^ words[at]) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    return check;
}

/* The shape of a window. All fields but id and rank are the same on all ranks of the group. */
struct window_shape {
    unsigned id;          /* this rank's number of the window, 0..WINDOWS_MAX-1 */
    unsigned rank, ranks; /* rank and size of the group */
    unsigned n_slots;
    size_t bulk_bytes, scratch_bytes; /* for one epoch; multiples of 64 */
};
#define WINDOWS_MAX 2048u

/* A rank's own window. The transport makes and frees it. */
struct window {
    struct window_shape shape;
    uint64_t epoch;        /* all epochs up to this one are finished on this rank; kept by lib/ */
    unsigned used_slots;   /* slots from this number on never had a message; kept by lib/ */
    bool had_long;         /* some messages may have been long; kept by lib/ */
    struct slot *slots;    /* [n_slots][EPOCHS] */
    _Atomic uint64_t *got; /* [n_slots][EPOCHS] epochs of single copies, read by the senders */
    /* [ranks]: the last epoch that each rank is known to have finished */
    _Atomic uint64_t *credits;
    struct advertisement_box *advertisements; /* see advertisement_index() */
    unsigned char *bulk;                      /* [EPOCHS][bulk_bytes], 64-byte aligned */
    unsigned char *scratch; /* [EPOCHS][scratch_bytes], 64-byte aligned; puts may send from it */
};

/* The part of a window that plans use: slots, and bytes of each epoch's bulk memory and scratch. */
struct window_extent {
    unsigned slots;
    size_t bulk_bytes, scratch_bytes;
};

#define WINDOW_PAGE 4096u
/*
 * Bulk memory and scratch begin this many bytes after the start of a page. A processor takes a load
 * for one of data that it has not stored yet, and waits, if the last 12 bits of both addresses are
 * equal (4K aliasing). Long buffers from malloc() begin 16 bytes after the start of a page, so
 * copies from bulk memory at the start of a page would take nearly twice as long (8 KiB: 168 ns in
 * place of 91 ns).
 */
#define WINDOW_BULK_SHIFT    1024u
#define WINDOW_SCRATCH_SHIFT 2048u

static inline size_t window_round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Return the offsets of the parts of a window, from the start of the memory that peers write. */
static inline size_t window_slots_at(const struct window_shape *s)
{
    size_t places = s->ranks < ADVERTISERS_MAX ? s->ranks : ADVERTISERS_MAX;

    return places * ADVERTISEMENTS * sizeof(struct advertisement_box);
}
static inline size_t window_got_at(const struct window_shape *s)
{
    return window_slots_at(s) + (size_t)s->n_slots * EPOCHS * sizeof(struct slot);
}
static inline size_t window_credits_at(const struct window_shape *s)
{
    return window_got_at(s) + (size_t)s->n_slots * EPOCHS * sizeof(uint64_t);
}
static inline size_t window_bulk_at(const struct window_shape *s)
{
    return window_round_up(window_credits_at(s) + s->ranks * sizeof(uint64_t), WINDOW_PAGE) +
           WINDOW_BULK_SHIFT;
}
static inline size_t window_scratch_at(const struct window_shape *s)
{
    return window_round_up(window_bulk_at(s) + EPOCHS * s->bulk_bytes, WINDOW_PAGE) +
           WINDOW_SCRATCH_SHIFT;
}
/* Returns the length of a window in bytes, with its scratch. */
static inline size_t window_bytes(const struct window_shape *s)
{
    return window_scratch_at(s) + EPOCHS * s->scratch_bytes;
}
/* Returns the index in `advertisements` of a box of `rank`: box 0..ADVERTISEMENTS-1. */
static inline size_t advertisement_index(const struct window_shape *s, unsigned rank, unsigned box)
{
    unsigned place =
        s->ranks <= ADVERTISERS_MAX ? rank : rank * 0x9e3779b1u >> (32 - ADVERTISERS_LOG);

    return (size_t)place * ADVERTISEMENTS + box;
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

/* The parts of a neighbour's window that this rank may read: see SHARES in algos/schedule.h. The
 * layout is that of this rank's own window. */
struct window_view {
    const struct slot *slots;
    const _Atomic uint64_t *got;
    /* credits[owner]: the last epoch that the owner has finished, in a group with shared waits */
    const _Atomic uint64_t *credits;
    const unsigned char *bulk;
};

/* Sets the pointers to the parts of a window that begins at `base`. */
static inline void window_lay_out(struct window *w, unsigned char *base)
{
    const struct window_shape *s = &w->shape;

    w->advertisements = (struct advertisement_box *)base;
    w->slots = (struct slot *)(base + window_slots_at(s));
    w->got = (_Atomic uint64_t *)(base + window_got_at(s));
    w->credits = (_Atomic uint64_t *)(base + window_credits_at(s));
    w->bulk = base + window_bulk_at(s);
    w->scratch = base + window_scratch_at(s);
}

struct awaited {
    uint64_t epoch;
    unsigned slot; /* a slot of this rank's window, whose flag will become `epoch` */
    /* a word in a neighbour's window that will reach `epoch`, awaited in place of the slot; NULL:
     * the slot is awaited */
    const _Atomic uint64_t *word;
    /* Bits of further slots, all below 64: the rank needs their messages as well. If any bit is
     * set, `slot` is below 64, too. */
    uint64_t also;
    /* the window with the slot, if slots of several windows may be awaited at once; NULL: the
     * window that is passed to the function together with this structure */
    const struct window *window;
};

static inline bool awaited_raised(const struct window *w, const struct awaited *a)
{
    if (a->word != NULL)
        return atomic_load(a->word) >= a->epoch;
    w = a->window != NULL ? a->window : w;
    return atomic_load(&window_slot(w, a->epoch, a->slot)->flag) == a->epoch;
}

#endif
