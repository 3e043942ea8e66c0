/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine. An actor is one lane of a rank. It runs the schedule for one segment after the other,
 * or one part of the schedule after the other, and stops when it waits for a message that has not
 * been put yet. There are two ways to run.
 *
 * In any order: an actor goes on as soon as its message has been put, whatever the time of its
 * clock. A stack holds the actors that can go on. In the order of times: a queue holds two kinds of
 * events, messages that leave their senders and actors that go on.
 *
 * When an actor goes on in the middle of a round, the steps of the round are generated again. This
 * takes less time than to keep the rounds of a million ranks. Only long rounds are kept.
 */
#include <stdlib.h>
#include <string.h>

#include "loggp/engine.h"
#include "loggp/network.h"
#include "loggp/noise.h"
#include "loggp/pending.h"
#include "loggp/queue.h"

#define PROGRESS_MASK ((1u << 18) - 1)
#define SLOT_BITS     12
#define RANK_BITS     20

struct engine {
    const struct loggp_job *job;
    const struct nodes *nodes;
    unsigned P, lanes;
    size_t segments, parts, runs; /* a run is a part of a segment */
    bool ordered, shares, follow, failed;
    struct rounds rounds;
    struct pending pending;
    struct network network;
    struct noises noises;
    struct loggp_queue queue;
    unsigned *stack, stacked;
    struct actor *actors; /* [P * lanes] the actors of a rank are neighbours */
    struct rank *ranks;
    size_t *counts; /* [segments * P]: elements of each block in each segment; NULL: not needed */
    uint64_t runs_ended, rounds_ended, rounds_in_all; /* over all ranks */
    struct loggp_result result;
};

/* ------------------------------------------------------------------ runs ---------------------- */

/*
 * Runs are numbered. If the algorithm has PARTS_FOLLOW, the parts of a segment have successive
 * numbers, and one lane does them all. Otherwise all segments do part 0, then part 1, and so on,
 * and lanes take runs in turn.
 */
static unsigned part_of(const struct engine *e, unsigned run)
{
    return (unsigned)(e->follow ? run % e->parts : run / e->segments);
}

static size_t segment_of(const struct engine *e, unsigned run)
{
    return e->follow ? run / e->parts : run % e->segments;
}

static unsigned lane_of(const struct engine *e, unsigned run)
{
    return (unsigned)((e->follow ? run / e->parts : run) % e->lanes);
}

static unsigned first_run(const struct engine *e, unsigned lane)
{
    return (unsigned)(e->follow ? lane * e->parts : lane);
}

static unsigned run_after(const struct engine *e, unsigned run)
{
    if (!e->follow)
        return run + e->lanes;
    return (unsigned)(run + 1 + ((run + 1) % e->parts == 0 ? (e->lanes - 1) * e->parts : 0));
}

/* ------------------------------------------------------------------ messages ------------------ */

static uint64_t key_of(unsigned run, unsigned rank, unsigned slot)
{
    return ((uint64_t)run << (RANK_BITS + SLOT_BITS) | (uint64_t)rank << SLOT_BITS | slot) + 1;
}

static unsigned node_at(const struct engine *e, unsigned rank)
{
    return e->nodes != NULL ? node_of(e->nodes, rank) : rank;
}

static const struct loggp_cost *cost_between(const struct engine *e, unsigned a, unsigned b)
{
    bool near = node_at(e, a) == node_at(e, b);

    return near ? &e->job->costs.near : &e->job->costs.far;
}

static double work(struct engine *e, unsigned rank, double ns)
{
    return loggp_noises_work(&e->noises, rank, e->ranks[rank].now_ns, ns);
}

static void wake(struct engine *e, unsigned actor, uint64_t key, double there_ns)
{
    struct actor *a = &e->actors[actor];
    double now_ns = e->ranks[actor / e->lanes].now_ns;

    if (a->waits_for != key)
        return;
    a->waits_for = 0;
    if (!e->ordered)
        e->stack[e->stacked++] = actor;
    else if (!loggp_queue_add(&e->queue,
                              (struct loggp_event){.at_ns = there_ns > now_ns ? there_ns : now_ns,
                                                   .actor = actor}))
        e->failed = true;
}

/* Records when a message that has been put will arrive, for its receiver and for neighbours that
 * look at it. */
static void deliver(struct engine *e, uint64_t key, double there_ns)
{
    unsigned rank = (unsigned)((key - 1) >> SLOT_BITS) & (LOGGP_RANKS_MAX - 1);
    unsigned lane = lane_of(e, (unsigned)((key - 1) >> (RANK_BITS + SLOT_BITS)));

    if (!loggp_pending_add(&e->pending, key, there_ns))
        e->failed = true;
    wake(e, rank * e->lanes + lane, key, there_ns);
    for (unsigned i = 0; e->shares && i < ranks_on(e->nodes, node_of(e->nodes, rank)); i++)
        wake(e, rank_on(e->nodes, node_of(e->nodes, rank), i) * e->lanes + lane, key, there_ns);
}

