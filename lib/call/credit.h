/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits: how far a rank may run ahead of those that it puts to, in a group of which not every
 * call synchronises. A pure policy: it knows no transport, no clock, and allocates nothing; the
 * executor asks and obeys, and so does test/verify, which proves it.
 *
 * The calls of a group are numbered from 1, on all ranks alike. Call e uses set e mod K of slots,
 * bulk memory and scratch, K = CREDIT_SETS; at most L = CREDIT_CALLS calls run at once: call e
 * starts when all calls up to e - L have finished. A call has FINISHED on a rank when its steps are
 * done and what its puts send has been read (their local completion): from then on the rank needs
 * nothing of the set, neither the messages that landed nor the scratch that it put from.
 *
 * So rank q may put to rank p in call e if q knows that p has finished e - K. It knows that
 *
 *   - from p, by credits: "all my calls up to c have finished", c only grows;
 *   - from a synchronising call s that q has finished: every rank has entered s, and so has
 *     finished all calls up to s - L.
 *
 * Who puts to whom in call e both sides see in their own part of the schedule, so that p finds out
 * by itself which credits are due:
 *
 *   R1  at the start of e, to each q that puts to p in e and does not get to know in some other way
 *       that p has finished e - K: by what p told it before, or by a synchronising call before e
 *       that says so, one of the latest K - L, when q has finished that.
 *   R2  after call e, to each q that put to p in e and knows of nothing since e - K/2, so that q
 *       does not have to wait for R1 in a series of calls that go one way. But not if a
 *       synchronising call is expected to say as much in time: if the next one comes as soon after
 *       the latest as that came after the one before.
 *   R3  at the start of e, to each q that has shown its scratch to p in e - K (lib/memory/show.c),
 *       on the terms of R1: q writes that scratch in e when it knows that p has finished e - K.
 *
 * Shared calls. In some calls neighbours of p read what lands in its window (SHARES in
 * algos/schedule.h), so that p has to vouch for them, too: its credits say "all my calls up to c
 * have finished, and no neighbour reads any more what came to me in them". It knows that of a
 * shared call, which synchronises, from a later one as above, or by looking how far its neighbours
 * have finished, which they lay open in their windows; if they have not, credits wait for them.
 * They come to it, whatever p does: what R1 needs is that they have finished e - K.
 *
 * R1 alone makes every put possible in the end: whoever cannot put in e waits for a peer to start
 * e, or for a synchronising call before e to finish; and what all have finished before is enough
 * for the first call that some rank has not finished, which all can start.
 */
#ifndef NCOLL_LIB_CREDIT_H
#define NCOLL_LIB_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define CREDIT_SETS  8u /* K */
#define CREDIT_CALLS 4u /* L */

/* What one rank of a group keeps. Starts out as zeroes. */
struct credits {
    uint64_t *told;         /* [size], the caller's: latest credit sent to each rank */
    uint64_t *heard;        /* [size], the caller's: latest credit from each rank */
    uint64_t finished;      /* all calls up to this one have */
    uint64_t ahead;         /* bit i: call finished + 1 + i has finished, too */
    uint64_t synchronising; /* bit e mod 64: call e does; of the latest 64 that have started */
    uint64_t synced;        /* latest synchronising call that has finished */
    uint64_t shared;        /* latest shared call that has started */
    uint64_t unseen;        /* neighbours may read what came in this one and later ones; 0: none */
};

/* Whether call e may start here. */
static inline bool ncoll__credit_may_start(const struct credits *c, uint64_t e)
{
    return e <= c->finished + CREDIT_CALLS;
}

/* Whether this rank may put to rank `to` in call e. */
static inline bool ncoll__credit_may_put(const struct credits *c, unsigned to, uint64_t e)
{
    return e <= CREDIT_SETS + c->heard[to] || e + CREDIT_CALLS <= CREDIT_SETS + c->synced;
}

#define CREDIT_REMEMBERED 64u /* calls in `synchronising` */
_Static_assert(CREDIT_SETS < CREDIT_REMEMBERED && CREDIT_CALLS <= CREDIT_SETS,
               "see ncoll__credit_known_at_start()");

static inline uint64_t ncoll__credit_bit(uint64_t e)
{
    return UINT64_C(1) << e % CREDIT_REMEMBERED;
}

