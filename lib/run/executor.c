/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: runs a plan's program instruction by instruction, and returns when the next one has
 * to wait. Its whole state is in struct run, so a time-out is simply a return.
 *
 * It puts to a peer only with that peer's credit, and gives credits to the ranks that put to this
 * one, by the rules of lib/base/credit.h (credits.c gives them). In schedules that synchronise a
 * run never waits for a credit, except after runs of other schedules.
 *
 * If neighbours look at the messages that come to this rank, it writes the number of its last
 * finished run to its own credit word, which they can read. Before it gives a credit for such a
 * run, it reads the credit words of its neighbours.
 */
#include <string.h>

#include "lib/run/call.h"
#include "lib/run/operands.h"
#include "lib/run/traced.h"
#include "lib/run/waiting.h"
#include "lib/base/signature.h"
#include "lib/base/failure.h"
#include "lib/plan/compile.h"
#include "lib/plan/plan.h"
#include "lib/deliver/memory.h"
#include "lib/stale/stale.h"
#include "transport/copy.h"
#include "transport/relax.h"

/* Functions with INLINED are compiled twice into advance() below: with a trace, and without one. */
#define INLINED static inline __attribute__((always_inline))

static void begin_call(struct ncoll_group *g, struct call *c)
{
    c->number = g->calls++;
    if (__builtin_expect(c->copy != NULL, 0))
        ncoll__stage_in(g, c);
    ncoll__call_find_memories(g, c);
    if (c->plan->advertised > 0)
        ncoll__advertise(g, c);
}

/* Sets the program of run `number` of a call. `last`: the program of the run before it, from where
 * the search begins. Returns the bytes of each block that lie before the segment of the run. */
static __attribute__((noinline)) size_t further_run(const struct plan *plan, uint64_t number,
                                                    const struct program *last, struct run *run)
{
    unsigned each = plan->n_programs / plan->parts;
    uint64_t segment = number % plan->segments;
    const struct program *end = plan->programs + (number / plan->segments + 1) * each;

    run->program = segment == 0 ? end - each : last;
    while (run->program + 1 < end && run->program[1].first_segment <= segment)
        run->program++;
    return segment * plan->segment * plan->element;
}

/* Sets up the state of a new run, as far as its first puts need it. */
static inline struct run *prepare(struct ncoll_group *g, struct call *c)
{
    const struct plan *plan = c->plan;
    const struct window *w = g->window;
    uint64_t epoch = g->next_epoch++, number = c->started++;
    struct run *run = run_of(g, epoch);
    size_t set = epoch % EPOCHS, done = 0;

    run->call = c;
    run->epoch = epoch;
    run->next = 0;
    run->credits = c->last ? plan->n_senders : 0;
    run->program = plan->programs;
    if (number > 0)
        done = further_run(plan, number, run_of(g, epoch - 1)->program, run);
    /* IN is only read through its base; the cast drops const because all bases share one array. */
    run->base[BASE_IN] = (unsigned char *)(uintptr_t)c->args.in + done;
    run->base[BASE_OUT] = (unsigned char *)c->args.out + done;
    run->base[BASE_SCRATCH] = w->scratch + set * w->shape.scratch_bytes;
    run->base[BASE_SLOTS] = (unsigned char *)&w->slots[set];
    run->base[BASE_BULK] = w->bulk + set * w->shape.bulk_bytes;
    run->done = done;
    if (__builtin_expect(plan->shares, 0))
        ncoll__neighbours_begin(g, run);
    run->history_hash = ncoll__history_of_messages(g->history_hash);
    if (number == 0)
        begin_call(g, c);
    run->reads_users = false;
    run->can[BASE_IN] = run->can[BASE_OUT] = 0;
    if (__builtin_expect((plan->routes & ~MAY_SLOT) != 0, 0))
        ncoll__routes_begin(g, run);
    return run;
}

/* Records facts of the run that later runs need. */
static inline void record(struct ncoll_group *g, const struct run *run)
{
    const struct plan *plan = run->call->plan;

    g->history[run->epoch % HISTORY] = plan->signature;
    g->history_hash = ncoll__history_with(g->history_hash, plan->signature);
    ncoll__credit_on_start(&g->credits, run->epoch, plan->synchronises);
}

void ncoll__run_start(struct ncoll_group *g, struct call *c)
{
    record(g, prepare(g, c));
    if (__builtin_expect(c->started == 1 && g->ctx->trace != NULL, 0))
        ncoll__traced_begins(g, c);
}

/* ------------------------------------------------------------------ credits ------------------- */

