/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers of a plan: the ranks to connect, the number of messages that each may have in flight,
 * and whether they are connected already. Connecting is collective, so all ranks must answer the
 * last question alike. Therefore only connections count that all ranks know of. */
#include <limits.h>
#include <string.h>

#include "lib/plan/compile.h"
#include "lib/plan/plan.h"
#include "lib/base/group.h"

/* Counts messages by the distance of their sender to the right. */
struct census {
    unsigned *messages; /* [size]; 0 for a peer that only receives */
    bool *met;          /* [size] the peer is used */
    /* [size] the messages of the rank that is counted now; all 0 between two ranks */
    unsigned *here;
};

static unsigned distance(const struct shape *shape, unsigned peer)
{
    return (peer + shape->size - shape->rank) % shape->size;
}

/* Adds the peers of one rank to the census. For each distance the largest number of messages on any
 * rank counts. */
static int count_peers(struct ncoll_group *g, const struct algorithm *algorithm,
                       const struct shape *shape, struct census *census)
{
    unsigned n_steps;
    struct step *steps = ncoll__steps(g, algorithm, shape, &n_steps);
    unsigned *here = census->here;

    if (steps == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned i = 0; i < n_steps; i++) {
        const struct step *s = &steps[i];
        if (s->kind != STEP_PUT && s->kind != STEP_WAIT)
            continue;
        unsigned d = distance(shape, s->peer);
        census->met[d] = true;
        if (s->kind == STEP_WAIT && ++here[d] > census->messages[d])
            census->messages[d] = here[d];
    }
    for (unsigned i = 0; i < n_steps; i++)
        if (steps[i].kind == STEP_WAIT)
            here[distance(shape, steps[i].peer)] = 0;
    ncoll__release(g->ctx, steps);
    return NCOLL_OK;
}

/* Ranks of a node look at each other's slots. The rank that is looked at has no step for this, so
 * all ranks of the node count as peers. */
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

/* Finds the peers. They do not depend on counts, so the smallest counts will do. If peers lie at
 * the same distances from each rank (counted from the root), the census takes all ranks, so that
 * the connections serve any root. */
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
    /* if a rank puts to another at distance d, one at distance -d puts to it */
    for (unsigned d = 1; d < shape.size; d++)
        census->met[d] |= census->met[shape.size - d];
    return rc;
}

static int list_peers(struct ncoll_group *g, struct plan *plan, const struct census *census)
{
    unsigned size = (unsigned)g->size, most = 0, n = 0;

    for (unsigned d = 1; d < size; d++)
        n += census->met[d];
    plan->peers = ncoll__allocate(g->ctx, n * sizeof *plan->peers);
    plan->distances = ncoll__allocate(g->ctx, n * sizeof *plan->distances);
    if (plan->peers == NULL || plan->distances == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned d = 1; d < size; d++) {
        if (!census->met[d])
            continue;
        plan->distances[plan->n_peers] = d;
        plan->peers[plan->n_peers++] = ((unsigned)g->rank + d) % size;
        if (!ncoll__credits_reach(g, ((unsigned)g->rank + d) % size))
            return NCOLL_ERR_MEMORY;
        most = census->messages[d] > most ? census->messages[d] : most;
    }
    /* A peer may be this many messages ahead, and gives credits as well. A little more room costs
     * little, and saves connecting the same peers again. */
    plan->depth = EPOCHS * (most > 2 ? most : 2) + EPOCHS;
    return NCOLL_OK;
}

/* Counts the senders of the plan, in the order of their first messages, and lists them if there is
 * a list. known: all false. */
static unsigned find_senders(const struct plan *plan, bool *known, unsigned *list)
{
    unsigned n = 0;

    for (unsigned p = 0; p < plan->n_programs; p++)
        for (unsigned i = 0; i < plan->programs[p].count; i++) {
            const struct instruction *s = &plan->programs[p].instructions[i];
            if (s->kind != STEP_WAIT || known[s->peer])
                continue;
            known[s->peer] = true;
            if (list != NULL)
                list[n] = s->peer;
            n++;
        }
    return n;
}

