/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predicts the time of a schedule. It simulates all ranks step by step, each with a clock of its
 * own. A put occupies the sender for o + G bytes (message_ns, byte_ns), and arrives L later
 * (latency_ns). It occupies the receiver for a part of o. The sender of a peer read does not copy
 * the data (or copies it once, if it goes to several ranks); the receivers read it. Ranks that
 * share a core take turns, and each context switch takes SWITCH_NS.
 */
#include "lib/topology/levels.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/plan/compile.h"
#include "lib/choose/estimate.h"

#define RANKS_MAX 256
#define NEVER     1e300

struct actor {
    struct step *steps;
    unsigned n_steps, next;
    double ready_ns;      /* time when the rank has ended its steps so far */
    struct ref peer_read; /* source of the latest put that was a peer read */
    bool has_peer_read;
};

struct core {
    double free_ns, busy_ns;
    unsigned last; /* rank that ran last */
    bool used;
};

struct simulation {
    struct ncoll_group *g;
    const struct nodes *nodes;
    struct message_cost near, far;
    size_t element, show_bytes;
    double line_ns; /* additional time for each message that is waited for */
    unsigned ranks, slots, n_cores;
    struct actor *actors;
    struct core *cores;
    double *arrivals; /* [ranks * slots]: time when the message arrives; NEVER: not put yet */
    bool *remote;     /* [ranks * slots]: the data stays in the sender's memory */
};

/* ------------------------------------------------------------------ steps --------------------- */

static bool is_near(const struct simulation *s, unsigned a, unsigned b)
{
    return s->nodes == NULL || node_of(s->nodes, a) == node_of(s->nodes, b);
}

static const struct message_cost *cost_between(const struct simulation *s, unsigned a, unsigned b)
{
    return is_near(s, a, b) ? &s->near : &s->far;
}

static bool same_place(struct ref a, struct ref b)
{
    return a.buffer == b.buffer && a.slot == b.slot && a.rank == b.rank && a.block == b.block &&
           a.offset == b.offset;
}

/* True if a message of this length from rank a to rank b is a peer read. Ranks of one node read
 * each other's memory, also if they are in different domains. */
static bool is_peer_read(const struct simulation *s, unsigned a, unsigned b, size_t bytes)
{
    bool node = is_near(s, a, b) || s->g->level != NO_LEVEL;

    return node && s->show_bytes > 0 && bytes >= s->show_bytes && bytes > SLOT_PAYLOAD;
}

static double put(struct simulation *s, unsigned rank, const struct step *step)
{
    struct actor *a = &s->actors[rank];
    const struct message_cost *cost = cost_between(s, rank, step->peer);
    size_t bytes = step->count * s->element, at = (size_t)step->peer * s->slots + step->slot;
    double ns = put_ns(cost, (double)bytes);

    s->remote[at] = is_peer_read(s, rank, step->peer, bytes);
    if (s->remote[at]) {
        /* one copy serves all receivers */
        bool has = a->has_peer_read && same_place(a->peer_read, step->a);
        bool copies = step->a.buffer != BUF_SCRATCH && !has;
        ns = peer_read_put_ns(cost, copies ? (double)bytes : 0);
        a->has_peer_read = true;
        a->peer_read = step->a;
    }
    s->arrivals[at] = a->ready_ns + ns + cost->latency_ns;
    return ns;
}

/* Returns the time of a step that copies or combines. Data in other ranks' memory takes longer. */
static double compute(const struct simulation *s, unsigned rank, const struct step *step)
{
    const struct ref operands[2] = {step->a, step->b};
    double own = 0, away = 0, bytes = (double)(step->count * s->element);
    unsigned n = step->kind == STEP_COPY ? 1 : 2;

    for (unsigned i = 0; i < n; i++) {
        const struct ref *o = &operands[i];
        unsigned owner = o->buffer == BUF_NEIGHBOUR ? o->rank : rank;
        bool arrived = o->buffer == BUF_NEIGHBOUR || o->buffer == BUF_ARRIVED;
        if (arrived && (owner != rank || s->remote[(size_t)owner * s->slots + o->slot]))
            away += bytes;
        else
            own += bytes;
    }
    return local_ns(own, away, &s->near);
}

/* Returns the time when the rank can execute its next step. NEVER: the step waits for a message
 * that has not been put yet, or there is no further step. */
static double can_start(const struct simulation *s, unsigned rank)
{
    const struct actor *a = &s->actors[rank];
    const struct step *step = &a->steps[a->next];
    double there = 0;

    if (a->next == a->n_steps)
        return NEVER;
    if (step->kind == STEP_WAIT)
        there = s->arrivals[(size_t)rank * s->slots + step->slot];
    else if (step->kind == STEP_LOOK)
        there = s->arrivals[(size_t)step->at * s->slots + step->slot];
    if (there == NEVER)
        return NEVER;
    if (step->kind == STEP_LOOK)
        there += s->near.latency_ns;
    return there > a->ready_ns ? there : a->ready_ns;
}