/* Carries out a put. is_next: it follows directly on another put. */
static void put(struct engine *e, unsigned rank, const struct action *a, uint64_t key, bool is_next)
{
    const struct loggp_cost *cost = cost_between(e, rank, a->peer);
    struct rank *r = &e->ranks[rank];
    bool stays = cost->copies && a->stays && cost->stay_bytes > 0 && a->amount >= cost->stay_bytes;
    double span_ns = stays ? 0 : a->amount * cost->message.byte_ns, sent_ns;
    double own_ns = is_next ? cost->next_ns : cost->message.message_ns;

    r->now_ns = work(e, rank, cost->copies ? own_ns + span_ns : own_ns);
    if (cost->copies) {
        sent_ns = r->now_ns;
    } else {
        double start_ns = r->card_free_ns > r->now_ns ? r->card_free_ns : r->now_ns;
        r->card_free_ns = start_ns + (span_ns > cost->gap_ns ? span_ns : cost->gap_ns);
        sent_ns = start_ns + span_ns;
    }
    e->result.messages++;
    e->result.bytes += a->amount;

    unsigned from = node_at(e, rank), to = node_at(e, a->peer);
    double rest_ns = cost->message.latency_ns;
    if (from != to)
        rest_ns += loggp_network_hops(&e->network, from, to) * e->job->network.hop_ns;
    if (from == to || !e->job->network.contention) {
        deliver(e, key, sent_ns + rest_ns);
        return;
    }
    struct loggp_event leaves = {.at_ns = sent_ns - span_ns,
                                 .is_message = true,
                                 .from = from,
                                 .to = to,
                                 .span_ns = span_ns,
                                 .rest_ns = rest_ns,
                                 .key = key};
    if (!loggp_queue_add(&e->queue, leaves))
        e->failed = true;
}

/* Returns the time that a receiver takes to read a message. */
static double read_time(const struct loggp_cost *cost, double bytes)
{
    bool is_apart = cost->beside_bytes > 0 && bytes > cost->beside_bytes;

    return bytes * cost->read_byte_ns + (is_apart ? cost->message.latency_ns : 0);
}

/* Carries out a wait or a look. Returns false if the actor has to stop: the message has not been
 * put yet, or it arrives later, and another lane of the rank may go on until then. */
static bool receive(struct engine *e, unsigned actor, const struct action *a)
{
    unsigned rank = actor / e->lanes;
    struct actor *self = &e->actors[actor];
    struct rank *r = &e->ranks[rank];
    bool look = a->kind == ACTION_LOOK;
    uint64_t key = key_of(self->run, look ? a->at : rank, a->slot);
    double there_ns;

    if (!loggp_pending_take(&e->pending, key, false, &there_ns)) {
        self->waits_for = key;
        return false;
    }
    if (look)
        there_ns += e->job->costs.near.message.latency_ns;
    if (e->lanes > 1 && there_ns > r->now_ns) { /* another lane may go on meanwhile */
        if (!loggp_queue_add(&e->queue, (struct loggp_event){.at_ns = there_ns, .actor = actor}))
            e->failed = true;
        return false;
    }
    if (!e->shares)
        loggp_pending_take(&e->pending, key, true, &there_ns);
    r->now_ns = there_ns > r->now_ns ? there_ns : r->now_ns;
    double read_ns = read_time(cost_between(e, rank, look ? a->at : a->peer), a->amount);
    r->now_ns = work(e, rank, cost_between(e, rank, a->peer)->receive_ns + read_ns);
    return true;
}

/* ------------------------------------------------------------------ actors -------------------- */

static struct shape shape_of(const struct engine *e, unsigned rank, unsigned run)
{
    struct shape g = e->job->shape;
    size_t each = e->job->segment, segment = segment_of(e, run);

    g.rank = rank;
    g.part = part_of(e, run);
    if (e->counts != NULL) {
        g.counts = &e->counts[segment * e->P];
    } else if (e->segments > 1) {
        size_t left = g.count - segment * each;
        g.count = left < each ? left : each;
    }
    return g;
}

static void report_progress(struct engine *e)
{
    const struct loggp_job *job = e->job;

    if (job->progress != NULL && (e->rounds_ended & PROGRESS_MASK) == 0)
        job->progress(job->progress_arg, (double)e->rounds_ended / (double)e->rounds_in_all);
}