static int list_senders(struct ncoll_group *g, struct plan *plan)
{
    size_t bytes = (size_t)g->size * sizeof(bool);
    bool *known = ncoll__allocate(g->ctx, bytes);

    if (known == NULL)
        return NCOLL_ERR_MEMORY;
    plan->n_senders = find_senders(plan, known, NULL);
    plan->senders = ncoll__allocate(g->ctx, plan->n_senders * sizeof *plan->senders);
    memset(known, 0, bytes);
    if (plan->senders != NULL)
        find_senders(plan, known, plan->senders);
    ncoll__release(g->ctx, known);
    return plan->senders != NULL ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

int ncoll__find_peers(struct ncoll_group *g, struct plan *plan)
{
    size_t size = (size_t)g->size;
    struct census census = {.messages = ncoll__allocate(g->ctx, size * sizeof *census.messages),
                            .met = ncoll__allocate(g->ctx, size * sizeof *census.met),
                            .here = ncoll__allocate(g->ctx, size * sizeof *census.here)};
    int rc = NCOLL_ERR_MEMORY;

    if (census.messages != NULL && census.met != NULL && census.here != NULL &&
        (rc = take_census(g, plan, &census)) == NCOLL_OK &&
        (rc = list_peers(g, plan, &census)) == NCOLL_OK)
        rc = list_senders(g, plan);
    ncoll__release(g->ctx, census.messages);
    ncoll__release(g->ctx, census.met);
    ncoll__release(g->ctx, census.here);
    return rc;
}

/* ------------------------------------------------------------------ what is connected --------- */

static bool is_power_of_two(unsigned number)
{
    return (number & (number - 1)) == 0;
}

/* Returns the messages for which there is room of the peer at this distance. *from is the first of
 * the group's distances to look at; it moves on. */
static unsigned room_at(const struct ncoll_group *g, unsigned distance, unsigned *from)
{
    bool base = is_power_of_two(distance) || is_power_of_two((unsigned)g->size - distance);
    unsigned room = base ? BASE_DEPTH : 0;

    while (*from < g->n_wired_distances && g->wired_distances[*from].distance < distance)
        ++*from;
    if (*from == g->n_wired_distances || g->wired_distances[*from].distance != distance)
        return room;
    return g->wired_distances[*from].room > room ? g->wired_distances[*from].room : room;
}

static struct wired key_of(const struct plan *plan)
{
    return (struct wired){plan->algorithm, plan->key.collective, plan->radix, plan->key.root};
}

static bool by_distance(const struct plan *plan)
{
    return (plan->algorithm->properties & (SAME_DISTANCES | ROTATES)) != 0;
}

const unsigned *ncoll__peers_by_distance(const struct plan *plan)
{
    return by_distance(plan) ? plan->distances : NULL;
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
    for (unsigned i = 0, from = 0; i < plan->n_peers; i++)
        if (room_at(g, plan->distances[i], &from) < plan->depth)
            return false;
    return true;
}

/* Adds the distances of the plan to those of the group. */
static int note_distances(struct ncoll_group *g, const struct plan *plan)
{
    unsigned n_old = g->n_wired_distances, n = 0;
    const struct wired_distance *old = g->wired_distances;
    struct wired_distance *both =
        ncoll__allocate(g->ctx, ((size_t)n_old + plan->n_peers) * sizeof *both);

    if (both == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for connections");
    for (unsigned i = 0, k = 0; i < n_old || k < plan->n_peers;) {
        struct wired_distance next = {.distance = UINT_MAX};
        if (i < n_old)
            next = old[i];
        if (k < plan->n_peers && plan->distances[k] < next.distance)
            next = (struct wired_distance){plan->distances[k], plan->depth};
        else if (k < plan->n_peers && plan->distances[k] == next.distance &&
                 plan->depth > next.room)
            next.room = plan->depth;
        i += i < n_old && old[i].distance == next.distance;
        k += k < plan->n_peers && plan->distances[k] == next.distance;
        both[n++] = next;
    }
    ncoll__release(g->ctx, g->wired_distances);
    g->wired_distances = both;
    g->n_wired_distances = n;
    return NCOLL_OK;
}

int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan)
{
    if (by_distance(plan))
        return note_distances(g, plan);
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
