/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers of a plan: the ranks to connect, the number of messages that each may have in flight,
 * and whether they are connected already. Connecting is collective, so all ranks must agree that it
 * is needed. Therefore only connections that all ranks know of count as connected. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/plan/compile.h"
#include "lib/plan/plan.h"

/* A peer, whose rank is higher by `distance` modulo the group's size, and the number of messages
 * that it sends to this rank; 0: it only receives. */
struct meeting {
    unsigned distance, messages;
};

/* All peers, each of them once, by ascending distance. */
struct census {
    struct meeting *met;
    unsigned count;
};

static unsigned distance(const struct shape *shape, unsigned peer)
{
    return (peer + shape->size - shape->rank) % shape->size;
}

static int by_distance_first(const void *left, const void *right)
{
    const struct meeting *a = left, *b = right;

    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

/* Sorts the entries, and merges those of the same peer into one with the sum of their messages.
 * Returns the number of peers. */
static unsigned sum_up(struct meeting *met, unsigned count)
{
    unsigned n = 0;

    qsort(met, count, sizeof *met, by_distance_first);
    for (unsigned i = 0; i < count; i++)
        if (n > 0 && met[n - 1].distance == met[i].distance)
            met[n - 1].messages += met[i].messages;
        else
            met[n++] = met[i];
    return n;
}

/* Adds the peers of one rank to the census. For each distance the census has the largest number of
 * messages on any of the ranks that were added to it. */
static int join(struct ncoll_group *g, struct census *census, const struct meeting *met,
                unsigned count)
{
    struct meeting *both =
        ncoll__allocate(g->ctx, ((size_t)census->count + count + 1) * sizeof *both);
    unsigned n = 0;

    if (both == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned i = 0, k = 0; i < census->count || k < count;) {
        unsigned old = i < census->count ? census->met[i].distance : UINT_MAX;
        unsigned new = k < count ? met[k].distance : UINT_MAX;
        struct meeting next = old <= new ? census->met[i] : met[k];
        if (old == new &&met[k].messages > next.messages)
            next.messages = met[k].messages;
        i += old <= new;
        k += new <= old;
        both[n++] = next;
    }
    ncoll__release(g->ctx, census->met);
    *census = (struct census){both, n};
    return NCOLL_OK;
}

/* True if the census has all of these peers, with at least as many messages. */
static bool has_all(const struct census *census, const struct meeting *met, unsigned count)
{
    unsigned i = 0, k = 0;

    for (; k < count; k++) {
        while (i < census->count && census->met[i].distance < met[k].distance)
            i++;
        if (i == census->count || census->met[i].distance != met[k].distance ||
            census->met[i].messages < met[k].messages)
            return false;
    }
    return true;
}

/* Adds the peers of one rank to the census. */
static int count_peers(struct ncoll_group *g, const struct algorithm *algorithm,
                       const struct shape *shape, struct census *census)
{
    unsigned n_steps, n = 0;
    struct step *steps = ncoll__steps(g, algorithm, shape, true, &n_steps);
    struct meeting *met = ncoll__allocate(g->ctx, ((size_t)n_steps + 1) * sizeof *met);
    int rc = steps != NULL && met != NULL ? NCOLL_OK : NCOLL_ERR_MEMORY;

    for (unsigned i = 0; rc == NCOLL_OK && i < n_steps; i++)
        if (steps[i].kind == STEP_PUT || steps[i].kind == STEP_WAIT)
            met[n++] = (struct meeting){distance(shape, steps[i].peer), steps[i].kind == STEP_WAIT};
    ncoll__release(g->ctx, steps);
    if (rc == NCOLL_OK) {
        n = sum_up(met, n);
        rc = has_all(census, met, n) ? NCOLL_OK : join(g, census, met, n);
    }
    ncoll__release(g->ctx, met);
    return rc;
}

/* Adds the other ranks of the node to the census if neighbours look at each other's slots: a rank
 * has no step that says who looks at its slots, so all of them count as peers. */
static int count_neighbours(struct ncoll_group *g, const struct algorithm *algorithm,
                            const struct shape *shape, struct census *census)
{
    const struct nodes *nodes = shape->nodes;
    unsigned node, n = 0;

    if (!(algorithm->properties & SHARES))
        return NCOLL_OK;
    node = node_of(nodes, shape->rank);
    struct meeting *met = ncoll__allocate(g->ctx, ranks_on(nodes, node) * sizeof *met);
    if (met == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned l = 0; l < ranks_on(nodes, node); l++)
        if (rank_on(nodes, node, l) != shape->rank)
            met[n++].distance = distance(shape, rank_on(nodes, node, l));
    int rc = join(g, census, met, sum_up(met, n));
    ncoll__release(g->ctx, met);
    return rc;
}

/* Adds to the census the distance -d for each distance d: if each rank puts to the one at distance
 * d, it gets puts from the one at distance -d. */
static int count_opposite(struct ncoll_group *g, struct census *census)
{
    struct meeting *met = ncoll__allocate(g->ctx, ((size_t)census->count + 1) * sizeof *met);

    if (met == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned i = 0; i < census->count; i++)
        met[i].distance = (unsigned)g->size - census->met[i].distance;
    int rc = join(g, census, met, sum_up(met, census->count));
    ncoll__release(g->ctx, met);
    return rc;
}

/* True if peers lie at the same distances from all ranks, counted from the root. This does not hold
 * for a call with a list of ranks: their peers may be anywhere. */
static bool rotates(const struct plan *plan)
{
    return plan->algorithm->properties & ROTATES && plan->key.rank_at == NULL;
}

/* Finds the peers. They do not depend on counts, so the smallest counts will do. If peers rotate
 * with the root, the census takes the peers of all ranks, so that the connections serve any root.
 * It takes those of the root alone if no rank has peers at other distances (ROOT_HAS_ALL). */
static int take_census(struct ncoll_group *g, const struct plan *plan, struct census *census)
{
    const struct algorithm *algorithm = plan->algorithm;
    struct call_args args = {
        .collective = plan->key.collective,
        .count = plan->key.collective == COLL_BARRIER ? 0 : 1,
        .root = plan->key.root,
        .places = plan->key.places,
        .rank_at = plan->key.rank_at,
    };
    struct shape shape = ncoll__shape(g, &args, plan->radix, plan->op.inverse != NULL);
    int rc = count_neighbours(g, algorithm, &shape, census);

    if (rc != NCOLL_OK)
        return rc;
    if (!rotates(plan))
        return count_peers(g, algorithm, &shape, census);
    unsigned ranks = algorithm->properties & ROOT_HAS_ALL ? 1 : shape.size;
    shape.root = 0;
    for (shape.rank = 0; shape.rank < ranks && rc == NCOLL_OK; shape.rank++)
        rc = count_peers(g, algorithm, &shape, census);
    return rc == NCOLL_OK ? count_opposite(g, census) : rc;
}

/* Returns an upper bound for the messages of one run to one rank; UINT_MAX: the call is not done in
 * parts, and no bound is known. */
static unsigned slots_of_run(const struct ncoll_group *g, const struct plan *plan)
{
    struct call_args args = {.collective = plan->key.collective};
    struct shape shape = ncoll__shape(g, &args, plan->radix, plan->op.inverse != NULL);

    shape.parts = plan->parts;
    return plan->parts > 1 ? turns_of_part(&shape, plan->algorithm->turns(&shape)) : UINT_MAX;
}

static int list_peers(struct ncoll_group *g, struct plan *plan, const struct census *census)
{
    unsigned size = (unsigned)g->size, most = 0, slots = slots_of_run(g, plan);

    plan->peers = ncoll__allocate(g->ctx, (census->count + 1) * sizeof *plan->peers);
    plan->distances = ncoll__allocate(g->ctx, (census->count + 1) * sizeof *plan->distances);
    if (plan->peers == NULL || plan->distances == NULL)
        return NCOLL_ERR_MEMORY;
    for (unsigned i = 0; i < census->count; i++) {
        const struct meeting *met = &census->met[i];
        plan->distances[plan->n_peers] = met->distance;
        plan->peers[plan->n_peers++] = ((unsigned)g->rank + met->distance) % size;
        if (!ncoll__credits_reach(g, plan->peers[plan->n_peers - 1]))
            return NCOLL_ERR_MEMORY;
        most = met->messages > most ? met->messages : most;
    }
    most = most < slots ? most : slots;
    /* A peer may be EPOCHS runs ahead. In each run it sends its messages and a credit. Room for at
     * least two messages costs little, and saves connecting the same peers again. */
    plan->depth = EPOCHS * (most > 2 ? most : 2) + EPOCHS;
    return NCOLL_OK;
}

/* Returns the number of the plan's senders, and lists them in the order of their first messages,
 * unless `list` is NULL. known: [size of the group], all false at first. */
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
    struct census census = {0};
    int rc = take_census(g, plan, &census);

    if (rc == NCOLL_OK)
        rc = list_peers(g, plan, &census);
    if (rc == NCOLL_OK)
        rc = list_senders(g, plan);
    ncoll__release(g->ctx, census.met);
    return rc;
}

