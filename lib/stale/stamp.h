/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message in a mailbox says what its contribution is. This travels in the two words of the
 * signature, which have no other use there: count, type and operation are those of the object.
 *
 *     what     number 32 | clock 32
 *     amount   clock - min 21, signed | slack 16 | history hash 16 | next 10 | sole 1
 *
 * Only the low bits of number and clock are sent, which is enough: a rank is at most slack + 1 calls
 * ahead of another, or behind it, in the stale-synchronous allreduce, and has at most D messages of a
 * mailbox unread. (In the partial allreduce, 2^31 calls are enough.)
 */
#ifndef NCOLL_LIB_STALE_STAMP_H
#define NCOLL_LIB_STALE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/window.h"

/* The most places of a mailbox; the most calls that a contribution in a message may be older than it. */
#define PLACES_MAX  1024u
#define OLDEST_TOLD 0xfffffu

struct stamp {
    uint64_t number; /* among the messages of its sender to its receiver, from 1 */
    uint64_t clock;  /* of the call in which it was sent */
    uint64_t min;    /* clock of the oldest contribution in it; may be larger than `clock` */
    uint32_t slack;  /* of that call */
    uint16_t hash;   /* history hash of its sender in that call */
    unsigned next;   /* the place of the sender's next message in this mailbox */
    bool sole;       /* it is the sender's own contribution of that call, and nothing else */
};

/* Restores a number from its low bits; it is within 2^31 of `near`. */
static inline uint64_t stamp_restore(uint32_t low, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

static inline struct signature stamp_pack(const struct stamp *s)
{
    return (struct signature){s->number << 32 | (uint32_t)s->clock,
                              (s->clock - s->min) << 43 | (uint64_t)s->slack << 27 |
                                  (uint64_t)s->hash << 11 | (uint64_t)s->next << 1 | s->sole};
}

static inline struct stamp stamp_unpack(struct signature p, uint64_t number, uint64_t clock)
{
    struct stamp s = {
        .number = stamp_restore((uint32_t)(p.what >> 32), number),
        .clock = stamp_restore((uint32_t)p.what, clock),
        .slack = (uint32_t)(p.amount >> 27 & 0xffff),
        .hash = (uint16_t)(p.amount >> 11),
        .next = (unsigned)(p.amount >> 1) & (PLACES_MAX - 1),
        .sole = (p.amount & 1) != 0,
    };
    s.min = s.clock - (uint64_t)((int64_t)p.amount >> 43);
    return s;
}

#endif
