/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor: carries out a plan's program, instruction after instruction, and returns when the
 * next one has to wait. What it needs to go on is in struct run; a time-out is simply a return.
 *
 * It puts to a peer only with that peer's credit, and gives credits to those that put to this rank,
 * as lib/call/credit.h has it (giving them: credits.c). Runs of schedules that synchronise never
 * have to wait for one, but after others that do not.
 *
 * Where neighbours look at what comes to this rank it says in its own credit, which they can read,
 * how far it has finished; and before it gives a credit for such a run it reads theirs.
 */
#include <string.h>

#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "lib/failure/failure.h"
#include "lib/memory/memory.h"
#include "transport/copy.h"
#include "transport/relax.h"

/* The longest that a rank gives up its core for between two looks at a flag. */
#define LOOK_NS 1000000

/* Memory that the run puts from, in place of a copy in scratch. */
static struct memory *source(const struct run *run, enum base base)
{
    const struct call *c = run->call;
    bool overwritten = base == BASE_IN && c->in_place && run->program->in_is_overwritten;

    return overwritten ? NULL : c->memories[base];
}

static void set_sources(const struct ncoll_group *g, struct run *run)
{
    const struct program *p = run->program;
    bool staged = p->stages_for_far && p->longest_staged >= g->ctx->settings.zero_copy_bytes;

    run->sources[BASE_IN] = staged ? source(run, BASE_IN) : NULL;
    run->sources[BASE_OUT] = staged ? source(run, BASE_OUT) : NULL;
}

static void begin_call(struct ncoll_group *g, struct call *c)
{
    c->number = g->calls++;
    if (__builtin_expect(c->copy != NULL, 0))
        ncoll__stage_in(g, c);
    ncoll__call_find_memories(g, c);
    if (c->plan->inviting > 0)
        ncoll__invite(g, c);
}

/* What the run's puts need. */
static inline struct run *prepare(struct ncoll_group *g, struct call *c)
{
    const struct plan *plan = c->plan;
    const struct window *w = g->window;
    uint64_t epoch = g->next_epoch++, segment = c->started++;
    struct run *run = run_of(g, epoch);
    size_t set = epoch % EPOCHS, done = segment * plan->segment * plan->element;

    run->call = c;
    run->epoch = epoch;
    run->next = 0;
    run->credits = c->last ? plan->n_senders : 0;
    run->program = segment == 0 ? plan->programs : run_of(g, epoch - 1)->program;
    while (run->program + 1 < plan->programs + plan->n_programs &&
           run->program[1].first_segment <= segment)
        run->program++;
    /* IN is only read through its base; the cast drops const for the array's sake. */
    run->base[BASE_IN] = (unsigned char *)(uintptr_t)c->args.in + done;
    run->base[BASE_OUT] = (unsigned char *)c->args.out + done;
    run->base[BASE_SCRATCH] = w->scratch + set * w->shape.scratch_bytes;
    run->base[BASE_SLOTS] = (unsigned char *)&w->slots[set];
    run->base[BASE_BULK] = w->bulk + set * w->shape.bulk_bytes;
    run->done = done;
    if (__builtin_expect(plan->shares, 0))
        ncoll__neighbours_begin(g, run);
    run->past = ncoll__past_of_messages(g->past);
    if (segment == 0)
        begin_call(g, c);
    set_sources(g, run);
    run->shows_in = plan->shows_in && c->memories[BASE_IN] != NULL && c->memories[BASE_IN]->shown;
    run->reads_users = run->lends[BASE_IN] = run->lends[BASE_OUT] = false;
    if (__builtin_expect(plan->lends, 0))
        ncoll__lend_begin(g, run);
    return run;
}

/* What later runs have to know of it. */
static inline void record(struct ncoll_group *g, const struct run *run)
{
    const struct plan *plan = run->call->plan;

    g->history[run->epoch % HISTORY] = plan->card;
    g->past = ncoll__past_with(g->past, plan->card);
    ncoll__credit_on_start(&g->credits, run->epoch, plan->synchronises);
}

