/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes how long rounds take by the LogGP model that is used to choose algorithms. A rank sends
 * one message after the other. Each takes it o + G for each byte, arrives L later, and takes the
 * receiver o/2. Messages within a node may have costs of their own. Two things are left out: the
 * time of computation, and ranks that share cores. The library's own prediction for a call
 * (ncoll-info --choices) includes both.
 */
#include <stdio.h>
#include <string.h>

#include "tools/explain/explain.h"
#include "tools/explain/walk.h"

#define RECEIVE 0.5 /* part of o that the receiver spends */

struct clock {
    double ns;
    double *arrivals; /* by slot; < 0: no message has arrived */
};

struct timing {
    const struct costs *costs;
    struct clock *clocks; /* clocks of all ranks */
    double *ends;         /* by round: the time when the last rank ends it */
    unsigned rounds;
    double element; /* bytes */
};

static const struct transport_cost *cost_between(const struct timing *t, const struct walker *w,
                                                 unsigned peer)
{
    const struct nodes *nodes = w->g.nodes;
    bool near = nodes != NULL && nodes->of[w->g.rank] == nodes->of[peer];

    return near ? &t->costs->near : &t->costs->far;
}

static void put(void *arg, const struct walker *w, const struct step *s)
{
    struct timing *t = arg;
    struct clock *c = &t->clocks[w->g.rank];
    const struct transport_cost *cost = cost_between(t, w, s->peer);

    c->ns += cost->message_ns + (double)s->count * t->element * cost->byte_ns;
    t->clocks[s->peer].arrivals[s->slot] = c->ns + cost->latency_ns;
}

static bool receive(void *arg, const struct walker *w, const struct step *s)
{
    struct timing *t = arg;
    struct clock *c = &t->clocks[w->g.rank];
    bool look = s->kind == STEP_LOOK;
    double there = t->clocks[look ? s->at : w->g.rank].arrivals[s->slot];

    if (there < 0)
        return false;
    there += look ? cost_between(t, w, s->at)->latency_ns : 0;
    c->ns = there > c->ns ? there : c->ns;
    c->ns += RECEIVE * cost_between(t, w, s->peer)->message_ns;
    return true;
}

static void end_round(void *arg, const struct walker *w)
{
    struct timing *t = arg;
    double ns = t->clocks[w->g.rank].ns;

    if (w->round > t->rounds) {
        double *more = allocate(w->round, sizeof *more);
        if (t->rounds > 0)
            memcpy(more, t->ends, t->rounds * sizeof *more);
        t->ends = more;
        t->rounds = w->round;
    }
    double *end = &t->ends[w->round - 1];
    *end = ns > *end ? ns : *end;
}

void explain_costs(const struct algorithm *a, const struct shape *g, const struct costs *costs)
{
    static const struct walk timed = {.put = put, .receive = receive, .end_round = end_round};
    struct timing t = {.costs = costs, .clocks = allocate(g->size, sizeof *t.clocks)};
    struct shape own = *g;
    double before = 0;

    t.element = g->count > 0 ? (double)costs->bytes / (double)g->count : 0;
    for (own.rank = 0; own.rank < g->size; own.rank++) {
        unsigned slots = a->footprint(&own).slots;
        double *arrivals = allocate(slots + 1, sizeof *arrivals);
        for (unsigned i = 0; i <= slots; i++)
            arrivals[i] = -1;
        t.clocks[own.rank].arrivals = arrivals;
    }
    walk(a, g, &timed, &t);
    if (g->count > 0)
        printf("us, of %zu bytes:\n", costs->bytes);
    else
        printf("us:\n");
    for (unsigned r = 0; r < t.rounds; r++) {
        /* A rank may end a round while others are still in the one before. */
        double end = t.ends[r] > before ? t.ends[r] : before;
        printf("round %u: %.3f, ends at %.3f\n", r + 1, (end - before) / 1e3, end / 1e3);
        before = end;
    }
}
