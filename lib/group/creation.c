/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How groups are made from others, and freed.
 *
 * Making one is four calls of the parent over its base peers, queued together, so that they keep
 * their place among its other calls; O(log P) messages in all:
 *
 *   gather   an allgather of color and key: every rank knows the members of its group from it
 *   wire     an alltoall, in which the members offer each other the base connections of the group
 *   agree    an allreduce, when these are accepted: a group is made everywhere or nowhere
 *   connect  a barrier, when they stand
 *
 * All are planned before the first is queued, so that nothing which a rank cannot do on its own
 * comes between them, but for what is agreed on.
 *
 * Freeing one is two barriers of the group. After the first nobody has an unfinished call. What was
 * sent until then, credits that nobody waits for included, has arrived when the device says so;
 * then comes the second. After it nobody writes to the window any more.
 */
#include "lib/group/creation.h"

#include <stdlib.h>
#include <string.h>

#include "lib/call/call.h"
#include "lib/failure/failure.h"

#define WORD sizeof(int64_t)

/* What a rank brings to the making of a group. */
struct record {
    int64_t color, key;
    uint64_t created; /* groups that it has had a part in, for the name */
};

/* Making or freeing a group, unfinished. */
struct creation {
    struct creation_args args;
    struct ncoll_group *group; /* being made; NULL: this rank has no part in one */
    struct record own, *all;   /* [size of the parent] */
    struct offer *offers, *answers;
    unsigned peers[BASE_PEERS], n_peers; /* of the group: its ranks, */
    int world_peers[BASE_PEERS];         /* and those of the world */
    ncoll_error error;                   /* what this rank could not do */
    int64_t verdict, agreed;
    struct call calls[4];
    struct call *last;
};

/* ------------------------------------------------------------------ making: members ----------- */

void ncoll__creation_free(struct ncoll_context *ctx, struct creation *c)
{
    ncoll__release(ctx, c->all);
    ncoll__release(ctx, c->offers);
    ncoll__release(ctx, c->answers);
    ncoll__release(ctx, c);
}

/* A member: its key, and its rank in the parent. */
struct member {
    int64_t key;
    int rank;
};