void ncoll__run_start(struct ncoll_group *g, struct call *c)
{
    record(g, prepare(g, c));
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

static inline void *at(const struct run *run, struct operand o)
{
    return run->base[o.base] + o.offset;
}

/* What an instruction reads, if it may be shown to this rank. */
static inline const void *read_at(const struct ncoll_group *g, const struct run *run,
                                  struct operand o, bool may_be_shown, unsigned slot)
{
    const struct slot *shown = may_be_shown ? ncoll__shown_in(g, run, slot) : NULL;

    return shown != NULL ? shown->found + o.offset : at(run, o);
}

static inline const void *read_a(const struct ncoll_group *g, const struct run *run,
                                 const struct instruction *i)
{
    return read_at(g, run, i->a, i->reads & READS_A, i->landed);
}

static inline const void *read_b(const struct ncoll_group *g, const struct run *run,
                                 const struct instruction *i)
{
    return read_at(g, run, i->b, i->reads & READS_B, i->landed_b);
}

/* Whether the message that an instruction reads lies in OUT. */
static bool has_landed_in_out(const struct ncoll_group *g, const struct run *run,
                              const struct instruction *i)
{
    return i->lands && window_slot(g->window, run->epoch, i->landed)->where == IN_OUT;
}

/* A put from a copy in scratch, or of a message that has landed in OUT, goes out from the user's
 * memory itself; one of a message that is shown, from where that is, or, to another node, from bulk
 * memory, where the device finds it. */
static void redirect(struct ncoll_group *g, struct run *run, const struct instruction *i,
                     struct put *put)
{
    bool landed = !i->staged && has_landed_in_out(g, run, i);
    const struct memory *source = landed      ? run->call->memories[BASE_OUT]
                                  : i->staged ? run->sources[i->user.base]
                                              : NULL;

    if (i->reads && i->far)
        ncoll__fetch_shown(g, run, i->landed);
    put->src = landed || source != NULL ? at(run, i->user) : read_a(g, run, i);
    if (source == NULL || i->len_bytes <= SLOT_PAYLOAD) /* a part of what has landed */
        return;
    put->memory = source;
    put->answered = false;
    run->call->sends_own = true;
}

/* What a message says. */
static inline struct card card_of(const struct run *run, const struct instruction *i)
{
    uint64_t past = i->len_bytes <= SLOT_PAYLOAD ? run->past : 0;

    return (struct card){run->call->plan->card.what, i->amount | past};
}

static int execute_put(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    struct ncoll_context *ctx = g->ctx;
    struct transport *t = ctx->transport;
    const struct plan *plan = run->call->plan;
    struct invitation invitation;
    struct put put = {
        .to = i->to,
        .window = g->window,
        .epoch = run->epoch,
        .card = card_of(run, i),
        .slot = i->slot,
        .src = at(run, i->a),
        .len_bytes = i->len_bytes,
        .answered = plan->synchronises,
        .bulk_offset = i->bulk_offset,
    };

    if (!may_put(g, i->peer, run->epoch))
        return ncoll__run_waits_for(g, run, i->peer);
    if (__builtin_expect(i->staged || i->lands || i->reads, 0))
        redirect(g, run, i, &put);
    if (__builtin_expect(i->len_bytes > SLOT_PAYLOAD, 0)) {
        if (i->shows != 0)
            ncoll__show(g, run, i, &put);
        if (!put.shown && ncoll__is_invited(g, run, i->peer, &put, &invitation))
            put.invitation = &invitation;
    }
    int rc = t->ops->put(t, &put);
    if (__builtin_expect(rc == NCOLL_OK, 1)) {
        if (__builtin_expect(put.shown, 0))
            ncoll__shown_to(g, run, i, &put);
        ctx->puts++;
        ctx->put_bytes += i->len_bytes;
        return NCOLL_OK;
    }
    if (rc == NCOLL_TIMEOUT)
        return ncoll__run_waits_for(g, run, i->peer);
    return rc == NCOLL_ERR_PEER ? ncoll__peer_unreachable(ctx, ncoll__world_rank(g, i->peer)) : rc;
}

/* As a wait, in the window of a neighbour. */
static int execute_look(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    const struct slot *slot = at(run, i->a);
    unsigned rank = run->call->plan->neighbours[i->near].rank;
    struct card expected = card_of(run, i);

    if (atomic_load_explicit(&slot->flag, memory_order_acquire) != run->epoch) {
        run->waits_for = NO_SLOT;
        run->looks_at = &slot->flag;
        run->waits_for_rank = ncoll__world_rank(g, rank);
        return NCOLL_TIMEOUT;
    }
    struct card card = card_read(&slot->card);
    if (!card_equal(card, expected))
        return ncoll__mismatch_in_slot(g, expected, rank, i->slot, card);
    return NCOLL_OK;
}

/* Between two looks at a flag, or at a word of a neighbour's. */
static inline void give_way(struct ncoll_group *g, const struct awaited *awaited)
{
    struct transport *t = g->ctx->transport;

    if (__builtin_expect(g->ctx->settings.spin_ns > 0, 1))
        ncoll__relax();
    else
        t->ops->wait(t, g->window, awaited, 1, 0, LOOK_NS);
}

/* The flag is looked at so often more, by a run that nothing else has to be looked after beside. */
static int execute_wait(struct ncoll_group *g, struct run *run, const struct instruction *i,
                        unsigned *looks)
{
    struct window *w = g->window;
    struct card expected = card_of(run, i);
    const struct awaited awaited = {run->epoch, i->slot};

    for (; !window_raised(w, run->epoch, i->slot); --*looks) {
        if (*looks == 0) {
            run->waits_for = i->slot;
            run->waits_for_rank = ncoll__world_rank(g, i->peer);
            return NCOLL_TIMEOUT;
        }
        give_way(g, &awaited);
    }
    struct card card = card_read(&window_slot(w, run->epoch, i->slot)->card);
    if (__builtin_expect(!card_equal(card, expected), 0))
        return ncoll__mismatch_in_slot(g, expected, (unsigned)g->rank, i->slot, card);
    if (__builtin_expect(i->watched, 0) && g->ctx->transport->ops->wake_watchers != NULL)
        g->ctx->transport->ops->wake_watchers(g->ctx->transport);
    if (__builtin_expect(i->reads != 0, 0)) {
        uint64_t where = window_slot(w, run->epoch, i->slot)->where;
        if (where == LENT)
            return ncoll__fetch_lent(g, run, i);
        return where == AT_SENDER ? ncoll__find_shown(g, run, i) : NCOLL_OK;
    }
    return NCOLL_OK;
}

/* Whether something of the user's that is put is needed as a copy in scratch. */
static bool needs_copy(const struct run *run, enum base base)
{
    bool shown = base == BASE_IN && run->shows_in && !run->program->stages_for_far;
    bool lent = run->lends[base] && !run->program->stages_unlent;
    return !shown && !lent && run->sources[base] == NULL;
}

/* Buffers of the user's may overlap. */
static void copy(const struct ncoll_group *g, const struct instruction *i, void *to,
                 const void *from)
{
    bool apart = i->a.base != i->dst.base && (i->a.base > BASE_OUT || i->dst.base > BASE_OUT);

    if (apart && g->ctx->transport->moves_strings && i->len_bytes >= STRING_BYTES)
        ncoll__move_string(to, from, i->len_bytes);
    else if (to != from) /* in place */
        memmove(to, from, i->len_bytes);
}

/* Copies to where a put is sent from, and from where a message landed, may not be needed. */
static void execute_copy(struct ncoll_group *g, struct run *run, const struct instruction *i)
{
    const void *from = read_a(g, run, i);

    if (i->staged && !needs_copy(run, i->a.base))
        return;
    if (has_landed_in_out(g, run, i)) {
        g->ctx->landed_bytes += i->len_bytes;
        return;
    }
    copy(g, i, at(run, i->dst), from);
}

static inline int execute_one(struct ncoll_group *g, struct run *run, const struct instruction *i,
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
    }
    return NCOLL_ERR_INTERNAL;
}