static void keep_round(struct engine *e, struct actor *a, const struct action *actions, unsigned n)
{
    if (a->kept != NULL || n < KEEP_FROM)
        return;
    a->kept = malloc(n * sizeof *actions);
    if (a->kept == NULL) {
        e->failed = true;
        return;
    }
    memcpy(a->kept, actions, n * sizeof *actions);
    a->n_kept = n;
}

static void tell(const struct engine *e, unsigned actor, const struct action *action,
                 double begin_ns)
{
    unsigned rank = actor / e->lanes;
    struct loggp_step step = {
        .kind = (enum loggp_step_kind)action->kind,
        .rank = rank,
        .lane = actor % e->lanes,
        .round = e->actors[actor].round,
        .run = e->actors[actor].run,
        .peer = action->peer,
        .receiver = action->kind == ACTION_PUT    ? action->peer
                    : action->kind == ACTION_LOOK ? action->at
                                                  : rank,
        .slot = action->slot,
        .bytes = action->kind != ACTION_WORK ? action->amount : 0,
        .begin_ns = begin_ns,
        .end_ns = e->ranks[rank].now_ns,
    };

    e->job->step_ended(e->job->step_arg, &step);
}

/* Carries out the round from a->next on. Returns false if the actor has to wait. */
static bool run_round(struct engine *e, unsigned actor, const struct action *actions, unsigned n)
{
    unsigned rank = actor / e->lanes;
    struct actor *a = &e->actors[actor];
    bool is_next = false;

    for (; a->next < n; a->next++) {
        const struct action *action = &actions[a->next];
        double begin_ns = e->ranks[rank].now_ns;
        switch (action->kind) {
        case ACTION_PUT:
            put(e, rank, action, key_of(a->run, action->peer, action->slot), is_next);
            break;
        case ACTION_WORK:
            e->ranks[rank].now_ns = work(e, rank, action->amount);
            e->result.events += action->steps - 1;
            break;
        default:
            if (!receive(e, actor, action)) {
                keep_round(e, a, actions, n);
                return false;
            }
        }
        is_next = action->kind == ACTION_PUT;
        e->result.events++;
        if (e->job->step_ended != NULL)
            tell(e, actor, action, begin_ns);
    }
    return true;
}

/* Lets the actor go on until it waits, or until its lane has no further run. */
static void go_on(struct engine *e, unsigned actor)
{
    struct actor *a = &e->actors[actor];

    while (a->run < e->runs && !e->failed) {
        struct shape g = shape_of(e, actor / e->lanes, a->run);
        enum round_status made =
            a->kept != NULL ? ROUND_MADE : loggp_rounds_make(&e->rounds, &g, a->round);
        e->failed |= made == ROUND_NO_MEMORY;
        if (made == ROUND_NONE) {
            a->run = run_after(e, a->run);
            a->round = 0;
            e->runs_ended++;
            continue;
        }
        bool ended = a->kept != NULL ? run_round(e, actor, a->kept, a->n_kept)
                                     : run_round(e, actor, e->rounds.actions, e->rounds.count);
        if (!ended)
            return;
        free(a->kept);
        a->kept = NULL;
        a->next = 0;
        if (e->job->round_ended != NULL)
            e->job->round_ended(e->job->round_arg, a->round, e->ranks[actor / e->lanes].now_ns);
        a->round++;
        e->rounds_ended++;
        report_progress(e);
    }
}

static void run_in_any_order(struct engine *e)
{
    for (unsigned rank = 0; rank < e->P && !e->failed; rank++) {
        go_on(e, rank);
        while (e->stacked > 0 && !e->failed)
            go_on(e, e->stack[--e->stacked]);
    }
}

static void run_in_order(struct engine *e)
{
    struct loggp_event event;

    for (unsigned actor = 0; actor < e->P * e->lanes; actor++)
        if (!loggp_queue_add(
                &e->queue,
                (struct loggp_event){.at_ns = e->ranks[actor / e->lanes].now_ns, .actor = actor}))
            e->failed = true;
    while (!e->failed && loggp_queue_take(&e->queue, &event)) {
        if (!event.is_message) {
            struct rank *r = &e->ranks[event.actor / e->lanes];
            r->now_ns = event.at_ns > r->now_ns ? event.at_ns : r->now_ns;
            go_on(e, event.actor);
            continue;
        }
        double begin_ns =
            loggp_network_carry(&e->network, event.from, event.to, event.at_ns, event.span_ns);
        deliver(e, event.key, begin_ns + event.span_ns + event.rest_ns);
    }
}

/* ------------------------------------------------------------------ the whole ----------------- */

/* Computes e->counts, if necessary: segment i has the elements i S .. (i + 1) S - 1 of every block,
 * S = job->segment. Returns false if there is no memory. */
