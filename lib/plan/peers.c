/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom a plan needs: the ranks to connect, how many messages each may have in flight, and whether
 * they are connected already. All ranks must come to the same answer to the last question, since
 * connecting is collective; so only connections count that all ranks have alike.
 */
#include <string.h>

#include "lib/plan/compile.h"
#include "lib/internal.h"

/* Messages from each peer, by distance to the right. */
struct census {
    unsigned *messages; /* [size]; of a peer that is only put to: 0 */
    bool *met;          /* [size] */
};

static unsigned distance(const struct shape *shape, unsigned peer)
{
    return (peer + shape->size - shape->rank) % shape->size;
}

/* Counts in the peers of one rank. A peer counts with the most messages that any rank gets from
 * that distance. */
static int count_peers(struct ncoll_group *g, const struct algorithm *algorithm,
                       const struct shape *shape, struct census *census)
{
    unsigned n_steps;
    struct step *steps = ncoll__steps(g, algorithm, shape, &n_steps);
    unsigned *here = ncoll__allocate(g->ctx, shape->size * sizeof *here);

    for (unsigned i = 0; steps != NULL && here != NULL && i < n_steps; i++) {
        const struct step *s = &steps[i];
        if (s->kind != STEP_PUT && s->kind != STEP_WAIT)
            continue;
        unsigned d = distance(shape, s->peer);
        census->met[d] = true;
        if (s->kind == STEP_WAIT && ++here[d] > census->messages[d])
            census->messages[d] = here[d];
    }
    bool ok = steps != NULL && here != NULL;
    ncoll__release(g->ctx, here);
    ncoll__release(g->ctx, steps);
    return ok ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

/* Ranks of a node look at each other's slots, and who is looked at does not see that in its own
 * steps: they are all connected. */
static void count_neighbours(const struct algorithm *algorithm, const struct shape *shape,
                             struct census *census)
{
    const struct nodes *nodes = shape->nodes;
    unsigned node;

    if (!(algorithm->properties & SHARES))
        return;
    node = nodes->of[shape->rank];
    for (unsigned l = 0; l < ranks_on(nodes, node); l++)
        census->met[distance(shape, rank_on(nodes, node, l))] = true;
}

/* Peers do not depend on counts, so the smallest ones will do. If they lie at the same distances
 * from each rank once that is counted from the root, whoever may be root next has them all. */
static int take_census(struct ncoll_group *g, const struct plan *plan, struct census *census)
{
    const struct algorithm *algorithm = plan->algorithm;
    struct call_args args = {
        .collective = plan->key.collective,
        .count = plan->key.collective == COLL_BARRIER ? 0 : 1,
        .root = plan->key.root,
    };
    struct shape shape = ncoll__shape(g, &args, plan->radix, plan->op.inverse != NULL);
    int rc = NCOLL_OK;

    count_neighbours(algorithm, &shape, census);
    if (!(algorithm->properties & ROTATES))
        return count_peers(g, algorithm, &shape, census);
    shape.root = 0;
    for (shape.rank = 0; shape.rank < shape.size && rc == NCOLL_OK; shape.rank++)
        rc = count_peers(g, algorithm, &shape, census);
    for (unsigned d = 1; d < shape.size; d++) /* who puts to others is put to by others */
        census->met[d] |= census->met[shape.size - d];
    return rc;
}

static int list_peers(struct ncoll_group *g, struct plan *plan, const struct census *census)
{
    unsigned size = (unsigned)g->size, most = 0;

    plan->peers = ncoll__allocate(g->ctx, size * sizeof *plan->peers);
    plan->distances = ncoll__allocate(g->ctx, size * sizeof *plan->distances);
    if (plan->peers == NULL || plan->distances == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned d = 1; d < size; d++) {
        if (!census->met[d])
            continue;
        plan->distances[plan->n_peers] = d;
        plan->peers[plan->n_peers++] = ((unsigned)g->rank + d) % size;
        most = census->messages[d] > most ? census->messages[d] : most;
    }
    /* A peer may be so far ahead, and gives credits besides. A little more room costs little, and
     * saves connecting the same peers again. */
    plan->depth = EPOCHS * (most > 2 ? most : 2) + EPOCHS;
    return NCOLL_OK;
}

static int list_senders(struct ncoll_group *g, struct plan *plan)
{
    bool *known = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *known);

    plan->senders = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *plan->senders);
    for (unsigned p = 0; known != NULL && plan->senders != NULL && p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            const struct instruction *s = &plan->programs[p].instructions[i];
            if (s->kind != STEP_WAIT || known[s->peer])
                continue;
            known[s->peer] = true;
            plan->senders[plan->n_senders++] = s->peer;
        }
    bool ok = known != NULL && plan->senders != NULL;
    ncoll__release(g->ctx, known);
    return ok ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

int ncoll__find_peers(struct ncoll_group *g, struct plan *plan)
{
    size_t size = (size_t)g->size;
    struct census census = {.messages = ncoll__allocate(g->ctx, size * sizeof *census.messages),
                            .met = ncoll__allocate(g->ctx, size * sizeof *census.met)};
    int rc = NCOLL_ERR_MEMORY;

    if (census.messages != NULL && census.met != NULL &&
        (rc = take_census(g, plan, &census)) == NCOLL_OK &&
        (rc = list_peers(g, plan, &census)) == NCOLL_OK)
        rc = list_senders(g, plan);
    ncoll__release(g->ctx, census.messages);
    ncoll__release(g->ctx, census.met);
    return rc;
}

/* ------------------------------------------------------------------ what is connected --------- */

static unsigned *near(const struct ncoll_group *g, const struct plan *plan, unsigned i)
{
    return &g->near[plan->distances[i]];
}

static struct wired key_of(const struct plan *plan)
{
    return (struct wired){plan->algorithm, plan->key.collective, plan->radix, plan->key.root};
}

static bool by_distance(const struct plan *plan)
{
    return (plan->algorithm->properties & (SAME_DISTANCES | ROTATES)) != 0;
}

bool ncoll__peers_wired(const struct ncoll_group *g, const struct plan *plan)
{
    struct wired key = key_of(plan);

    if (g->size == 1)
        return true;
    for (unsigned i = 0; i < g->n_wired; i++) {
        const struct wired *w = &g->wired[i];
        if (w->algorithm == key.algorithm && w->collective == key.collective &&
            w->radix == key.radix && w->root == key.root)
            return true;
    }
    if (!by_distance(plan))
        return false;
    for (unsigned i = 0; i < plan->n_peers; i++)
        if (*near(g, plan, i) < plan->depth)
            return false;
    return true;
}

int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan)
{
    if (by_distance(plan)) {
        for (unsigned i = 0; i < plan->n_peers; i++)
            if (*near(g, plan, i) < plan->depth)
                *near(g, plan, i) = plan->depth;
        return NCOLL_OK;
    }
    struct wired *grown = ncoll__allocate(g->ctx, (g->n_wired + 1) * sizeof *grown);
    if (grown == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for connections");
    if (g->n_wired > 0)
        memcpy(grown, g->wired, g->n_wired * sizeof *grown);
    ncoll__release(g->ctx, g->wired);
    g->wired = grown;
    g->wired[g->n_wired++] = key_of(plan);
    return NCOLL_OK;
}
