/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credits limit how far a rank may run ahead of the ranks that it puts to, in groups where not
 * every run synchronises. This file has only the rules: it uses no transport and no clock, and
 * allocates nothing. The executor follows the rules, and test/verify proves them.
 *
 * The runs of a group are numbered from 1, on all ranks alike. Run e uses set e mod K of slots,
 * bulk memory and scratch, K = CREDIT_SETS; at most L = CREDIT_RUNS runs are active at once: run e
 * starts when all runs up to e - L have finished. A run has FINISHED on a rank when its steps are
 * done and its puts are complete locally. From then on the rank needs neither the messages that
 * have arrived in the set nor the scratch that it put from.
 *
 * So rank q may put to rank p in run e if q knows that p has finished e - K. It knows this
 *
 *   - from p, by credits: "all my runs up to c have finished", c only grows;
 *   - from a synchronising run s that q has finished: every rank has entered s, and so has
 *     finished all runs up to s - L.
 *
 * Both sides know from their own part of the schedule which of them puts to the other in run e. So
 * p can determine the credits that are due:
 *
 *   R1  At the start of e, to each q that puts to p in e and cannot learn otherwise that p has
 *       finished e - K. q can if an earlier credit says so, or if one of the K - L runs before e
 *       synchronises: then q knows it as soon as it has finished that run.
 *   R2  After run e, to each q that put to p in e and has learned nothing since e - K/2, so that q
 *       does not have to wait for R1 in a series of runs that go one way. No credit is given if a
 *       synchronising run is expected to tell q in time. The prediction: the next one
 *       follows the latest one as soon as that followed the one before.
 *   R3  At the start of e, to each q whose scratch p read in e - K (lib/deliver/peer_read.c), under
 *       the conditions of R1: q writes to that scratch in e once it knows that p has finished
 *       e - K.
 *
 * Shared runs. In some runs neighbours of p read the messages that arrive in p's window (SHARES in
 * algos/schedule.h). Then a credit of p must hold for them, too. It says: all my runs up to c have
 * finished, and no neighbour reads messages of these runs any more. Shared runs synchronise, so p
 * may learn this from a later run, as above. Otherwise p looks at its neighbours' windows, which
 * show how far each has finished. If they have not finished, credits wait for them. The neighbours
 * do not depend on p here: R1 only needs them to have finished e - K.
 *
 * R1 alone makes every put possible in the end. A rank that cannot put in e waits until a peer has
 * started e, or until a synchronising run before e has finished. Take the first run that some rank
 * has not finished: all ranks have finished the runs before it, so all can start it.
 */
#ifndef NCOLL_LIB_CREDIT_H
#define NCOLL_LIB_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

#define CREDIT_SETS 8u /* K */
#define CREDIT_RUNS 4u /* L */

/* The numbers of the latest credit given to another rank, and of the latest one got from it. */
struct credit_of {
    uint64_t told, heard;
};

/* The number of ranks on a page of credits. A rank exchanges credits with few others, so most pages
 * are not needed. */
#define CREDIT_PAGE        32u
#define CREDIT_PAGES(size) (((size) + CREDIT_PAGE - 1) / CREDIT_PAGE)

/* The credit state of one rank in a group. It is all 0 at first. */
struct credits {
    /* [CREDIT_PAGES(size)], owned by the caller. A page without peers of this rank (ranks that it
     * puts to, or that put to it) is only read, so all such pages may be one page of zeros. */
    struct credit_of **pages;
    uint64_t finished; /* all runs up to this one have finished */
    uint64_t ahead;    /* bit i: run finished + 1 + i has finished */
    /* bit e mod 64: run e synchronises; for the latest 64 runs that have started */
    uint64_t synchronising;
    uint64_t synced; /* latest synchronising run that has finished */
    uint64_t shared; /* latest shared run that has started */
    /* the first run whose messages neighbours may still read; 0: none */
    uint64_t unseen;
};

static inline struct credit_of *ncoll__credit_of(const struct credits *c, unsigned q)
{
    return &c->pages[q / CREDIT_PAGE][q % CREDIT_PAGE];
}

/* True if run e may start on this rank. */
static inline bool ncoll__credit_may_start(const struct credits *c, uint64_t e)
{
    return e <= c->finished + CREDIT_RUNS;
}

/* True if this rank may put to rank `to` in run e. */
static inline bool ncoll__credit_may_put(const struct credits *c, unsigned to, uint64_t e)
{
    return e + CREDIT_RUNS <= CREDIT_SETS + c->synced ||
           e <= CREDIT_SETS + ncoll__credit_of(c, to)->heard;
}