static bool cut_blocks(struct engine *e)
{
    const size_t *counts = e->job->shape.counts;
    size_t each = e->job->segment;

    if (counts == NULL || e->segments == 1)
        return true;
    e->counts = malloc(e->segments * e->P * sizeof *e->counts);
    for (size_t i = 0; e->counts != NULL && i < e->segments * e->P; i++) {
        size_t count = counts[i % e->P], before = i / e->P * each;
        size_t left = count > before ? count - before : 0;
        e->counts[i] = left < each ? left : each;
    }
    return e->counts != NULL;
}

static bool start(struct engine *e, const struct loggp_job *job)
{
    unsigned lanes = job->lanes > 0 ? job->lanes : 1;
    size_t segments = loggp_segments_of(job);

    e->job = job;
    e->nodes = job->shape.nodes;
    e->P = job->shape.size;
    e->segments = segments;
    e->parts = is_in_parts(&job->shape) ? job->shape.parts : 1;
    e->runs = segments * e->parts;
    e->follow = (job->algorithm->properties & PARTS_FOLLOW) != 0;
    size_t at_once = e->follow ? segments : e->runs;
    e->lanes = lanes < at_once ? lanes : (unsigned)at_once;
    e->ordered = job->ordered || e->lanes > 1 || job->network.contention;
    e->shares = (job->algorithm->properties & SHARES) != 0;
    e->rounds = (struct rounds){.algorithm = job->algorithm,
                                .element_bytes = job->element_bytes,
                                .step_ns = job->costs.step_ns,
                                .local_byte_ns = job->costs.local_byte_ns};
    e->stack = calloc(e->P, sizeof *e->stack);
    e->actors = calloc((size_t)e->P * e->lanes, sizeof *e->actors);
    e->ranks = calloc(e->P, sizeof *e->ranks);
    if (e->stack == NULL || e->actors == NULL || e->ranks == NULL || !cut_blocks(e) ||
        !loggp_pending_init(&e->pending) ||
        !loggp_noises_init(&e->noises, &job->noise, job->seed, e->P) ||
        !loggp_network_init(&e->network, &job->network, e->nodes != NULL ? e->nodes->count : e->P,
                            job->costs.far.gap_ns))
        return false;
    for (unsigned actor = 0; actor < e->P * e->lanes; actor++)
        e->actors[actor].run = first_run(e, actor % e->lanes);
    for (unsigned rank = 0; rank < e->P; rank++) {
        e->ranks[rank].now_ns = e->noises.entry_ns != NULL ? e->noises.entry_ns[rank] : 0;
        e->ranks[rank].now_ns = work(e, rank, job->costs.call_ns);
    }

    struct shape g = shape_of(e, 0, 0);
    unsigned rounds = 0;
    enum round_status made = ROUND_MADE;
    for (; job->progress != NULL && made == ROUND_MADE; rounds += made == ROUND_MADE)
        made = loggp_rounds_make(&e->rounds, &g, rounds);
    e->rounds_in_all = (uint64_t)e->P * e->runs * (rounds > 0 ? rounds : 1);
    return made != ROUND_NO_MEMORY;
}

static void take_times(struct engine *e)
{
    struct loggp_result *out = &e->result;

    out->entry_ns = e->noises.last_entry_ns;
    out->first_ns = e->ranks[0].now_ns;
    for (unsigned rank = 0; rank < e->P; rank++) {
        double end_ns = e->ranks[rank].now_ns;
        out->first_ns = end_ns < out->first_ns ? end_ns : out->first_ns;
        out->last_ns = end_ns > out->last_ns ? end_ns : out->last_ns;
        out->mean_ns += end_ns / e->P;
    }
}

static void stop(struct engine *e)
{
    for (size_t i = 0; e->actors != NULL && i < (size_t)e->P * e->lanes; i++)
        free(e->actors[i].kept);
    free(e->stack);
    free(e->actors);
    free(e->ranks);
    free(e->counts);
    loggp_rounds_free(&e->rounds);
    loggp_pending_free(&e->pending);
    loggp_noises_free(&e->noises);
    loggp_network_free(&e->network);
    loggp_queue_free(&e->queue);
}

enum loggp_status loggp_run(const struct loggp_job *job, struct loggp_result *out)
{
    struct engine e = {0};
    enum loggp_status status = LOGGP_NO_MEMORY;

    if (start(&e, job)) {
        if (e.ordered)
            run_in_order(&e);
        else
            run_in_any_order(&e);
        if (!e.failed)
            status = e.runs_ended == e.P * e.runs ? LOGGP_OK : LOGGP_STUCK;
    }
    if (status == LOGGP_OK) {
        take_times(&e);
        *out = e.result;
    }
    stop(&e);
    return status;
}