static int give_credits_at_start(struct ncoll_group *g, struct run *run)
{
    const struct plan *plan = run->call->plan;

    for (; run->credits < plan->n_senders; run->credits++) {
        unsigned q = plan->senders[run->credits];
        int rc = ncoll__credit_at_start(g, run, q);
        if (rc != NCOLL_OK)
            return rc;
    }
    return NCOLL_OK;
}

static bool may_put(struct ncoll_group *g, unsigned to, uint64_t epoch)
{
    if (__builtin_expect(ncoll__credit_may_put(&g->credits, to, epoch), 1))
        return true;
    ncoll__credit_on_credit(&g->credits, to,
                            atomic_load_explicit(&g->window->credits[to], memory_order_acquire));
    return ncoll__credit_may_put(&g->credits, to, epoch);
}

/* ------------------------------------------------------------------ instructions -------------- */

/* Returns the signature that a message carries. */
static inline struct signature signature_of(const struct run *run, const struct instruction *i)
{
    uint64_t history_hash = i->len_bytes <= SLOT_PAYLOAD ? run->history_hash : 0;

    return (struct signature){run->call->plan->signature.what, i->amount | history_hash};
}

static int execute_put(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *by = i->to->by;
    const struct plan *plan = run->call->plan;
    struct advertisement advertisement;
    struct put put = {
        .to = i->to,
        .window = g->window,
        .epoch = run->epoch,
        .signature = signature_of(run, i),
        .slot = i->slot,
        .src = at(run, i->a),
        .len_bytes = i->len_bytes,
        .answered = plan->synchronises,
        .bulk_offset = i->bulk_offset,
    };

    if (!may_put(g, i->peer, run->epoch))
        return ncoll__run_waits_for(g, run, i->peer);
    if (__builtin_expect(i->routes != MAY_SLOT, 0))
        ncoll__route(g, run, i, &put, &advertisement);
    int rc = by->ops->put(by, &put);
    if (__builtin_expect(rc == NCOLL_OK, 1)) {
        if (__builtin_expect(put.route >= ROUTE_PEER_READ, 0))
            ncoll__routed(g, run, i, &put);
        ctx->puts++;
        ctx->put_bytes += i->len_bytes;
        return NCOLL_OK;
    }
    if (rc == NCOLL_TIMEOUT)
        return ncoll__run_waits_for(g, run, i->peer);
    return rc == NCOLL_ERR_PEER ? ctx->watch->unreachable(ctx, ncoll__world_rank(g, i->peer)) : rc;
}

/* Waits for a message in the window of a neighbour. */
INLINED int execute_look(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    const struct slot *slot = at(run, i->a);
    unsigned rank = run->call->plan->neighbours[i->neighbour].rank;
    struct signature expected = signature_of(run, i);

    if (atomic_load_explicit(&slot->flag, memory_order_acquire) != run->epoch) {
        run->waits_for = NO_SLOT;
        run->looks_at = &slot->flag;
        run->waits_for_rank = ncoll__world_rank(g, rank);
        return NCOLL_TIMEOUT;
    }
    struct signature signature = signature_read(&slot->signature);
    if (!signature_equal(signature, expected))
        return ncoll__mismatch_in_slot(g, expected, rank, i->slot, signature);
    return NCOLL_OK;
}

/* Gives up the core for a moment, between two looks at a flag or at a neighbour's word. */
static inline void give_way(struct ncoll_group *g, const struct awaited *awaited, unsigned *looks)
{
    if (__builtin_expect(g->ctx->waiting.spins, 1))
        ncoll__relax();
    else if (g->ctx->waiting.untimed-- > 0)
        ncoll__waiting_yield(g, awaited);
    else if (!ncoll__waiting_yield_timed(g, awaited))
        *looks = 1; /* the next look is the last one */
}

/* Waits for a message. *looks: the number of further looks at the flag, before it returns
 * NCOLL_TIMEOUT. */
INLINED int execute_wait(struct ncoll_group *g, struct run *run, const struct instruction *i,
                         unsigned *looks)
{
    struct window *w = g->window;
    struct signature expected = signature_of(run, i);
    const struct awaited awaited = {run->epoch, i->slot};

    for (; !window_raised(w, run->epoch, i->slot); --*looks) {
        if (*looks == 0) {
            run->waits_for = i->slot;
            run->waits_for_rank = ncoll__world_rank(g, i->peer);
            return NCOLL_TIMEOUT;
        }
        give_way(g, &awaited, looks);
    }
    struct signature signature = signature_read(&window_slot(w, run->epoch, i->slot)->signature);
    if (__builtin_expect(!signature_equal(signature, expected), 0))
        return ncoll__mismatch_in_slot(g, expected, (unsigned)g->rank, i->slot, signature);
    if (__builtin_expect(i->shared_wait, 0) && g->ctx->transport->ops->wake_watchers != NULL)
        g->ctx->transport->ops->wake_watchers(g->ctx->transport);
    if (__builtin_expect(i->routes != 0, 0))
        return ncoll__receive(g, run, i);
    return NCOLL_OK;
}

