/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long rounds take, by what messages cost in the choice of algorithms (LogGP): a rank sends one
 * message after the other, each in o + G bytes; it is there L later, and takes its receiver o/2.
 * Ranks of a node may have costs of their own. What ranks compute, and that they may share cores,
 * is left out: the library's own prediction for a call (ncoll-info --choices) has both.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tools/explain/explain.h"
#include "tools/explain/memory.h"

#define RECEIVE 0.5 /* of o */

struct clock {
    struct shape g;
    struct round steps;
    unsigned next, round;
    bool ended;
    double ns;
    double *arrivals; /* by slot; < 0: nothing is there */
};

struct timing {
    const struct algorithm *algorithm;
    const struct costs *costs;
    struct clock *clocks;
    double *ends; /* by round: when the last rank has ended it */
    unsigned rounds;
    double element; /* bytes */
};

static const struct transport_cost *cost_between(const struct timing *t, const struct clock *c,
                                                 unsigned peer)
{
    const struct nodes *nodes = c->g.nodes;
    bool near = nodes != NULL && nodes->of[c->g.rank] == nodes->of[peer];

    return near ? &t->costs->near : &t->costs->far;
}

static void put(struct timing *t, struct clock *c, const struct step *s)
{
    const struct transport_cost *cost = cost_between(t, c, s->peer);

    c->ns += cost->message_ns + (double)s->count * t->element * cost->byte_ns;
    t->clocks[s->peer].arrivals[s->slot] = c->ns + cost->latency_ns;
}

/* False: nothing has come yet. */
static bool receive(const struct timing *t, struct clock *c, const struct step *s)
{
    bool look = s->kind == STEP_LOOK;
    double there = t->clocks[look ? s->at : c->g.rank].arrivals[s->slot];

    if (there < 0)
        return false;
    there += look ? cost_between(t, c, s->at)->latency_ns : 0;
    c->ns = there > c->ns ? there : c->ns;
    c->ns += RECEIVE * cost_between(t, c, s->peer)->message_ns;
    return true;
}

static void next_round(struct timing *t, struct clock *c)
{
    free(c->steps.steps);
    c->next = 0;
    c->ended = !write_round(t->algorithm, &c->g, c->round, &c->steps);
    if (c->ended)
        return;
    c->round++;
}

static void end_round(struct timing *t, struct clock *c)
{
    if (c->round > t->rounds) {
        t->ends = or_die(realloc(t->ends, c->round * sizeof *t->ends));
        t->ends[c->round - 1] = 0;
        t->rounds = c->round;
    }
    double *end = &t->ends[c->round - 1];
    *end = c->ns > *end ? c->ns : *end;
    next_round(t, c);
}

/* False if the rank could do nothing. */
static bool advance(struct timing *t, struct clock *c)
{
    bool moved = false;

    for (; !c->ended; moved = true) {
        if (c->next == c->steps.count) {
            end_round(t, c);
            continue;
        }
        const struct step *s = &c->steps.steps[c->next];
        if (s->kind == STEP_PUT)
            put(t, c, s);
        else if ((s->kind == STEP_WAIT || s->kind == STEP_LOOK) && !receive(t, c, s))
            return moved;
        c->next++;
    }
    return moved;
}

static void start(struct timing *t, struct clock *c, const struct shape *g, unsigned rank)
{
    unsigned slots = t->algorithm->footprint(g).slots;

    c->g = *g;
    c->g.rank = rank;
    c->arrivals = allocate(slots + 1, sizeof *c->arrivals);
    for (unsigned i = 0; i <= slots; i++)
        c->arrivals[i] = -1;
    next_round(t, c);
}

void explain_costs(const struct algorithm *a, const struct shape *g, const struct costs *costs)
{
    struct timing t = {.algorithm = a, .costs = costs};
    double before = 0;

    t.element = g->count > 0 ? (double)costs->bytes / (double)g->count : 0;
    t.clocks = allocate(g->size, sizeof *t.clocks);
    for (unsigned p = 0; p < g->size; p++)
        start(&t, &t.clocks[p], g, p);
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned p = 0; p < g->size; p++)
            moved |= advance(&t, &t.clocks[p]);
    }
    if (g->count > 0)
        printf("us, of %zu bytes:\n", costs->bytes);
    else
        printf("us:\n");
    for (unsigned r = 0; r < t.rounds; r++) {
        /* A rank may be through with a round when others are still in the one before. */
        double end = t.ends[r] > before ? t.ends[r] : before;
        printf("round %u: %.3f, ends at %.3f\n", r + 1, (end - before) / 1e3, end / 1e3);
        before = end;
    }
    for (unsigned p = 0; p < g->size; p++)
        free(t.clocks[p].steps.steps);
    free(t.ends);
    forget_all();
}
