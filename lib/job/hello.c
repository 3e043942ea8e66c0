/* SPDX-License-Identifier: BSD-3-Clause */
/* The first exchange: each rank learns the node and the cores of every rank, and compares the
 * settings that must be the same on all ranks. */
#include <stdio.h>
#include <string.h>

#include "lib/job/devices.h"
#include "lib/job/join.h"
#include "lib/choose/ruled.h"
#include "lib/topology/levels.h"
#include "lib/base/group.h"

#define HELLO_MAGIC   0x4c4f434eu /* "NCOL" */
#define HELLO_VERSION 21u         /* version of all that ranks send to each other */

struct hello {
    uint32_t magic, version;
    struct node node;
    char transport[16], wiring[16]; /* the user's settings; "" if not set */
    uint64_t window_bytes, group_window_bytes;
    uint32_t tune;
    uint32_t nodes; /* hash of NCOLL_NODES */
    int32_t level, peers;
    uint64_t show_bytes;
    uint64_t rules;                  /* hash of the settings for rules; 0: there are none */
    struct segment_name examination; /* name of this rank's segment: see devices.h */
};

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 0x811c9dc5u; /* FNV-1a */

    while (text != NULL && *text != '\0')
        hash = (hash ^ (unsigned char)*text++) * 0x01000193u;
    return hash;
}

static struct hello say_hello(struct ncoll_context *ctx, struct examination *x)
{
    const ncoll_params *s = &ctx->settings;
    struct hello hello = {.magic = HELLO_MAGIC,
                          .version = HELLO_VERSION,
                          .node = ncoll__node(),
                          .window_bytes = s->window_bytes,
                          .group_window_bytes = s->group_window_bytes,
                          .tune = (uint32_t)s->tune,
                          .nodes = hash_of(s->nodes),
                          .rules = ncoll__rules_mark(s),
                          .level = (int32_t)s->level,
                          .peers = s->peers,
                          .show_bytes = s->show_bytes,
                          .examination = ncoll__examination_open(ctx, x)};

    hello.node.ranks_per_core_milli = (uint32_t)(s->ranks_per_core * 1000 + 0.5);
    snprintf(hello.transport, sizeof hello.transport, "%s", s->transport ? s->transport : "");
    snprintf(hello.wiring, sizeof hello.wiring, "%s", s->wiring ? s->wiring : "");
    return hello;
}

/* Warns if this rank was given other rules than rank 0, whose rules hold for all ranks. */
static void compare_rules(struct ncoll_context *ctx, const struct hello *mine,
                          const struct hello *of_rank_0)
{
    if (mine->rules != 0 && mine->rules != of_rank_0->rules)
        ncoll__log(ctx, NCOLL_LOG_WARN,
                   "the rules of rank %d (NCOLL_RULES, NCOLL_ALLREDUCE_RULES and so on) are "
                   "ignored: those of rank 0 are others, and hold for all ranks",
                   ctx->rank);
}

/* Writes the settings of a rank as text: those that must be the same on all ranks, and that no
 * later check compares. Returns text. */
static const char *wishes(const struct hello *h, char *text, size_t size)
{
    static const char *const tunes[] = {"table", "trial", "model", "off"};

    snprintf(text, size,
             "transport \"%.15s\", wiring \"%.15s\", window %llu, group window %llu, tuning %s",
             h->transport, h->wiring, (unsigned long long)h->window_bytes,
             (unsigned long long)h->group_window_bytes, tunes[h->tune % 4]);
    return text;
}

static int check_hello(struct ncoll_context *ctx, const struct hello *mine, int rank,
                       const struct hello *theirs, size_t len)
{
    if (len != sizeof *theirs || theirs->magic != HELLO_MAGIC || theirs->version != HELLO_VERSION)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
                           "use the same library on all ranks",
                           "rank %d runs another version of ncoll than rank %d", rank, ctx->rank);
    if (memchr(theirs->transport, '\0', sizeof theirs->transport) == NULL ||
        memchr(theirs->wiring, '\0', sizeof theirs->wiring) == NULL)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
                           "use the same library on all ranks",
                           "rank %d asks for a transport or wiring whose name has no end", rank);
    if (strcmp(theirs->transport, mine->transport) != 0 ||
        strcmp(theirs->wiring, mine->wiring) != 0 || theirs->window_bytes != mine->window_bytes ||
        theirs->group_window_bytes != mine->group_window_bytes || theirs->tune != mine->tune) {
        char ours[128], other[128];
        return ncoll__fail(
            ctx, BECAUSE(NCOLL_ERR_ARGUMENT, SETTING_DIFFERS), rank,
            "set NCOLL_TRANSPORT, NCOLL_WIRING, NCOLL_WINDOW, NCOLL_GROUP_WINDOW and NCOLL_TUNE "
            "alike on all ranks",
            "rank %d asks for %s; rank %d for %s", ctx->rank, wishes(mine, ours, sizeof ours), rank,
            wishes(theirs, other, sizeof other));
    }
    if (theirs->nodes != mine->nodes)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_ARGUMENT, SETTING_DIFFERS), rank,
                           "set NCOLL_NODES alike on all ranks",
                           "rank %d was given other nodes than rank %d", rank, ctx->rank);
    if (theirs->level != mine->level)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_ARGUMENT, SETTING_DIFFERS), rank,
                           "set NCOLL_LEVEL alike on all ranks",
                           "rank %d was given another level than rank %d", rank, ctx->rank);
    if (theirs->peers != mine->peers)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_ARGUMENT, SETTING_DIFFERS), rank,
                           "set NCOLL_PEERS alike on all ranks",
                           "rank %d was given at most %d peers, rank %d at most %d", rank,
                           (int)theirs->peers, ctx->rank, (int)mine->peers);
    if (theirs->show_bytes != mine->show_bytes)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_ARGUMENT, SETTING_DIFFERS), rank,
                           "set NCOLL_SHOW alike on all ranks",
                           "rank %d has peer reads from %zu bytes on, rank %d from %zu", rank,
                           (size_t)theirs->show_bytes, ctx->rank, (size_t)mine->show_bytes);
    return NCOLL_OK;
}