/* Executes a COPY. Buffers of the user may overlap. Nothing is copied in three cases: the copy is
 * for a put that sends the original data instead; the message was placed in OUT already; in place,
 * the data is there already. */
INLINED void execute_copy(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    bool apart = i->a.base != i->dst.base && (i->a.base > BASE_OUT || i->dst.base > BASE_OUT);
    const void *from = read_a(g, run, i);
    void *to = at(run, i->dst);

    if (i->routes & FROM_COPY && !(run->can[i->a.base] & NEEDS_COPY))
        return;
    if (from == to)
        g->ctx->landed_bytes += i->routes & FROM_MESSAGE ? i->len_bytes : 0;
    else if (apart && g->ctx->transport->moves_strings && i->len_bytes >= STRING_BYTES)
        ncoll__move_string(to, from, i->len_bytes);
    else
        memmove(to, from, i->len_bytes);
}

INLINED int execute_one(struct ncoll_group *g, struct run *run, const struct instruction *i,
                        unsigned *looks)
{
    const struct plan *plan = run->call->plan;
    const struct op *op = &plan->op;
    ncoll_type type = plan->key.type;

    switch (i->kind) {
    case STEP_PUT:
        return execute_put(g, run, i);
    case STEP_WAIT:
        return execute_wait(g, run, i, looks);
    case STEP_REDUCE:
        op->combine(at(run, i->dst), read_a(g, run, i), read_b(g, run, i), i->count, type, op->arg);
        return NCOLL_OK;
    case STEP_TAKEOUT:
        op->inverse(at(run, i->dst), read_a(g, run, i), read_b(g, run, i), i->count, type, op->arg);
        return NCOLL_OK;
    case STEP_COPY:
        execute_copy(g, run, i);
        return NCOLL_OK;
    case STEP_LOOK:
        return execute_look(g, run, i);
    case STEP_REPEATED:
        ncoll__execute_repeated(g, run, i);
        return NCOLL_OK;
    }
    return NCOLL_ERR_INTERNAL;
}

/* True if the run may write to its scratch memory, which an earlier run has used: the device must
 * have read all that was put from there. It has if a synchronising run at most LANES runs before
 * this one has finished; otherwise the device is asked. */
static bool may_begin(struct ncoll_group *g, const struct run *run)
{
    return !g->undrained || g->credits.synced + LANES >= run->epoch || ncoll__all_drained(g);
}

/* True if a peer has read this rank's scratch of the run's set, or this rank has read that of a
 * peer. */
static inline bool is_noted(const struct ncoll_group *g, const struct run *run)
{
    return ((g->readers.to_any | g->readers.by_any) >> run->epoch % EPOCHS & 1) != 0;
}

/*
 * Waits for ranks that still need this rank's memory: before the first step the scratch of the run;
 * after the last step the user's memory, which the call then gives back.
 */
static int await_holders(struct ncoll_group *g, struct run *run, unsigned looks)
{
    struct holder holder;

    for (; ncoll__find_holder(g, run, &holder); looks--) {
        struct awaited awaited = {.epoch = run->epoch, .slot = NO_SLOT, .word = holder.word};
        if (looks == 0 || holder.word == NULL) {
            ncoll__run_waits_for(g, run, holder.rank);
            run->looks_at = holder.word;
            return NCOLL_TIMEOUT;
        }
        give_way(g, &awaited, &looks);
    }
    return NCOLL_OK;
}

/* True if the call may end with this run, and give its buffers back to the user. */
static bool may_end(struct ncoll_group *g, const struct run *run)
{
    struct transport *t = g->ctx->transport;
    const struct call *c = run->call;

    return !c->sends_own || c->finished + 1 < c->plan->runs || t->ops->drained == NULL ||
           t->ops->drained(t, true);
}

/* Advances a run. It is compiled with and without a trace, so that ranks without a trace pay for it
 * with one branch each time that a run is advanced. */
