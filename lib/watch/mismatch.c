/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file finds ranks that call different things, and names them.
 *
 * A message carries the signature of its sender's call (signature.h), and its receiver compares it
 * with that of its own call. This comparison does not find two cases.
 *
 * First, a message arrives in a slot that the receiver's call does not use. A rank that waits
 * searches for such messages. A rank that does not wait overlooks it, but from then on the history
 * hashes of the two ranks differ. A rank that finds different hashes reports them. A rank that has
 * waited for long in an earlier run then gives up, too. It may never get a message that shows the
 * mismatch: a block may be empty for one rank and not for the other.
 *
 * Second, there is no message at all: two ranks wait for each other, each in its own call. So a
 * rank that has waited for long sends its *position*, the signature of its run, to the peer that it
 * waits for. The peer compares it with the signature of its own run of the same epoch. This reveals
 * every deadlock among a group's calls. Take a rank that waits for ever, and let e be the epoch of
 * its first unfinished run. The peer that it waits for
 *   - has started epoch e with another signature, and has finished all earlier epochs: it reports
 *     the mismatch; or
 *   - has started epoch e with the same signature, so that its schedule has the put or the credit:
 *     it has not got so far, since it waits itself, in epoch e or an earlier one; or
 *   - has not started epoch e: it waits in an earlier one, or is in no call of this group.
 * That peer is in one of these states, too. So there is a chain of waiting ranks, along which
 * epochs never grow. The chain can end in three ways: in a mismatch, which is reported; at a rank
 * that is in no call of the group, which is not a deadlock among these calls (see deadlock.c); or
 * in a circle of ranks in one run of one schedule, which the verifier has excluded.
 *
 * A peer that is past epoch e still knows what it called there, since it is only a few runs ahead.
 * A rank cannot put to one that has not finished the run EPOCHS before, for lack of a credit; and
 * other ranks wait for the ranks that cannot put. With slack it may be hundreds of runs ahead, and
 * knows its calls by their clocks (lib/stale/stamp.c).
 *
 * A position needs no answer, and a late, outdated or lost one does no harm. The check reads
 * nothing that may change at the same time, such as a slot of a finished epoch: peers write to a
 * set again as soon as they know that this rank does not need it.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/signature.h"
#include "lib/watch/failure.h"
#include "lib/base/group.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/plan/compile.h"
#include "lib/stale/stale.h"

/* A rank that waits in the same run for this time tells its position, and again after each such
 * interval. */
#define TELL_NS 40000000u
/* The number of groups that one check searches for messages of other calls. */
#define LOOKS 16u
/* The number of slots of a group that one check searches: the first ones, and as many further ones,
 * in turn, if a run has waited for TELL_NS. A large group has thousands of slots. */
#define SLOTS      64u
#define PAGE_BYTES 4096u /* the smallest page of any system */
#define PAGES      (SLOTS * EPOCHS * sizeof(struct slot) / PAGE_BYTES + 2)

/* ------------------------------------------------------------------ messages ------------------ */

static bool is_of(const struct run *run, struct signature signature)
{
    const struct plan *plan = run->call->plan;
    uint64_t history_hash = ncoll__history_of_messages(signature.amount);
    bool amounts_differ = plan->key.sends != NULL;

    return (amounts_differ ? signature.what == plan->signature.what
                           : ncoll__signature_same_call(signature, plan->signature)) &&
           (history_hash == 0 || history_hash == run->history_hash);
}

/* Which pages of some slots are in memory, as the kernel says. Most slots of a rank have never been
 * written, and are in none: to read them would allocate memory for them. A page that was swapped
 * out counts again from the next message to it on. */
struct written {
    uintptr_t from, page; /* address of the first page; bytes of a page; 0: not known */
    unsigned char present[PAGES];
};

static struct written find_written(const struct window *w, unsigned first, unsigned end)
{
    struct written out = {.page = (uintptr_t)sysconf(_SC_PAGESIZE)};

    out.from = (uintptr_t)window_slot(w, 0, first) / out.page * out.page;
    uintptr_t bytes = (uintptr_t)window_slot(w, 0, end) - out.from;
    if (mincore((void *)out.from, bytes, out.present) != 0) /* NOLINT(performance-no-int-to-ptr) */
        out.page = 0;
    return out;
}

static bool is_written(const struct written *written, const struct slot *slot)
{
    return written->page == 0 ||
           (written->present[((uintptr_t)slot - written->from) / written->page] & 1) != 0;
}

/* Finds a message in a slot that the run does not use, from `first` to before `end`: another rank
 * has called something else. */
static void look_for_strangers(struct ncoll_group *g, const struct run *run, unsigned first,
                               unsigned end, const struct written *written)
{
    const struct window *w = g->window;
    struct signature mine = run->call->plan->signature;

    mine.amount |= run->history_hash;
    for (unsigned s = first; s < end; s++) {
        const struct slot *slot = window_slot(w, run->epoch, s);
        if (!is_written(written, slot) || !window_raised(w, run->epoch, s))
            continue; /* the signature is from an earlier run */
        struct signature signature = signature_read(&slot->signature);
        if (!is_of(run, signature))
            ncoll__mismatch_in_slot(g, mine, (unsigned)g->rank, s, signature);
    }
}

/* True if the group has an unfinished run. A group that is being made or freed may have none, and no
 * window either. */
static bool has_run(struct ncoll_group *g)
{
    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call != NULL)
            return true;
    return false;
}

