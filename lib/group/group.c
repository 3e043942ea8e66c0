/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups as objects: handles, windows, the world. creation.c makes groups from others. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/entry.h"
#include "lib/group/creation.h"
#include "lib/group/relay.h"
#include "lib/topology/levels.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/group/wiring.h"
#include "lib/deliver/memory.h"
#include "lib/stale/stale.h"

#define SLOTS_MIN 128u /* smallest number of slots in the world */
#define WORD      sizeof(int64_t)
/* The memory of a freed handle is used again only after this many other handles have been freed. */
#define SPARE_GROUPS 64u

/* ------------------------------------------------------------------ handles ------------------- */

bool ncoll__group_ending(const struct ncoll_group *g)
{
    return g->creating != NULL && g->creating->args.kind == GROUP_FREE;
}

/* Returns the number of slots: enough for schedules with up to two messages from every rank. */
static unsigned slots_for(int ranks, unsigned least)
{
    unsigned wish = 2 * (unsigned)ranks;
    return wish < least ? least : wish > SLOTS_MAX ? SLOTS_MAX : wish;
}

static size_t round_up(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Makes the memory for one epoch large enough for a call of the library's own, which cannot be cut
 * into segments. */
static void make_fit(struct window_shape *shape, enum collective collective, size_t count,
                     size_t element)
{
    struct call_args args = ncoll__base_call(collective, NULL, NULL, count, (struct signature){0});
    struct shape own = {.collective = args.collective,
                        .size = shape->ranks,
                        .radix = args.radix,
                        .count = args.count};
    struct footprint f = args.algorithm->footprint(&own);
    size_t message = f.message * element, scratch = round_up((f.scratch + f.sent) * element);
    size_t bulk = message > SLOT_PAYLOAD ? f.slots * round_up(message) : 0;

    shape->bulk_bytes = shape->bulk_bytes < bulk ? bulk : shape->bulk_bytes;
    shape->scratch_bytes = shape->scratch_bytes < scratch ? scratch : shape->scratch_bytes;
}

/* Sets the memory for one epoch: as much as the user wants, but enough for the members' colors and
 * keys, for agreeing on irregular counts (lib/run/agree.c), and for a few letters of a relay. */
static void set_parts(struct window_shape *shape, size_t bytes)
{
    shape->bulk_bytes = shape->scratch_bytes = bytes / EPOCHS / 64 * 64;
    make_fit(shape, COLL_ALLGATHER, RECORD_NUMBERS, sizeof(int32_t));
    make_fit(shape, COLL_ALLTOALL, 1, WORD);
    make_fit(shape, COLL_ALLREDUCE, RELAY_WORDS(LETTERS_IN_SLOT), WORD);
}

/* Returns memory for a handle: new memory, or that of the handle that was freed first. */
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
    g->next = NULL;
    if (ctx->spare != NULL)
        ctx->spare_last->next = g;
    else
        ctx->spare = g;
    ctx->spare_last = g;
    ctx->n_spare++;
}

bool ncoll__group_has_window(const struct ncoll_context *ctx)
{
    return memchr(ctx->id_used, false, WINDOWS_MAX * sizeof *ctx->id_used) != NULL;
}

bool ncoll__groups_are_ending(const struct ncoll_context *ctx)
{
    const struct ncoll_group *g = ctx->groups;

    while (g != NULL && !(g->window != NULL && ncoll__group_ending(g)))
        g = g->next;
    return g != NULL;
}

void ncoll__group_give_window(struct ncoll_group *g, bool quiet)
{
    struct ncoll_context *ctx = g->ctx;

    if (g->window == NULL)
        return;
    ctx->id_used[g->window->shape.id] = false;
    ctx->transport->ops->window_destroy(ctx->transport, g->window, quiet);
    g->window = NULL;
    if (g->mail == NULL)
        return;
    ctx->id_used[g->mail->shape.id] = false;
    ctx->transport->ops->window_destroy(ctx->transport, g->mail, quiet);
    g->mail = NULL;
}

static int free_id(struct ncoll_context *ctx, unsigned *id)
{
    for (*id = 0; *id < WINDOWS_MAX; ++*id)
        if (!ctx->id_used[*id])
            return NCOLL_OK;
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_RESOURCE, TOO_MANY), -1,
                       "free groups that are not needed", "this rank is in %u groups already",
                       WINDOWS_MAX);
}

/* Returns the number of the node to which NCOLL_NODES assigns a rank. A list that is too short
 * repeats. */