static int by_key(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those of this rank's color, in order. NULL: no memory. */
static struct member *find_members(struct ncoll_group *parent, const struct creation *c, int *size)
{
    struct member *members = ncoll__allocate(parent->ctx, (size_t)parent->size * sizeof *members);

    *size = 0;
    for (int r = 0; members != NULL && r < parent->size; r++)
        if (c->all[r].color == c->own.color)
            members[(*size)++] = (struct member){c->all[r].key, r};
    if (members != NULL)
        qsort(members, (size_t)*size, sizeof *members, by_key);
    return members;
}

static int make_group(struct ncoll_group *parent, struct creation *c, const struct member *members,
                      int size)
{
    struct ncoll_context *ctx = parent->ctx;
    const ncoll_params *s = &ctx->settings;
    size_t bytes = s->group_window_bytes != 0 ? s->group_window_bytes : s->window_bytes / 4;
    int *world = ncoll__allocate(ctx, (size_t)size * sizeof *world), own = -1;

    if (world == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group of %d", size);
    for (int i = 0; i < size; i++) {
        world[i] = ncoll__world_rank(parent, (unsigned)members[i].rank);
        own = members[i].rank == parent->rank ? i : own;
    }
    /* nobody has led two groups with the same number */
    uint64_t name = (uint64_t)(unsigned)world[0] << 32 | (uint32_t)c->all[members[0].rank].created;
    int rc = ncoll__group_make(ctx, own, size, world, bytes, &c->group);
    if (rc != NCOLL_OK)
        return rc;
    c->group->name = name;
    c->group->sync = parent->sync;
    return NCOLL_OK;
}

static int make_offers(struct ncoll_group *parent, struct creation *c, const struct member *members)
{
    struct ncoll_group *g = c->group;
    struct transport *t = parent->ctx->transport;
    int rc = NCOLL_OK;

    c->n_peers = ncoll__base_peers((unsigned)g->rank, (unsigned)g->size, c->peers);
    for (unsigned i = 0; i < c->n_peers && rc == NCOLL_OK; i++) {
        c->world_peers[i] = ncoll__world_rank(g, c->peers[i]);
        rc = t->ops->offer(t, g->window, c->world_peers[i], BASE_DEPTH,
                           &c->offers[members[c->peers[i]].rank]);
        c->peers[i] = (unsigned)members[c->peers[i]].rank; /* where the answer will be */
    }
    return rc;
}

/* ------------------------------------------------------------------ making: calls ------------- */

/* What one rank cannot do is told to all by the verdict; the calls go on. */
static void cannot(struct ncoll_group *parent, struct creation *c)
{
    struct ncoll_context *ctx = parent->ctx;

    if (c->verdict == 0)
        c->error = ctx->error;
    c->verdict = (int64_t)c->error.status * (INT64_C(1) << 32) + ctx->rank;
}

static int prepare_wire(struct ncoll_group *parent, struct call *call)
{
    struct creation *c = parent->creating;

    (void)call;
    if (c->own.color >= 0) {
        int size;
        struct member *members = find_members(parent, c, &size);
        int rc = members != NULL ? NCOLL_OK
                                 : ncoll__fail(parent->ctx, NCOLL_ERR_MEMORY, -1, NULL,
                                               "no memory to make a group");
        if (rc == NCOLL_OK)
            rc = make_group(parent, c, members, size);
        if (rc == NCOLL_OK)
            rc = make_offers(parent, c, members);
        if (rc != NCOLL_OK)
            cannot(parent, c);
        ncoll__release(parent->ctx, members);
    }
    return NCOLL_OK;
}

/* A rank that has offered nothing cannot make the group, and says so in its verdict. */
static void accept_all(struct ncoll_group *parent, struct creation *c)
{
    static const struct offer nothing;
    struct ncoll_context *ctx = parent->ctx;
    struct transport *t = ctx->transport;
    unsigned n = 0;

    for (unsigned i = 0; i < c->n_peers; i++) {
        int world = c->world_peers[i];
        const struct peer *peer = &ctx->peers[world];
        const struct offer *offer = &c->answers[c->peers[i]];
        if (memcmp(offer, &nothing, sizeof nothing) == 0)
            continue;
        if (t->ops->accept(t, c->group->window, world, peer->description, peer->description_len,
                           offer) == NCOLL_OK)
            c->world_peers[n++] = world;
        else
            cannot(parent, c);
    }
    c->n_peers = n;
}

static int prepare_agree(struct ncoll_group *parent, struct call *call)
{
    struct creation *c = parent->creating;

    (void)call;
    if (c->verdict == 0 && c->group != NULL)
        accept_all(parent, c);
    return NCOLL_OK;
}

/* All have accepted all, so that what fails now is a failure of the job. */
static int prepare_connect(struct ncoll_group *parent, struct call *call)
{
    struct ncoll_context *ctx = parent->ctx;
    struct creation *c = parent->creating;

    (void)call;
    if (c->agreed != 0 || c->group == NULL)
        return NCOLL_OK;
    int rc = ncoll__ready(ctx, c->world_peers, c->n_peers);
    if (rc < 0 && ctx->failure.kind == CONTROL_NONE) {
        struct failure failure = ncoll__failure_of_error(ctx);
        ncoll__broken(ctx, &failure);
    }
    return rc;
}

/* Plans the calls, then queues them: nothing is queued if one cannot be planned. */
static int queue_calls(struct ncoll_group *g, struct creation *c, unsigned n)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < n && rc == NCOLL_OK; i++)
        rc = ncoll__plan(g, &c->calls[i].args, 0, &c->calls[i].plan);
    for (unsigned i = 0; i < n; i++)
        if (rc == NCOLL_OK)
            ncoll__call_queue(g, &c->calls[i]);
        else if (c->calls[i].plan != NULL)
            ncoll__plan_leave(g, c->calls[i].plan);
    c->last = &c->calls[n - 1];
    return rc;
}