/*
 * Whether the scratch of the run's set may be written: what an earlier run has put from there has
 * been read. A finished synchronising run says so of all runs up to LANES before it; else the
 * device is asked.
 */
static bool may_begin(struct ncoll_group *g, const struct run *run)
{
    return !g->undrained || g->credits.synced + LANES >= run->epoch || ncoll__all_drained(g);
}

/* Whether anything was shown, to or by this rank, from the scratch of the run's set. */
static inline bool is_noted(const struct ncoll_group *g, const struct run *run)
{
    return ((g->shown.to_any | g->shown.by_any) >> run->epoch % EPOCHS & 1) != 0;
}

/*
 * Before the run, this rank's scratch of its set may still be read by those whom it was shown, an
 * EPOCHS of runs ago: until they are known to have finished that. So those who have shown theirs to
 * this rank are told, if they would not know (credit.h: as if they put to this rank).
 */
static int settle(struct ncoll_group *g, struct run *run)
{
    unsigned set = run->epoch % EPOCHS;
    unsigned q;

    while (ncoll__shown_first(&g->shown, g->shown.by[set], &g->shown.by_any, set, &q)) {
        int rc = !run->call->last ? ncoll__credit_at_start(g, run, q) : NCOLL_OK;
        if (rc != NCOLL_OK)
            return rc;
        ncoll__shown_clear(g->shown.by[set], q);
    }
    while (ncoll__shown_first(&g->shown, g->shown.to[set], &g->shown.to_any, set, &q)) {
        if (!may_put(g, q, run->epoch))
            return ncoll__run_waits_for(g, run, q);
        ncoll__shown_clear(g->shown.to[set], q);
    }
    return NCOLL_OK;
}