/* Searches SLOTS slots, from `first` on, for all unfinished runs. */
static void search(struct ncoll_group *g, unsigned first)
{
    if (!has_run(g))
        return;
    unsigned n_slots = g->window->shape.n_slots;
    unsigned end = first + SLOTS < n_slots ? first + SLOTS : n_slots;
    struct written written = find_written(g->window, first, end);

    for (uint64_t e = g->credits.finished + 1; e < g->next_epoch; e++)
        if (run_of(g, e)->call != NULL)
            look_for_strangers(g, run_of(g, e), first, end, &written);
}

static void check_group(struct ncoll_group *g)
{
    if (g->stale != NULL)
        ncoll__stale_check(g);
    search(g, 0);
}

/* Searches some of the slots behind the first SLOTS, the next ones each time. */
static void look_further(struct ncoll_group *g)
{
    unsigned n_slots = g->window->shape.n_slots;

    if (n_slots <= SLOTS)
        return;
    search(g, SLOTS + g->slots_seen);
    g->slots_seen = (g->slots_seen + SLOTS) % (n_slots - SLOTS);
}

/* Searches LOOKS groups, the next ones each time. With hundreds of busy groups a search of all
 * their slots would take too long. */
static void check_groups(struct ncoll_context *ctx)
{
    unsigned n = 0, i = 0;

    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy)
        n++;
    for (struct ncoll_group *g = ctx->busy; g != NULL; g = g->next_busy, i++)
        if ((i + n - ctx->looks % n) % n < LOOKS)
            check_group(g);
    ctx->looks += LOOKS;
}

/* ------------------------------------------------------------------ positions ----------------- */

/* Handles the case that other ranks have found different history hashes in a later run. This run
 * may be the one in which ranks made different calls. The ranks that have given up will not return
 * to it, and this rank has waited in it for long. */
static void give_up_past(struct ncoll_group *g, uint64_t epoch)
{
    struct failure failure = g->ctx->failure;

    if (failure.kind != CONTROL_MISMATCH || failure.group != g->name ||
        !ncoll__signature_same_call(failure.signature[0], failure.signature[1]))
        return;
    failure.epoch = (uint32_t)epoch;
    ncoll__broken(g->ctx, &failure);
}

/* Tells the position of one unfinished run, each time another one, if the first unfinished run is
 * the same as the last time. */
static void tell_position(struct ncoll_group *g)
{
    uint64_t first = g->credits.finished + 1, n = g->next_epoch - first;
    bool long_since = g->waited_in == first;

    g->waited_in = n > 0 ? first : 0;
    if (long_since) {
        give_up_past(g, first);
        look_further(g);
    }
    for (uint64_t i = 0; long_since && i < n; i++) {
        struct run *run = run_of(g, first + (g->ctx->tells + i) % n);
        struct question question = {
            .group = g->name,
            .epoch = run->epoch,
            .step = run->next,
            .rank = g->ctx->rank,
            .other = -1,
        };
        struct awaits awaits;
        if (run->call != NULL && ncoll__run_awaits(g, run, &awaits) &&
            !ncoll__is_held_for(g->ctx, awaits.rank) && ncoll__tell(g, run, &question))
            return;
    }
}

/* A peer takes one position at a time, so the groups take turns in being first. */
static void tell_positions(struct ncoll_context *ctx)
{
    struct ncoll_group *first = ctx->busy, *g;
    unsigned n = 0;

    for (g = ctx->busy; g != NULL; g = g->next_busy)
        n++;
    ctx->tells++;
    for (unsigned i = n > 0 ? ctx->tells % n : 0; i > 0; i--)
        first = first->next_busy;
    for (g = first; g != NULL; g = g->next_busy)
        tell_position(g);
    for (g = ctx->busy; g != first; g = g->next_busy)
        tell_position(g);
}

void ncoll__on_position(void *arg, int from_rank, const struct position *p)
{
    struct ncoll_context *ctx = arg;
    struct ncoll_group *g = ctx->groups;

    ncoll__heard(ctx, from_rank, p);
    if (p->kind == POSITION_ANSWERS)
        return;
    ncoll__ask_on(ctx, from_rank, p);
    /* A peer takes one position at a time: an answer each time would leave no room for
     * questions. */
    if (p->kind == POSITION_ASKS && !ncoll__is_held_for(ctx, from_rank) &&
        ncoll__hash_on(ctx->tells, (uint64_t)from_rank) % 2 == 0)
        ncoll__answer(ctx, from_rank);
    while (g != NULL && g->name != p->group)
        g = g->next;
    /* A position is ignored while an earlier run is unfinished, since the mismatch may be in that
     * run. The position will be told again. */
    if (g == NULL || p->epoch >= g->next_epoch || p->epoch > g->credits.finished + 1)
        return;
    struct signature mine = g->history[p->epoch % HISTORY];
    if (p->epoch + HISTORY < g->next_epoch &&
        (g->stale == NULL || !ncoll__past_signature(g->stale, p->epoch, &mine)))
        return;
    if (!signature_equal(mine, p->signature))
        ncoll__mismatch_at(g, p->epoch, mine, from_rank, p->signature);
}

void ncoll__look_for_mismatches(struct ncoll_context *ctx, uint64_t now_ns)
{
    check_groups(ctx);
    ncoll__ask_on_again(ctx);
    if (now_ns < ctx->next_tell_ns)
        return;
    ctx->next_tell_ns = now_ns + TELL_NS;
    tell_positions(ctx);
}