/* True if groups may divide the node into domains; see find_level() in lib/group/group.c. The
 * result is the same on all ranks. */
static bool needs_domains(const struct ncoll_context *ctx)
{
    ncoll_level level = ctx->settings.level;

    return ctx->places.nodes == 1 && ctx->ranks >= 3 && ctx->settings.nodes == NULL &&
           level != NCOLL_LEVEL_NONE &&
           (level != NCOLL_LEVEL_AUTO || ctx->places.ranks_per_core <= 1);
}

/* Makes room for the domains of all ranks. Rank 0 finds the domains, and sends them with its
 * description (join.c), so that only one rank of the node reads the topology of the machine. */
static int find_domains(struct ncoll_context *ctx, struct node *nodes)
{
    size_t ranks = (size_t)ctx->ranks;

    ctx->domains = ncoll__allocate(ctx, ranks * sizeof *ctx->domains);
    if (ctx->domains == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    memset(ctx->domains, 0, ranks * sizeof *ctx->domains);
    if (ctx->rank != 0)
        return NCOLL_OK;
    ncoll__begin_stage(ctx, STAGE_DEVICES);
    ncoll__find_domains_of_ranks(nodes, (unsigned)ranks);
    for (size_t r = 0; r < ranks; r++)
        memcpy(ctx->domains[r], nodes[r].domains, sizeof ctx->domains[r]);
    return NCOLL_OK;
}

/* Numbers the nodes, and notes the node of each rank. */
static int number_nodes(struct ncoll_context *ctx, const struct node *nodes)
{
    unsigned ranks = (unsigned)ctx->ranks;
    uint64_t *ids = ncoll__allocate(ctx, ranks * sizeof *ids);
    unsigned *room = ncoll__allocate(ctx, NODES_ROOM(ranks) * sizeof *room);
    bool ok = ids != NULL && room != NULL;
    struct nodes found;

    for (unsigned r = 0; ok && r < ranks; r++)
        ids[r] = nodes[r].id;
    if (ok)
        ncoll__nodes_of(ids, ranks, room, &found);
    for (unsigned r = 0; ok && r < ranks; r++)
        ctx->peers[r].node = node_of(&found, r) & INT32_MAX;
    ncoll__release(ctx, ids);
    ncoll__release(ctx, room);
    return ok ? NCOLL_OK
              : ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %u peers", ranks);
}

/* Finds ctx->places and, on one node, the domains. ncoll__places() sorts its array, but finding
 * domains takes the nodes in the order of ranks; so where this may follow, it gets a copy. */
static int learn_from(struct ncoll_context *ctx, struct node *nodes, struct node own)
{
    size_t bytes = (size_t)ctx->ranks * sizeof *nodes;
    struct node *sorted = nodes;

    if (ctx->one_machine && ctx->rank == 0 && (sorted = ncoll__allocate(ctx, bytes)) == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    if (sorted != nodes)
        memcpy(sorted, nodes, bytes);
    ctx->places = ncoll__places(sorted, ctx->ranks, own);
    if (sorted != nodes)
        ncoll__release(ctx, sorted);
    return needs_domains(ctx) ? find_domains(ctx, nodes) : NCOLL_OK;
}

int ncoll__learn_places(struct ncoll_context *ctx, struct examination *x)
{
    ncoll__begin_stage(ctx, STAGE_DEVICES);
    struct hello mine = say_hello(ctx, x), theirs;
    struct node *nodes = NULL;
    const void *blob;
    size_t len;

    ncoll__begin_stage(ctx, STAGE_EXCHANGE);
    ctx->machine = mine.node.machine;
    ctx->one_machine = true;
    int rc = ncoll__exchange(ctx, &mine, sizeof mine);
    if (rc == NCOLL_OK &&
        (nodes = ncoll__allocate(ctx, (size_t)ctx->ranks * sizeof *nodes)) == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d peers", ctx->ranks);
    for (int r = 0; rc == NCOLL_OK && r < ctx->ranks; r++) {
        if ((rc = ncoll__get(ctx, r, &blob, &len)) != NCOLL_OK)
            break;
        memcpy(&theirs, blob, len < sizeof theirs ? len : sizeof theirs);
        rc = check_hello(ctx, &mine, r, &theirs, len);
        if (rc == NCOLL_OK && r == 0)
            compare_rules(ctx, &mine, &theirs);
        ctx->one_machine &= theirs.node.machine == mine.node.machine;
        nodes[r] = theirs.node;
        if (x->leader_rank < 0 && theirs.node.id == mine.node.id) {
            x->leader_rank = r;
            x->leader = theirs.examination;
        }
    }
    if (rc != NCOLL_OK) /* every rank finds this error */
        ctx->may_exchange = false;
    else if ((rc = number_nodes(ctx, nodes)) == NCOLL_OK)
        rc = learn_from(ctx, nodes, mine.node);
    ncoll__release(ctx, nodes);
    return rc;
}