/* What the run has lent is the user's again when it has been fetched. */
static int await_returns(struct ncoll_group *g, struct run *run, unsigned looks)
{
    struct awaited awaited = {.epoch = run->epoch, .slot = NO_SLOT};
    const struct instruction *i;

    for (; (i = ncoll__lent_out(g, run, &awaited.near)) != NULL; looks--) {
        if (looks == 0) {
            ncoll__run_waits_for(g, run, i->peer);
            run->looks_at = awaited.near;
            return NCOLL_TIMEOUT;
        }
        give_way(g, &awaited);
    }
    return NCOLL_OK;
}

/* Whether the call may end with this run: its buffers are the user's again then. */
static bool may_end(struct ncoll_group *g, const struct run *run)
{
    struct transport *t = g->ctx->transport;
    const struct call *c = run->call;

    return !c->sends_own || c->finished + 1 < c->plan->segments || t->ops->drained == NULL ||
           t->ops->drained(t, true);
}

int ncoll__run_advance(struct ncoll_group *g, struct run *run, unsigned looks)
{
    const struct plan *plan = run->call->plan;
    int rc = run->credits < plan->n_senders ? give_credits_at_start(g, run) : NCOLL_OK;

    if (rc == NCOLL_OK && run->next == 0 && !may_begin(g, run))
        rc = ncoll__run_waits_for_device(g, run);
    if (rc == NCOLL_OK && run->next == 0 && __builtin_expect(is_noted(g, run), 0))
        rc = settle(g, run);
    while (rc == NCOLL_OK && run->next < run->program->count) {
        rc = execute_one(g, run, &run->program->instructions[run->next], &looks);
        run->next += rc == NCOLL_OK;
    }
    if (rc == NCOLL_OK && __builtin_expect(run->lends[BASE_IN] || run->lends[BASE_OUT], 0))
        rc = await_returns(g, run, looks);
    if (rc != NCOLL_OK)
        return rc;
    if (__builtin_expect(run->reads_users, 0) && (rc = ncoll__shown_stayed(g, run)) != NCOLL_OK)
        return rc;
    g->undrained |= plan->has_bulk;
    if ((!plan->synchronises && !ncoll__all_drained(g)) || !may_end(g, run))
        return ncoll__run_waits_for_device(g, run);
    ncoll__credit_on_finish(&g->credits, run->epoch, plan->synchronises);
    g->window->epoch = g->credits.finished;
    if (__builtin_expect(g->shares, 0)) /* see neighbours.c */
        atomic_store_explicit(&g->window->credits[g->rank], g->credits.finished,
                              memory_order_release);
    return plan->synchronises ? NCOLL_OK : ncoll__credits_at_end(g, run);
}

/* A message that leaves as it is, in a slot. */
static inline bool is_short_put(const struct instruction *i)
{
    return i->kind == STEP_PUT && i->len_bytes <= SLOT_PAYLOAD && !i->staged && !i->lands &&
           !i->reads;
}

int ncoll__run_at_once(struct ncoll_group *g, struct call *c, unsigned looks)
{
    struct run *run = prepare(g, c);
    const struct program *p = run->program;
    bool may = may_begin(g, run) && !is_noted(g, run); /* else first things first */
    int rc = NCOLL_OK;

    for (; may && run->next < p->count && is_short_put(&p->instructions[run->next]); run->next++)
        if ((rc = execute_put(g, run, &p->instructions[run->next])) != NCOLL_OK)
            break;
    record(g, run);
    return rc == NCOLL_OK || rc == NCOLL_TIMEOUT ? ncoll__run_advance(g, run, looks) : rc;
}