INLINED int advance(struct ncoll_group *g, struct run *run, unsigned looks, bool traced)
{
    const struct plan *plan = run->call->plan;
    int rc = run->credits < plan->n_senders ? give_credits_at_start(g, run) : NCOLL_OK;

    if (rc == NCOLL_OK && run->next == 0 && !may_begin(g, run))
        rc = ncoll__run_waits_for_device(g, run);
    if (rc == NCOLL_OK && run->next == 0 && __builtin_expect(is_noted(g, run), 0))
        rc = ncoll__credits_to_read(g, run);
    if (rc == NCOLL_OK && run->next == 0 && __builtin_expect(is_noted(g, run), 0))
        rc = await_holders(g, run, 0);
    while (rc == NCOLL_OK && run->next < run->program->count) {
        const struct instruction *i = &run->program->instructions[run->next];
        rc = execute_one(g, run, i, &looks);
        if (traced)
            ncoll__traced_step(g, run, i, rc);
        run->next += rc == NCOLL_OK;
    }
    if (rc == NCOLL_OK &&
        __builtin_expect(((run->can[BASE_IN] | run->can[BASE_OUT]) & MAY_SINGLE_COPY) != 0, 0))
        rc = await_holders(g, run, looks);
    if (rc != NCOLL_OK)
        return rc;
    if (__builtin_expect(run->reads_users, 0) && (rc = ncoll__check_reads(g, run)) != NCOLL_OK)
        return rc;
    g->undrained |= (plan->routes & MAY_BULK) != 0;
    if ((!plan->synchronises && !ncoll__all_drained(g)) || !may_end(g, run))
        return ncoll__run_waits_for_device(g, run);
    ncoll__run_finished(g, run, plan->synchronises);
    if (traced && run->call->finished + 1 == plan->runs)
        ncoll__traced_ends(g, run->call, run->epoch, NCOLL_OK);
    return plan->synchronises ? NCOLL_OK : ncoll__credits_at_end(g, run);
}

static __attribute__((noinline)) int advance_untraced(struct ncoll_group *g, struct run *run,
                                                      unsigned looks)
{
    return advance(g, run, looks, false);
}

static __attribute__((cold, noinline)) int advance_traced(struct ncoll_group *g, struct run *run,
                                                          unsigned looks)
{
    ncoll__traced_advances(g);
    return advance(g, run, looks, true);
}

static __attribute__((noinline)) int advance_stale(struct ncoll_group *g, struct run *run,
                                                   unsigned looks)
{
    int rc = ncoll__stale_advance(g, run, looks);

    if (rc == NCOLL_OK && g->ctx->trace != NULL)
        ncoll__traced_ends(g, run->call, run->epoch, NCOLL_OK);
    return rc;
}

/* Advances a run with a trace, or in a group with mailboxes. */
static __attribute__((noinline)) int advance_unusual(struct ncoll_group *g, struct run *run,
                                                     unsigned looks)
{
    if (ncoll__is_stale(run->call))
        return advance_stale(g, run, looks);
    return g->ctx->trace != NULL ? advance_traced(g, run, looks) : advance_untraced(g, run, looks);
}

int ncoll__run_advance(struct ncoll_group *g, struct run *run, unsigned looks)
{
    if (__builtin_expect(g->unusual, 0))
        return advance_unusual(g, run, looks);
    return advance_untraced(g, run, looks);
}

/* True for a put whose message fits into a slot and is sent as it is. */
static inline bool is_short_put(const struct instruction *i)
{
    return i->kind == STEP_PUT && i->routes == MAY_SLOT;
}

INLINED int at_once(struct ncoll_group *g, struct call *c, unsigned looks, bool traced)
{
    struct run *run = prepare(g, c);
    const struct program *p = run->program;
    /* false: advance() waits before the first step */
    bool may = may_begin(g, run) && !is_noted(g, run);
    int rc = NCOLL_OK;

    if (traced)
        ncoll__traced_begins(g, c);
    for (; may && run->next < p->count && is_short_put(&p->instructions[run->next]); run->next++) {
        rc = execute_put(g, run, &p->instructions[run->next]);
        if (traced)
            ncoll__traced_step(g, run, &p->instructions[run->next], rc);
        if (rc != NCOLL_OK)
            break;
    }
    record(g, run);
    if (rc != NCOLL_OK && rc != NCOLL_TIMEOUT)
        return rc;
    return traced ? advance_traced(g, run, looks) : advance_untraced(g, run, looks);
}

static __attribute__((cold, noinline)) int at_once_traced(struct ncoll_group *g, struct call *c,
                                                          unsigned looks)
{
    return at_once(g, c, looks, true);
}

int ncoll__run_at_once(struct ncoll_group *g, struct call *c, unsigned looks)
{
    if (__builtin_expect(g->ctx->trace != NULL, 0))
        return at_once_traced(g, c, looks);
    return at_once(g, c, looks, false);
}

int ncoll__run_stale_at_once(struct ncoll_group *g, struct call *c, unsigned looks)
{
    ncoll__run_start(g, c);
    return advance_stale(g, run_of(g, g->next_epoch - 1), looks);
}