static uint64_t pretended_node(const char *list, unsigned rank)
{
    const char *at = list;

    while (rank-- > 0) {
        at += strcspn(at, ",");
        at = *at == ',' ? at + 1 : list;
    }
    return strtoull(at, NULL, 10);
}

/* True if ranks that share a node in g->nodes really do. With NCOLL_NODES, for tests, they may
 * not. */
static bool have_real_nodes(const struct ncoll_group *g)
{
    const struct ncoll_context *ctx = g->ctx;
    const struct nodes *nodes = &g->nodes;

    for (unsigned r = 0; r < (unsigned)g->size; r++) {
        unsigned first = rank_on(nodes, node_of(nodes, r), 0);
        if (ctx->peers[ncoll__world_rank(g, r)].node !=
            ctx->peers[ncoll__world_rank(g, first)].node)
            return false;
    }
    return true;
}

/* Replaces the nodes of the group by the domains of a level of the machine, if all ranks share a
 * node and use shared memory only. Ranks that share cores wait longer for each other than for
 * messages, so they use a level only if the user names it. Returns false if there is no memory. */
static bool find_level(struct ncoll_group *g, uint64_t *ids)
{
    struct ncoll_context *ctx = g->ctx;
    const struct transport *t = ctx->transport;
    unsigned size = (unsigned)g->size;
    uint32_t(*domains)[NODE_LEVELS];

    bool asked = ctx->settings.level != NCOLL_LEVEL_AUTO;
    if (ctx->domains == NULL || g->nodes.count != 1 || size < 3 || ctx->settings.nodes != NULL ||
        !t->shares_windows || t->near_cost.latency_ns > 0 ||
        (!asked && ctx->places.ranks_per_core > 1))
        return true;
    domains = ncoll__allocate(ctx, size * sizeof *domains);
    unsigned *room = ncoll__allocate(ctx, NODES_ROOM(size) * sizeof *room);
    for (unsigned r = 0; domains != NULL && r < size; r++)
        memcpy(domains[r], ctx->domains[ncoll__world_rank(g, r)], sizeof domains[r]);
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

/* Fills in the nodes of the group's ranks. Returns false if there is no memory. */
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
    if (ok && ncoll__nodes_without_tables(&g->nodes)) {
        ncoll__release(ctx, g->nodes_at);
        g->nodes_at = NULL;
    }
    ncoll__release(ctx, ids);
    return ok;
}

static void link_group(struct ncoll_context *ctx, struct ncoll_group *g)
{
    g->next = ctx->groups;
    g->link = &ctx->groups;
    if (g->next != NULL)
        g->next->link = &g->next;
    ctx->groups = g;
}

/* Takes the group out of the lists of groups and of busy groups. A group that could not be made is
 * in neither. */
static void unlink_group(struct ncoll_context *ctx, struct ncoll_group *g)
{
    if (g->link != NULL)
        *g->link = g->next;
    if (g->link != NULL && g->next != NULL)
        g->next->link = g->link;
    for (struct ncoll_group **link = &ctx->busy; g->busy && *link != NULL;
         link = &(*link)->next_busy)
        if (*link == g) {
            *link = g->next_busy;
            break;
        }
}

void ncoll__creation_free(struct ncoll_context *ctx, struct creation *c)
{
    ncoll__hooked_ends(ctx, &c->hooked, NCOLL_ERR_PEER); /* the user has not finished the call */
    ncoll__release(ctx, c->all);
    ncoll__release(ctx, c->ranks);
    ncoll__release(ctx, c->wanted);
    ncoll__relay_free(ctx, c->relay);
    ncoll__release(ctx, c);
}

void ncoll__group_free(struct ncoll_group *g, bool quiet)
{
    struct ncoll_context *ctx = g->ctx;

    ncoll__calls_free(g);
    ncoll__stale_release(g);
    ctx->pending -= (unsigned)(g->creating != NULL) + (unsigned)(g->known.unfinished != NULL);
    if (g->creating != NULL)
        ncoll__creation_free(ctx, g->creating);
    ncoll__known_calls_forget(g);
    ncoll__wiring_free(g);
    unlink_group(ctx, g);
    ncoll__group_give_window(g, quiet);
    ncoll__release(ctx, g->members);
    ncoll__release(ctx, g->nodes_at);
    ncoll__release(ctx, g->wired);
    ncoll__release(ctx, g->wired_distances);
    ncoll__credits_free(g);
    ncoll__routes_free(g);
    g->magic = 0;
    keep_handle(ctx, g);
}