static int queue_creation(struct ncoll_group *parent, struct creation *c)
{
    struct card card = ncoll__group_card(c->args.kind, c->args.hash);
    struct call *gather = &c->calls[0], *wire = &c->calls[1], *agree = &c->calls[2],
                *connect = &c->calls[3];

    gather->args = ncoll__base_call(COLL_ALLGATHER, &c->own, c->all, sizeof c->own / WORD,
                                    ncoll__card_with(card, ERRAND_GATHER));
    wire->args = ncoll__base_call(COLL_ALLTOALL, c->offers, c->answers, OFFER_WORDS,
                                  ncoll__card_with(card, ERRAND_WIRE));
    agree->args = ncoll__base_call(COLL_ALLREDUCE, &c->verdict, &c->agreed, 1,
                                   ncoll__card_with(card, ERRAND_AGREE));
    connect->args =
        ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, ncoll__card_with(card, ERRAND_LEAVE));
    wire->alone = agree->alone = connect->alone = true;
    wire->prepare = prepare_wire;
    agree->prepare = prepare_agree;
    connect->prepare = prepare_connect;
    return queue_calls(parent, c, 4);
}

static int start_creation(struct ncoll_group *parent, const struct creation_args *args)
{
    struct ncoll_context *ctx = parent->ctx;
    size_t size = (size_t)parent->size;
    struct creation *c;
    int rc = ncoll__failure(ctx);

    if (rc != NCOLL_OK)
        return rc;
    if ((c = ncoll__allocate(ctx, sizeof *c)) == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    c->args = *args;
    c->own = (struct record){args->color, args->key, ++ctx->created};
    c->all = ncoll__allocate(ctx, size * sizeof *c->all);
    c->offers = ncoll__allocate(ctx, size * sizeof *c->offers);
    c->answers = ncoll__allocate(ctx, size * sizeof *c->answers);
    parent->creating = c;
    if (c->all == NULL || c->offers == NULL || c->answers == NULL)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    else
        rc = queue_creation(parent, c);
    if (rc != NCOLL_OK) {
        ncoll__creation_free(ctx, c);
        parent->creating = NULL;
    }
    return rc;
}

/* What has come of it, when all calls have ended well. */
static int result_of(struct ncoll_group *parent, struct creation *c, ncoll_group **out)
{
    struct ncoll_context *ctx = parent->ctx;
    int rank = (int)(uint32_t)c->agreed, status = (int)((c->agreed - rank) / (INT64_C(1) << 32));

    if (c->agreed == 0) {
        if (c->group != NULL) {
            ncoll__base_wired(c->group);
            c->group->magic = GROUP_MAGIC;
        }
        *out = c->group;
        return NCOLL_OK;
    }
    if (c->group != NULL)
        ncoll__group_free(c->group, true);
    c->group = NULL;
    if (c->verdict != 0)
        return ncoll__fail(ctx, c->error.status, c->error.peer, c->error.remedy, "%s",
                           c->error.cause);
    return ncoll__fail(ctx, (ncoll_status)status, rank, "see what it reports",
                       "rank %d could not make the group (%s)", rank, ncoll_status_text(status));
}

static bool same_args(const struct creation_args *a, const struct creation_args *b)
{
    return a->kind == b->kind && a->color == b->color && a->key == b->key && a->ranks == b->ranks &&
           a->n_ranks == b->n_ranks;
}

int ncoll__group_busy(struct ncoll_group *g)
{
    const struct creation *c = g->creating;
    const char *what = ncoll__collective_name(c != NULL ? (enum collective)c->args.kind
                                                        : g->blocking_args.collective);

    return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1,
                       "call it again first, with the same arguments, until it is finished",
                       "%s that returned NCOLL_TIMEOUT", what);
}