/* Executes the rank's steps from `at` on, until it waits for a message that has not arrived. */
static void go_on(struct simulation *s, unsigned rank, double at)
{
    struct actor *a = &s->actors[rank];
    struct core *core = &s->cores[rank % s->n_cores];

    if (core->used && core->last != rank) {
        at += SWITCH_NS;
        core->busy_ns += SWITCH_NS;
    }
    core->used = true;
    core->last = rank;
    for (a->ready_ns = at; a->next < a->n_steps; a->next++) {
        const struct step *step = &a->steps[a->next];
        double ns = 0;
        if ((step->kind == STEP_WAIT || step->kind == STEP_LOOK) &&
            can_start(s, rank) > a->ready_ns)
            break;
        if (step->kind == STEP_PUT)
            ns = put(s, rank, step);
        else if (step->kind == STEP_WAIT || step->kind == STEP_LOOK)
            ns = RECEIVE * cost_between(s, rank, step->peer)->message_ns + s->line_ns;
        else
            ns = compute(s, rank, step);
        a->ready_ns += ns;
        core->busy_ns += ns;
    }
    core->free_ns = a->ready_ns;
}

/* ------------------------------------------------------------------ all ranks ----------------- */

/* Repeatedly executes steps of the rank that can go on first. Returns the time when the last rank
 * has ended; -1: some rank waits for ever. */
static double run(struct simulation *s)
{
    double end = 0;

    for (;;) {
        double first = NEVER;
        unsigned who = 0;
        bool all = true;
        for (unsigned r = 0; r < s->ranks; r++) {
            const struct core *core = &s->cores[r % s->n_cores];
            double at = can_start(s, r);
            all &= s->actors[r].next == s->actors[r].n_steps;
            if (at < NEVER && core->free_ns > at)
                at = core->free_ns;
            if (at < first) {
                first = at;
                who = r;
            }
        }
        if (first == NEVER) {
            for (unsigned r = 0; r < s->ranks; r++)
                end = s->actors[r].ready_ns > end ? s->actors[r].ready_ns : end;
            return all ? end : -1;
        }
        go_on(s, who, first);
    }
}

static bool prepare(struct simulation *s, const struct algorithm *algorithm, struct shape shape)
{
    struct ncoll_context *ctx = s->g->ctx;
    size_t places = (size_t)s->ranks * s->slots;

    s->actors = ncoll__allocate(ctx, s->ranks * sizeof *s->actors);
    s->cores = ncoll__allocate(ctx, s->n_cores * sizeof *s->cores);
    s->arrivals = ncoll__allocate(ctx, places * sizeof *s->arrivals);
    s->remote = ncoll__allocate(ctx, places * sizeof *s->remote);
    if (s->actors == NULL || s->cores == NULL || s->arrivals == NULL || s->remote == NULL)
        return false;
    for (size_t i = 0; i < places; i++)
        s->arrivals[i] = NEVER;
    for (shape.rank = 0; shape.rank < s->ranks; shape.rank++) {
        struct actor *a = &s->actors[shape.rank];
        if ((a->steps = ncoll__steps(s->g, algorithm, &shape, false, &a->n_steps)) == NULL)
            return false;
    }
    return true;
}

static void clear(struct simulation *s)
{
    struct ncoll_context *ctx = s->g->ctx;

    for (unsigned r = 0; s->actors != NULL && r < s->ranks; r++)
        ncoll__release(ctx, s->actors[r].steps);
    ncoll__release(ctx, s->actors);
    ncoll__release(ctx, s->cores);
    ncoll__release(ctx, s->arrivals);
    ncoll__release(ctx, s->remote);
}

double ncoll__predict(ncoll_group *g, enum collective collective, size_t count, size_t element,
                      const struct choice *choice)
{
    struct call_args args = {.collective = collective,
                             .count = count < choice->segment ? count : choice->segment};
    struct shape shape = ncoll__shape(g, &args, choice->radix, false);
    double ranks_per_core = g->ctx->places.ranks_per_core, ns = -1;
    struct simulation s = {
        .g = g,
        .nodes = shape.nodes,
        .near = ncoll__near_cost(g),
        .far = ncoll__far_cost(g),
        .element = element,
        .show_bytes = g->ctx->transport->peer_reads ? g->ctx->settings.show_bytes : 0,
        .ranks = (unsigned)g->size,
        .slots = choice->algorithm->footprint(&shape).slots + 1,
        .n_cores = (unsigned)((double)g->size / ranks_per_core + 0.999),
    };

    if (s.n_cores == 0) /* the ranks of the group share a core with others */
        s.n_cores = 1;

    if (s.ranks > RANKS_MAX)
        return -1;
    if (s.nodes == NULL)
        s.near = s.far;
    s.line_ns = line_ns(&s.far, ranks_per_core);
    if (prepare(&s, choice->algorithm, shape))
        ns = run(&s);
    /* A segment follows the one before it after the time that the busiest core needs for it, or
     * after the time of a whole segment divided by the number of lanes, if that is longer. */
    double each = ns / choice->lanes;
    for (unsigned i = 0; ns >= 0 && i < s.n_cores; i++)
        each = s.cores[i].busy_ns > each ? s.cores[i].busy_ns : each;
    clear(&s);
    return ns >= 0 ? ns + (double)(choice->segments - 1) * each : -1;
}