/* ------------------------------------------------------------------ connected peers ----------- */

static bool is_power_of_two(unsigned number)
{
    return (number & (number - 1)) == 0;
}

/* Returns how many messages from the peer at this distance there is room for; 0: it is not
 * connected. *from: the index in g->wired_distances to search from, which is then set to that of
 * this distance. */
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
    const struct call_args *key = &plan->key;
    uint64_t listed =
        key->rank_at != NULL ? ncoll__signature_hash(key->rank_at, key->places) | 1 : 0;

    return (struct wired){plan->algorithm, key->collective, plan->radix, key->root, listed};
}

static bool by_distance(const struct plan *plan)
{
    return (plan->algorithm->properties & SAME_DISTANCES) != 0 || rotates(plan);
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
            w->radix == key.radix && w->root == key.root && w->listed == key.listed)
            return true;
    }
    if (!by_distance(plan))
        return false;
    for (unsigned i = 0, from = 0; i < plan->n_peers; i++)
        if (room_at(g, plan->distances[i], &from) < plan->depth)
            return false;
    return true;
}

/* Adds the distances of the plan, with room for plan->depth messages, to the connected ones of the
 * group. */
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

/* Each call may have another list of ranks. The group remembers that peers are connected for the
 * latest LISTED_MOST lists only, the same ones on all ranks. The peers for other lists are
 * connected once more, which does no harm. */
#define LISTED_MOST 64u

static void forget_listed(struct ncoll_group *g)
{
    unsigned listed = 0, oldest = g->n_wired;

    for (unsigned i = g->n_wired; i-- > 0;)
        if (g->wired[i].listed != 0) {
            listed++;
            oldest = i;
        }
    if (listed < LISTED_MOST)
        return;
    g->n_wired--;
    memmove(g->wired + oldest, g->wired + oldest + 1, (g->n_wired - oldest) * sizeof *g->wired);
}

int ncoll__peers_now_wired(struct ncoll_group *g, const struct plan *plan)
{
    if (by_distance(plan))
        return note_distances(g, plan);
    forget_listed(g);
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