#define CREDIT_REMEMBERED 64u /* runs in `synchronising` */
_Static_assert(CREDIT_SETS < CREDIT_REMEMBERED && CREDIT_RUNS < CREDIT_SETS,
               "see ncoll__credit_known_at_start()");

static inline uint64_t ncoll__credit_bit(uint64_t e)
{
    return UINT64_C(1) << e % CREDIT_REMEMBERED;
}

/* Notes that run e starts on this rank. Runs start in order. */
static inline void ncoll__credit_on_start(struct credits *c, uint64_t e, bool synchronises)
{
    c->synchronising = synchronises ? c->synchronising | ncoll__credit_bit(e)
                                    : c->synchronising & ~ncoll__credit_bit(e);
}

/* Notes in addition that run e is a shared run. */
static inline void ncoll__credit_on_start_shared(struct credits *c, uint64_t e)
{
    c->shared = e;
    c->unseen = c->unseen != 0 ? c->unseen : e;
}

/* Notes that all neighbours have finished all runs up to this one. */
static inline void ncoll__credit_on_seen(struct credits *c, uint64_t number)
{
    if (number >= c->shared)
        c->unseen = 0;
    else if (c->unseen != 0 && number >= c->unseen)
        c->unseen = number + 1;
}

/* Returns the number that a credit sent now carries. */
static inline uint64_t ncoll__credit_number(const struct credits *c)
{
    return c->unseen != 0 && c->unseen <= c->finished ? c->unseen - 1 : c->finished;
}

/* Notes that run e has finished on this rank. Runs finish in any order. */
static inline void ncoll__credit_on_finish(struct credits *c, uint64_t e, bool synchronises)
{
    if (synchronises && e > c->synced)
        c->synced = e;
    if (c->unseen != 0 && c->synced > CREDIT_RUNS)
        ncoll__credit_on_seen(c, c->synced - CREDIT_RUNS);
    for (c->ahead |= UINT64_C(1) << (e - c->finished - 1); c->ahead & 1; c->ahead >>= 1)
        c->finished++;
}

/* True if rank q is certain to learn, without another credit, that this rank has finished e - K. */
static inline bool ncoll__credit_known_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    /* the commonest case first */
    if (c->synchronising & ncoll__credit_bit(e - 1) ||
        e <= CREDIT_SETS + ncoll__credit_of(c, q)->told)
        return true;
    for (uint64_t s = e - 1; s + CREDIT_SETS >= e + CREDIT_RUNS; s--)
        if (c->synchronising & ncoll__credit_bit(s))
            return true;
    return false;
}

/* Predicts whether a synchronising run comes soon enough to make a credit unnecessary. A row is a
 * series of runs between two synchronising ones. Returns true if the present row, up to run e, is
 * no longer than the last row, and the last row was so short that no rank needed a credit in it or
 * for the synchronising run after it. */
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
    return row < CREDIT_SETS - CREDIT_RUNS && e <= c->synced + row;
}

/* Returns the number of the credit that is due to rank q, which puts to this rank in run e; 0: none
 * is due. due_at_start is called at the start of e, after on_start (R1); due_at_end after on_finish
 * (R2). Neither changes the state: call on_sent after sending the credit. */
static inline uint64_t ncoll__credit_due_at_start(const struct credits *c, unsigned q, uint64_t e)
{
    return ncoll__credit_known_at_start(c, q, e) ? 0 : ncoll__credit_number(c);
}

/* True if the credit that rank q needs for run e cannot be given yet, since neighbours may not have
 * finished e - K. */
static inline bool ncoll__credit_waits_for_neighbours(const struct credits *c, unsigned q,
                                                      uint64_t e)
{
    return ncoll__credit_number(c) + CREDIT_SETS < e && !ncoll__credit_known_at_start(c, q, e);
}

static inline uint64_t ncoll__credit_due_at_end(const struct credits *c, unsigned q, uint64_t e)
{
    uint64_t told = ncoll__credit_of(c, q)->told;
    bool knows_enough =
        told + CREDIT_SETS / 2 >= e || c->synced + CREDIT_SETS / 2 >= e + CREDIT_RUNS ||
        ncoll__credit_number(c) <= told || ncoll__credit_expects_synchronising(c, e);
    return knows_enough ? 0 : ncoll__credit_number(c);
}

static inline void ncoll__credit_on_sent(struct credits *c, unsigned q, uint64_t number)
{
    struct credit_of *of = ncoll__credit_of(c, q);

    if (number > of->told)
        of->told = number;
}

/* Notes a credit from rank q. Credits may arrive in any order. */
static inline void ncoll__credit_on_credit(struct credits *c, unsigned q, uint64_t number)
{
    struct credit_of *of = ncoll__credit_of(c, q);

    if (number > of->heard)
        of->heard = number;
}

#endif