/* Call e starts here; calls start in order. */
static inline void ncoll__credit_on_start(struct credits *c, uint64_t e, bool synchronises)
{
    c->synchronising = synchronises ? c->synchronising | ncoll__credit_bit(e)
                                    : c->synchronising & ~ncoll__credit_bit(e);
}

/* The same, of a shared call. */
static inline void ncoll__credit_on_start_shared(struct credits *c, uint64_t e)
{
    c->shared = e;
    c->unseen = c->unseen != 0 ? c->unseen : e;
}

/* All neighbours have finished all calls up to this one. */
static inline void ncoll__credit_on_seen(struct credits *c, uint64_t number)
{
    if (number >= c->shared)
        c->unseen = 0;
    else if (c->unseen != 0 && number >= c->unseen)
        c->unseen = number + 1;
}

/* What a credit can say. */
static inline uint64_t ncoll__credit_number(const struct credits *c)
{
    return c->unseen != 0 && c->unseen <= c->finished ? c->unseen - 1 : c->finished;
}

/* Call e has finished here; calls finish in any order. */
static inline void ncoll__credit_on_finish(struct credits *c, uint64_t e, bool synchronises)
{
    if (synchronises && e > c->synced)
        c->synced = e;
    if (c->unseen != 0 && c->synced > CREDIT_CALLS)
        ncoll__credit_on_seen(c, c->synced - CREDIT_CALLS);
    for (c->ahead |= UINT64_C(1) << (e - c->finished - 1); c->ahead & 1; c->ahead >>= 1)
        c->finished++;
}

/* Whether rank q gets to know, whatever messages are still under way, that this one has finished
 * e - K, without being told so now. */
static inline bool ncoll__credit_known_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    if (e <= CREDIT_SETS + c->told[q])
        return true;
    for (uint64_t s = e - 1; s + CREDIT_SETS >= e + CREDIT_CALLS; s--)
        if (c->synchronising & ncoll__credit_bit(s))
            return true;
    return false;
}

/* Whether there are no more calls in a row that go one way, from the latest synchronising one to e,
 * than in the last such row, which was so short that nobody needed a credit, not even for the
 * synchronising call behind it. */
static inline bool ncoll__credit_expects_synchronising(const struct credits *c, uint64_t e)
{
    unsigned turn = (unsigned)(c->synced % CREDIT_REMEMBERED) + 1;
    uint64_t up_to_latest = c->synchronising << (CREDIT_REMEMBERED - turn);

    if (turn < CREDIT_REMEMBERED)
        up_to_latest |= c->synchronising >> turn;
    if (up_to_latest == UINT64_MAX)
        return false;
    uint64_t up_to_row = up_to_latest << __builtin_clzll(~up_to_latest);
    if (up_to_row == 0)
        return false;
    unsigned row = (unsigned)__builtin_clzll(up_to_row);
    return row < CREDIT_SETS - CREDIT_CALLS && e <= c->synced + row;
}

/* The credit that is due to rank q, which puts to this rank in call e: the number to send, 0 if
 * none. At the start of e, after on_start (R1); after on_finish (R2). Changes nothing: when the
 * credit has been sent, say so with on_sent. */
static inline uint64_t ncoll__credit_due_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    return ncoll__credit_known_at_start(c, q, e) ? 0 : ncoll__credit_number(c);
}

/* Whether that would not say enough, yet: neighbours may not have finished e - K. */
static inline bool ncoll__credit_waits_for_neighbours(const struct credits *c, unsigned q,
                                                      uint64_t e)
{
    return ncoll__credit_number(c) + CREDIT_SETS < e && !ncoll__credit_known_at_start(c, q, e);
}

static inline uint64_t ncoll__credit_due_at_end(const struct credits *c, unsigned q, uint64_t e)
{
    bool knows_enough =
        c->told[q] + CREDIT_SETS / 2 >= e || c->synced + CREDIT_SETS / 2 >= e + CREDIT_CALLS ||
        ncoll__credit_number(c) <= c->told[q] || ncoll__credit_expects_synchronising(c, e);
    return knows_enough ? 0 : ncoll__credit_number(c);
}

static inline void ncoll__credit_on_sent(struct credits *c, unsigned q, uint64_t number)
{
    if (number > c->told[q])
        c->told[q] = number;
}

/* A credit came from rank q; credits may overtake each other. */
static inline void ncoll__credit_on_credit(struct credits *c, unsigned q, uint64_t number)
{
    if (number > c->heard[q])
        c->heard[q] = number;
}

#endif
