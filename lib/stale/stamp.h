/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stamp of a message in a mailbox describes the contribution in it. It travels in the two words
 * of the message's signature. They have no other use in a mailbox, since count, type and operation
 * are those of the object.
 *
 *     what     number 32 | clock 32
 *     amount   clock - min 21, signed | slack 16 | history hash 16 | next 10 | sole 1
 *
 * Only the low 32 bits of number and clock are sent. They are enough: in the stale-synchronous
 * allreduce a rank is at most slack + 1 calls ahead of another, or behind it, and has at most D
 * unread messages in a mailbox. In the partial allreduce ranks may be up to 2^31 calls apart.
 */
#ifndef NCOLL_LIB_STALE_STAMP_H
#define NCOLL_LIB_STALE_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/window.h"

/* PLACES_MAX: the most places of a mailbox. OLDEST_TOLD: the largest clock - min for which a stamp
 * has room. */
#define PLACES_MAX  1024u
#define OLDEST_TOLD 0xfffffu

struct stamp {
    uint64_t number; /* number among the messages from its sender to its receiver, from 1 */
    uint64_t clock;  /* clock of the call in which the message was sent */
    uint64_t min;    /* clock of the oldest contribution; may be larger than `clock` */
    uint32_t slack;  /* slack of the call in which the message was sent */
    uint16_t hash;   /* history hash of the sender in that call */
    unsigned next;   /* the place of the sender's next message in this mailbox */
    /* no ages follow the data (struct mail): all of it is the sender's own contribution, or the
     * object keeps no clocks of ranks */
    bool sole;
};

/* Restores a number from its low 32 bits. The number must lie within 2^31 of `near`. */
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