/* Whether a call on the group may go on: it is not in the middle of another one. */
static int check_not_busy(struct ncoll_group *g, const struct creation_args *args)
{
    const struct creation *c = g->creating;

    if (c != NULL ? same_args(&c->args, args) : !g->unfinished)
        return NCOLL_OK;
    return ncoll__group_busy(g);
}

int ncoll__group_create(struct ncoll_group *parent, const struct creation_args *args,
                        ncoll_group **out, int64_t timeout_ns)
{
    int rc = check_not_busy(parent, args);

    if (rc == NCOLL_OK && parent->creating == NULL)
        rc = start_creation(parent, args);
    if (rc != NCOLL_OK)
        return rc;
    struct creation *c = parent->creating;
    rc = ncoll__call_drive(parent, c->last, timeout_ns);
    if (rc == NCOLL_TIMEOUT)
        return rc;
    parent->creating = NULL;
    if (rc == NCOLL_OK)
        rc = result_of(parent, c, out);
    else if (c->group != NULL)
        ncoll__group_free(c->group, false);
    ncoll__creation_free(parent->ctx, c);
    return rc;
}

/* ------------------------------------------------------------------ freeing ------------------- */

/* The second barrier: when what was sent up to the first one has arrived. */
static int prepare_leave(struct ncoll_group *g, struct call *call)
{
    struct transport *t = g->ctx->transport;

    (void)call;
    return t->ops->arrived == NULL || t->ops->arrived(t, g->window) ? NCOLL_OK : NCOLL_TIMEOUT;
}

/* A call that the user has not finished, even if it has ended; COLLECTIVES: none. */
static enum collective unfinished_on(const struct ncoll_group *g)
{
    if (g->first != NULL)
        return g->first->args.collective;
    for (const struct ncoll_request *r = g->ctx->requests; r != NULL; r = r->next)
        if (r->group == g && r->magic == REQUEST_MAGIC && r->started)
            return r->call.args.collective;
    return COLLECTIVES;
}

static int start_freeing(struct ncoll_group *g)
{
    struct card card = ncoll__card_with(ncoll__group_card(GROUP_FREE, 0), ERRAND_LEAVE);
    enum collective unfinished = unfinished_on(g);
    struct creation *c;
    int rc = ncoll__failure(g->ctx);

    if (rc != NCOLL_OK)
        return rc;
    if (unfinished != COLLECTIVES)
        return ncoll__fail(g->ctx, NCOLL_ERR_BUSY, -1, "wait for it first",
                           "%s, unfinished on the group", ncoll__collective_name(unfinished));
    if ((c = ncoll__allocate(g->ctx, sizeof *c)) == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to free a group");
    c->args.kind = GROUP_FREE;
    for (unsigned i = 0; i < 2; i++) {
        c->calls[i].args = ncoll__base_call(COLL_BARRIER, NULL, NULL, 0, card);
        c->calls[i].alone = true;
    }
    c->calls[1].prepare = prepare_leave;
    c->calls[1].last = true;
    if ((rc = queue_calls(g, c, 2)) == NCOLL_OK)
        g->creating = c;
    else
        ncoll__creation_free(g->ctx, c);
    return rc;
}

bool ncoll__group_ending(const struct ncoll_group *g)
{
    return g->creating != NULL && g->creating->args.kind == GROUP_FREE;
}

int ncoll__group_end(struct ncoll_group *g, int64_t timeout_ns)
{
    const struct creation_args args = {.kind = GROUP_FREE};
    /* What is unfinished on a group that has failed will never end. */
    int rc = ncoll__is_broken(g) ? ncoll__failure(g->ctx) : check_not_busy(g, &args);

    if (rc == NCOLL_OK && g->creating == NULL)
        rc = start_freeing(g);
    if (rc == NCOLL_OK)
        rc = ncoll__call_drive(g, g->creating->last, timeout_ns);
    if (rc == NCOLL_TIMEOUT || rc == NCOLL_ERR_BUSY ||
        (rc != NCOLL_OK && g->ctx->failure.kind == CONTROL_NONE))
        return rc;
    ncoll__group_free(g, rc == NCOLL_OK);
    return rc;
}
