/* SPDX-License-Identifier: BSD-3-Clause */
/* The send queue of a connection: its free entries, and posting requests to it. */
#ifndef NCOLL_TRANSPORT_VERBS_POST_H
#define NCOLL_TRANSPORT_VERBS_POST_H

#include "transport/verbs/verbs.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline uint32_t send_room(const struct connection *c)
{
    return c->send_depth - (c->posted - c->completed);
}

/* True if one more message may be sent: the send queue has room, and the peer has a receive for
 * it. */
static inline bool may_send(const struct connection *c)
{
    return likely(send_room(c) >= SEND_RESERVE + 2 && c->sent - c->confirmed < c->may_send);
}

/* Lets a request carry a short message, so that the caller may reuse its memory at once. The
 * message is inlined, or sent from a copy in the ring `bounce`, which has an entry for each entry
 * of the send queue. */
static inline void take_along(const struct connection *c, struct ibv_send_wr *wr, size_t len_bytes)
{
    if (__builtin_expect(len_bytes <= c->max_inline, 1)) {
        wr->send_flags |= IBV_SEND_INLINE;
        return;
    }
    unsigned char *copy = c->bounce + (c->posted % c->send_depth) * SLOT_BYTES, *end = copy;
    for (int i = 0; i < wr->num_sge; i++)
        end = (unsigned char *)mempcpy(end, (void *)(uintptr_t)wr->sg_list[i].addr,
                                       wr->sg_list[i].length);
    wr->sg_list[0] = (struct ibv_sge){
        .addr = (uintptr_t)copy, .length = (uint32_t)len_bytes, .lkey = c->bounce_lkey};
    wr->num_sge = 1;
}

/* Makes a wr_id from a connection and a position in its send queue. The wr_id of a receive is the
 * number of its queue. */
static inline uint64_t send_id(const struct connection *c, uint32_t position)
{
    return (uint64_t)(c->index + 1) << 32 | position;
}

/* Replaces a position that has been completed by the latest such one, so that it does not seem to
 * lie ahead when positions wrap around. */
static inline void keep_up(const struct connection *c, uint32_t *position)
{
    if ((int32_t)(c->completed - *position) > 0)
        *position = c->completed;
}

/* Posts a chain of `count` requests, given by the first and the last. Returns false if the
 * connection is lost. */
static inline bool verbs_post(struct verbs *v, struct connection *c, struct ibv_send_wr *first,
                              struct ibv_send_wr *last, unsigned count, bool signalled)
{
    uint32_t end = c->posted + count;
    struct ibv_send_wr *bad;

    first->wr_id = last->wr_id = send_id(c, end);
    if (signalled || end - c->signalled >= c->signal_every) {
        last->send_flags |= IBV_SEND_SIGNALED;
        c->signalled = end;
        keep_up(c, &c->long_posted);
        keep_up(c, &c->users_posted);
        keep_up(c, &c->ping);
    }
    int error = ibv_post_send(c->qp, first, &bad);
    if (unlikely(error != 0)) {
        ncoll__verbs_lost(v, c, strerror(error));
        return false;
    }
    c->posted = end;
    return true;
}

#endif