/* True if the members are all ranks of the job in their order. */
static bool are_all(const struct ncoll_context *ctx, const int *members, int size)
{
    int i = 0;

    while (i < size && members[i] == i)
        i++;
    return i == ctx->ranks;
}

/* Makes a window of the group, with a number that no other window of this rank has. */
static int make_window(struct ncoll_group *g, struct window_shape *shape, struct window **out)
{
    struct ncoll_context *ctx = g->ctx;
    int rc = free_id(ctx, &shape->id);

    if (rc == NCOLL_OK)
        rc = ctx->transport->ops->window_create(ctx->transport, shape, out);
    if (rc == NCOLL_OK)
        ctx->id_used[shape->id] = true;
    return rc;
}

int ncoll__group_add_mail(struct ncoll_group *g, const struct window_shape *shape)
{
    struct window_shape own = *shape;

    own.rank = (unsigned)g->rank;
    own.ranks = (unsigned)g->size;
    return make_window(g, &own, &g->mail);
}

int ncoll__group_make(struct ncoll_context *ctx, int rank, int size, int *members, size_t bytes,
                      unsigned least_slots, struct ncoll_group **out)
{
    struct ncoll_group *g = take_handle(ctx);
    struct window_shape shape = {
        .rank = (unsigned)rank,
        .ranks = (unsigned)size,
        .n_slots = slots_for(size, least_slots),
    };
    int rc;

    if (g == NULL) {
        ncoll__release(ctx, members);
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group");
    }
    g->ctx = ctx;
    g->rank = rank;
    g->size = size;
    g->next_epoch = 1;
    g->blocking.users = true;
    if (members != NULL && are_all(ctx, members, size))
        ncoll__release(ctx, members); /* the group of all ranks needs no list */
    else
        g->members = members;
    ncoll__known_calls_init(g);
    if (!ncoll__credits_make(g) || !find_nodes(g))
        rc =
            ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group of %d ranks", size);
    else
        rc = NCOLL_OK;
    set_parts(&shape, bytes);
    if (rc == NCOLL_OK)
        rc = make_window(g, &shape, &g->window);
    if (rc != NCOLL_OK) {
        ncoll__group_free(g, true);
        return rc;
    }
    g->unusual = ctx->trace != NULL;
    link_group(ctx, g);
    *out = g;
    return NCOLL_OK;
}

int ncoll__world_create(struct ncoll_context *ctx)
{
    int rc;

    ctx->id_used = ncoll__allocate(ctx, WINDOWS_MAX * sizeof *ctx->id_used);
    if (ctx->id_used == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for groups");
    rc = ncoll__group_make(ctx, ctx->rank, ctx->ranks, NULL, ctx->settings.window_bytes, SLOTS_MIN,
                           &ctx->world);
    if (rc != NCOLL_OK)
        return rc;
    ctx->world->magic = GROUP_MAGIC;
    ctx->world->sync = (unsigned)ctx->settings.sync;
    return NCOLL_OK;
}

void ncoll__groups_free(struct ncoll_context *ctx)
{
    while (ctx->groups != NULL) {
        /* The group of an object that was being made from this group is newer, so it is freed
         * already. */
        ncoll__release(ctx, ctx->groups->making);
        ncoll__group_free(ctx->groups, false);
    }
    ctx->world = NULL; /* peers may still report something while this rank leaves */
    for (struct ncoll_group *g = ctx->spare, *next; g != NULL; g = next) {
        next = g->next;
        ncoll__release(ctx, g);
    }
    ctx->spare = NULL;
    ncoll__release(ctx, ctx->id_used);
}

/* ------------------------------------------------------------------ queries ------------------- */

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
    ENTER(group->ctx);
    if ((sync & ~NCOLL_STRICT) != 0)
        return ncoll__fail(group->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use NCOLL_LOOSE, NCOLL_STRICT_ENTRY, NCOLL_STRICT_EXIT or NCOLL_STRICT",
                           "%u is not a mode of synchronisation", sync);
    group->sync = sync;
    return NCOLL_OK;
}

int ncoll_group_world_rank(const ncoll_group *group, int rank)
{
    if (group == NULL || group->magic != GROUP_MAGIC || rank < 0 || rank >= group->size)
        return -1;
    return ncoll__world_rank(group, (unsigned)rank);
}
