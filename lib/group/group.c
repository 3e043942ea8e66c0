/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups as objects: handles, windows, the world. How groups are made of others is in creation.c.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/group/creation.h"
#include "lib/group/levels.h"
#include "lib/memory/memory.h"

#define SLOTS_MIN       128u /* of the world */
#define GROUP_SLOTS_MIN 64u
#define WORD            sizeof(int64_t)
/* Handles that have been freed are not used again before so many others have been. */
#define SPARE_GROUPS 64u

/* ------------------------------------------------------------------ handles ------------------- */

/* Slots for the schedules that use the most: a message or two from everybody. */
static unsigned slots_for(int ranks, unsigned least)
{
    unsigned wish = 2 * (unsigned)ranks;
    return wish < least ? least : wish > SLOTS_MAX ? SLOTS_MAX : wish;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* What is written in one epoch: as much as the user wants, and what the exchange of offers takes,
 * which cannot be cut. */
static void set_parts(struct window_shape *shape, size_t bytes)
{
    struct call_args args =
        ncoll__base_call(COLL_ALLTOALL, NULL, NULL, OFFER_WORDS, (struct card){0});
    struct shape exchange = {.collective = args.collective,
                             .size = shape->ranks,
                             .radix = args.radix,
                             .count = args.count};
    struct footprint f = args.algorithm->footprint(&exchange);
    size_t bulk = f.slots * round_up(f.message * WORD),
           scratch = round_up((f.scratch + f.sent) * WORD);

    shape->bulk_bytes = shape->scratch_bytes = bytes / EPOCHS / 64 * 64;
    shape->bulk_bytes = shape->bulk_bytes < bulk ? bulk : shape->bulk_bytes;
    shape->scratch_bytes = shape->scratch_bytes < scratch ? scratch : shape->scratch_bytes;
}

/* A handle: a new one, or the one that has been spare for longest. */
static struct ncoll_group *take_handle(struct ncoll_context *ctx)
{
    struct ncoll_group *g = ctx->spare;

    if (ctx->n_spare < SPARE_GROUPS)
        return ncoll__allocate(ctx, sizeof *g);
    ctx->spare = g->next;
    ctx->n_spare--;
    memset(g, 0, sizeof *g);
    return g;
}

static void keep_handle(struct ncoll_context *ctx, struct ncoll_group *g)
{
    struct ncoll_group **link = &ctx->spare;

    while (*link != NULL)
        link = &(*link)->next;
    g->next = NULL;
    *link = g;
    ctx->n_spare++;
}

static int free_id(struct ncoll_context *ctx, unsigned *id)
{
    for (*id = 0; *id < WINDOWS_MAX; ++*id)
        if (!ctx->id_used[*id])
            return NCOLL_OK;
    return ncoll__fail(ctx, NCOLL_ERR_RESOURCE, -1, "free groups that are not needed",
                       "this rank is in %u groups already", WINDOWS_MAX);
}

/* A node for each rank, over again; what tests may pretend. */
static uint64_t pretended_node(const char *list, unsigned rank)
{
    const char *at = list;

    while (rank-- > 0) {
        at += strcspn(at, ",");
        at = *at == ',' ? at + 1 : list;
    }
    return strtoull(at, NULL, 10);
}

/* Whether ranks of a node are so in fact, whatever is pretended. */
static bool have_real_nodes(const struct ncoll_group *g)
{
    const struct ncoll_context *ctx = g->ctx;
    const struct nodes *nodes = &g->nodes;

    for (unsigned r = 0; r < (unsigned)g->size; r++) {
        unsigned first = rank_on(nodes, nodes->of[r], 0);
        if (ctx->peers[ncoll__world_rank(g, r)].node !=
            ctx->peers[ncoll__world_rank(g, first)].node)
            return false;
    }
    return true;
}

/* Where all share a node: domains of the machine in place of nodes, over memory alone. Ranks that
 * share cores wait for these more than for messages: only if asked for. False: no memory. */
static bool find_level(struct ncoll_group *g, uint64_t *ids)
{
    struct ncoll_context *ctx = g->ctx;
    const struct transport *t = ctx->transport;
    unsigned size = (unsigned)g->size;
    uint32_t(*domains)[NODE_LEVELS];

    bool asked = ctx->settings.level != NCOLL_LEVEL_AUTO;
    if (g->nodes.count != 1 || size < 3 || ctx->settings.nodes != NULL || !t->shares_windows ||
        t->near_cost.latency_ns > 0 || (!asked && ctx->places.ranks_per_core > 1))
        return true;
    domains = ncoll__allocate(ctx, size * sizeof *domains);
    unsigned *room = ncoll__allocate(ctx, NODES_ROOM(size) * sizeof *room);
    for (unsigned r = 0; domains != NULL && r < size; r++)
        memcpy(domains[r], ctx->peers[ncoll__world_rank(g, r)].domains, sizeof domains[r]);
    bool ok = domains != NULL && room != NULL;
    if (ok)
        g->level = ncoll__take_level((const uint32_t(*)[NODE_LEVELS])domains, size,
                                     (int)ctx->settings.level, ids, room, &g->nodes);
    ncoll__release(ctx, domains);
    if (g->level == NO_LEVEL) {
        ncoll__release(ctx, room);
        return ok;
    }
    ncoll__release(ctx, g->nodes_at);
    g->nodes_at = room;
    ncoll__log(ctx, NCOLL_LOG_DEBUG, "%d ranks on %u domains of level %s", g->size, g->nodes.count,
               ncoll__level_name(g->level));
    return true;
}

/* False: no memory. */
static bool find_nodes(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    const char *pretended = ctx->settings.nodes;
    unsigned size = (unsigned)g->size;
    uint64_t *ids = ncoll__allocate(ctx, size * sizeof *ids);
    bool ok = false;

    g->level = NO_LEVEL;
    g->nodes_at = ncoll__allocate(ctx, NODES_ROOM(size) * sizeof *g->nodes_at);
    for (unsigned r = 0; ids != NULL && r < size; r++) {
        int world = ncoll__world_rank(g, r);
        ids[r] =
            pretended != NULL ? pretended_node(pretended, (unsigned)world) : ctx->peers[world].node;
    }
    if (ids != NULL && g->nodes_at != NULL) {
        ncoll__nodes_of(ids, size, g->nodes_at, &g->nodes);
        ok = find_level(g, ids);
        g->nodes.shared = ctx->transport->shares_windows && have_real_nodes(g);
    }
    ncoll__release(ctx, ids);
    return ok;
}

static void unlink_group(struct ncoll_context *ctx, struct ncoll_group *g)
{
    struct ncoll_group **link = &ctx->groups;

    while (*link != NULL && *link != g)
        link = &(*link)->next;
    if (*link == g)
        *link = g->next;
    for (link = &ctx->busy; *link != NULL && *link != g;)
        link = &(*link)->next_busy;
    if (*link == g)
        *link = g->next_busy;
}

void ncoll__group_free(struct ncoll_group *g, bool quiet)
{
    struct ncoll_context *ctx = g->ctx;

    ncoll__calls_free(g);
    if (g->creating != NULL)
        ncoll__creation_free(ctx, g->creating);
    ncoll__plans_free(g);
    ncoll__wiring_free(g);
    unlink_group(ctx, g);
    if (g->window != NULL) {
        ctx->id_used[g->window->shape.id] = false;
        ctx->transport->ops->window_destroy(ctx->transport, g->window, quiet);
    }
    ncoll__release(ctx, g->members);
    ncoll__release(ctx, g->nodes_at);
    ncoll__release(ctx, g->wired);
    ncoll__release(ctx, g->near);
    ncoll__release(ctx, g->credits.told);
    ncoll__release(ctx, g->credits.heard);
    ncoll__shown_free(g);
    g->magic = 0;
    keep_handle(ctx, g);
}

int ncoll__group_make(struct ncoll_context *ctx, int rank, int size, int *members, size_t bytes,
                      struct ncoll_group **out)
{
    struct ncoll_group *g = take_handle(ctx);
    struct window_shape shape = {
        .rank = (unsigned)rank,
        .ranks = (unsigned)size,
        .n_slots = slots_for(size, members == NULL ? SLOTS_MIN : GROUP_SLOTS_MIN),
    };
    int rc;

    if (g == NULL) {
        ncoll__release(ctx, members);
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group");
    }
    g->ctx = ctx;
    g->rank = rank;
    g->size = size;
    g->members = members;
    g->next_epoch = 1;
    g->near = ncoll__allocate(ctx, (size_t)size * sizeof *g->near);
    g->credits.told = ncoll__allocate(ctx, (size_t)size * sizeof(uint64_t));
    g->credits.heard = ncoll__allocate(ctx, (size_t)size * sizeof(uint64_t));
    if (g->near == NULL || g->credits.told == NULL || g->credits.heard == NULL || !find_nodes(g))
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group of %d", size);
    else
        rc = free_id(ctx, &shape.id);
    set_parts(&shape, bytes);
    if (rc == NCOLL_OK)
        rc = ctx->transport->ops->window_create(ctx->transport, &shape, &g->window);
    if (rc != NCOLL_OK) {
        ncoll__group_free(g, true);
        return rc;
    }
    ctx->id_used[shape.id] = true;
    g->next = ctx->groups;
    ctx->groups = g;
    *out = g;
    return NCOLL_OK;
}

int ncoll__world_create(struct ncoll_context *ctx)
{
    int rc;

    ctx->id_used = ncoll__allocate(ctx, WINDOWS_MAX * sizeof *ctx->id_used);
    if (ctx->id_used == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for groups");
    rc = ncoll__group_make(ctx, ctx->rank, ctx->ranks, NULL, ctx->settings.window_bytes,
                           &ctx->world);
    if (rc != NCOLL_OK)
        return rc;
    ctx->world->magic = GROUP_MAGIC;
    ctx->world->sync = (unsigned)ctx->settings.sync;
    return NCOLL_OK;
}

void ncoll__groups_free(struct ncoll_context *ctx)
{
    while (ctx->groups != NULL)
        ncoll__group_free(ctx->groups, false);
    ctx->world = NULL; /* peers may still report something while this rank leaves */
    for (struct ncoll_group *g = ctx->spare, *next; g != NULL; g = next) {
        next = g->next;
        ncoll__release(ctx, g);
    }
    ctx->spare = NULL;
    ncoll__release(ctx, ctx->id_used);
}

/* ------------------------------------------------------------------ what it is ---------------- */

ncoll_group *ncoll_world(ncoll_context *ctx)
{
    return ctx != NULL && ctx->magic == CONTEXT_MAGIC ? ctx->world : NULL;
}

int ncoll_group_rank(const ncoll_group *group)
{
    return group != NULL && group->magic == GROUP_MAGIC ? group->rank : -1;
}

int ncoll_group_size(const ncoll_group *group)
{
    return group != NULL && group->magic == GROUP_MAGIC ? group->size : -1;
}

int ncoll_group_sync(const ncoll_group *group)
{
    return group != NULL && group->magic == GROUP_MAGIC ? (int)group->sync : -1;
}

int ncoll_group_set_sync(ncoll_group *group, unsigned sync)
{
    if (group == NULL || group->magic != GROUP_MAGIC)
        return NCOLL_ERR_HANDLE;
    if ((sync & ~NCOLL_STRICT) != 0)
        return ncoll__fail(group->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT or NCOLL_STRICT",
                           "there is no mode of synchronisation %u", sync);
    group->sync = sync;
    return NCOLL_OK;
}

int ncoll_group_world_rank(const ncoll_group *group, int rank)
{
    if (group == NULL || group->magic != GROUP_MAGIC || rank < 0 || rank >= group->size)
        return -1;
    return ncoll__world_rank(group, (unsigned)rank);
}
