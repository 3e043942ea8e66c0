/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes groups from other groups. freeing.c frees them.
 *
 * Making a group takes up to four calls of the parent over its base peers. They are queued
 * together, so that no other call of the parent comes between them, and need O(log P) messages in
 * all:
 *
 *   gather   an allgather of color and key, from which every rank knows the members of its group;
 *            not needed for a copy or a list of ranks, whose members are known to all
 *   wire     the first pass of a relay (relay.c), in which the members offer each other the
 *            group's base connections; further passes follow if they are needed
 *   agree    an allreduce after the offers are accepted: a group is made on all its ranks or on
 *            none
 *   connect  a barrier after they are connected; not needed over shared memory, where accepting
 *            connects
 *
 * All four are planned before the first is queued. So if a rank lacks memory for this, it fails
 * before it has sent anything. It reports later errors to the others by the call `agree`.
 */
#include "lib/group/creation.h"

#include <stdlib.h>
#include <string.h>

#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/group/relay.h"
#include "lib/group/wiring.h"
#include "lib/stale/stale.h"
#include "lib/choose/planned.h"
#include "lib/watch/failure.h"

#define WORD sizeof(int64_t)

#define NO_NAME UINT64_MAX

#define GROUP_SLOTS_MIN 64u /* smallest number of slots in a group */

/* Bit of a verdict: the device of the rank has no room for the group's connections. */
#define NO_ROOM (1 << 30)

/* The longest time to wait for groups that are being freed, when there is no window for a new
 * one. */
#define ENDING_NS UINT64_C(1000000000)

/* ------------------------------------------------------------------ making: members ----------- */

/* A member of a new group: its key, and its rank in the parent. */
struct member {
    int key, rank;
};

static int by_key(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Returns the number of members of this rank's group. */
static int count_members(const struct ncoll_group *parent, const struct creation *c)
{
    int size = 0;

    if (c->args.kind == GROUP_DUP)
        return parent->size;
    if (c->args.kind == GROUP_FROM_RANKS)
        return c->args.n_ranks;
    for (int r = 0; r < parent->size; r++)
        size += c->all[r].color == c->own.color;
    return size;
}

/* Returns the members of this rank's group, in order. Returns NULL if there is no memory. */
static struct member *find_members(struct ncoll_group *parent, const struct creation *c, int *size)
{
    struct member *members;
    int n = 0;

    *size = count_members(parent, c);
    members = ncoll__allocate(parent->ctx, (size_t)*size * sizeof *members);
    if (members == NULL)
        return NULL;
    for (int i = 0; c->all == NULL && i < *size; i++)
        members[i] = (struct member){i, c->ranks != NULL ? c->ranks[i] : i};
    for (int r = 0; c->all != NULL && r < parent->size; r++)
        if (c->all[r].color == c->own.color)
            members[n++] = (struct member){c->all[r].key, r};
    if (c->all != NULL)
        qsort(members, (size_t)*size, sizeof *members, by_key);
    return members;
}

/* True if each rank knows the members of its new group, and their order, without a gather. */
static bool knows_members(const struct creation_args *args)
{
    return args->kind != GROUP_SPLIT;
}

/* Returns the name of a group: the world rank of its first member, and the number of groups that
 * this member has taken part in making. So no two groups have the same name. */
static uint64_t name_of(const struct ncoll_group *g, uint64_t created)
{
    return (uint64_t)(unsigned)ncoll__world_rank(g, 0) << 32 | (uint32_t)created;
}

static int make_group(struct ncoll_group *parent, struct creation *c, const struct member *members,
                      int size)
{
    struct ncoll_context *ctx = parent->ctx;
    const ncoll_params *s = &ctx->settings;
    size_t bytes = s->group_window_bytes != 0 ? s->group_window_bytes : s->window_bytes / 4;
    bool has_mail = c->args.mail.n_slots > 0;
    unsigned slots = has_mail ? parent->window->shape.n_slots : GROUP_SLOTS_MIN;
    int *world = ncoll__allocate(ctx, (size_t)size * sizeof *world), own = -1;

    if (world == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a group of %d ranks",
                           size);
    for (int i = 0; i < size; i++) {
        world[i] = ncoll__world_rank(parent, (unsigned)members[i].rank);
        own = members[i].rank == parent->rank ? i : own;
    }
    if (has_mail)
        bytes = EPOCHS * parent->window->shape.bulk_bytes;
    int rc = ncoll__group_make(ctx, own, size, world, bytes, slots, &c->group);
    if (rc == NCOLL_OK && has_mail)
        rc = ncoll__group_add_mail(c->group, &c->args.mail);
    if (rc == NCOLL_OK && has_mail)
        rc = ncoll__stale_make(c->group, c->wanted);
    if (rc != NCOLL_OK)
        return rc;
    if (own == 0)
        c->own_vote.created = c->own.created;
    c->group->name = knows_members(&c->args) ? NO_NAME /* the name is not known yet */
                                             : name_of(c->group, c->all[members[0].rank].created);
    c->group->sync = parent->sync;
    return NCOLL_OK;
}

static int no_room(struct ncoll_context *ctx, int rank)
{
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_RESOURCE, QUEUES_FULL), rank,
                       "make smaller groups, or keep the order of the parent's ranks, which takes "
                       "fewer connections",
                       "the device of rank %d has no room in its queues for the connections that "
                       "the group takes",
                       rank);
}

/* Offers connections to the base peers of the new group. If the device has no room for all of them,
 * offers none, and returns an error. */
static int make_offers(struct ncoll_group *parent, struct creation *c, const struct member *members)
{
    struct ncoll_group *g = c->group;
    struct transport *t = parent->ctx->transport;
    int rc = NCOLL_OK;

    c->n_peers = ncoll__base_peers((unsigned)g->rank, (unsigned)g->size, c->peers);
    for (unsigned i = 0; i < c->n_peers; i++)
        c->world_peers[i] = ncoll__world_rank(g, c->peers[i]);
    c->no_room = t->ops->has_room != NULL && !t->ops->has_room(t, c->world_peers, c->n_peers);
    if (c->no_room)
        return no_room(parent->ctx, parent->ctx->rank);
    for (unsigned i = 0; i < c->n_peers && rc == NCOLL_OK; i++) {
        c->peers[i] = (unsigned)members[c->peers[i]].rank;
        rc = t->ops->offer(t, g->window, c->world_peers[i], BASE_DEPTH,
                           ncoll__relay_add(c->relay, c->peers[i]));
    }
    return rc;
}

/* ------------------------------------------------------------------ making: calls ------------- */

/* Votes that this rank cannot make its part of the group, because of the error recorded last. The
 * calls still go on. */
static void cannot(struct ncoll_group *parent, struct creation *c)
{
    struct ncoll_context *ctx = parent->ctx;

    if (c->own_vote.verdict == 0)
        c->error = ctx->error;
    /* names the rank that has failed, since the others may not know it yet */
    int rank = c->error.status == NCOLL_ERR_PEER && c->error.peer >= 0 ? c->error.peer : ctx->rank;
    c->own_vote.verdict =
        (int64_t)c->error.status * (INT64_C(1) << 32) + (c->no_room ? NO_ROOM : 0) + rank;
}

/* Returns true if this rank should wait for a window, as all are in use and a group is being freed.
 * The time is limited, since ranks that have to free the group may be waiting for this rank. */
static bool wait_for_window(struct ncoll_context *ctx, struct creation *c)
{
    uint64_t now_ns = ncoll__now_ns(ctx);

    if (ncoll__group_has_window(ctx) || !ncoll__groups_are_ending(ctx))
        return false;
    if (c->short_since_ns == 0)
        c->short_since_ns = now_ns;
    return now_ns - c->short_since_ns < ENDING_NS;
}

static int prepare_wire(struct ncoll_group *parent, struct call *call)
{
    struct creation *c = parent->creating;

    (void)call;
    if (c->own.color >= 0 && wait_for_window(parent->ctx, c))
        return NCOLL_TIMEOUT;
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
    ncoll__release(parent->ctx, c->all); /* the records are not needed any more */
    c->all = NULL;
    ncoll__relay_begin(c->relay);
    return NCOLL_OK;
}

/* Accepts the offers of all base peers. A peer that has offered nothing cannot make the group, and
 * votes so itself. */
static void accept_all(struct ncoll_group *parent, struct creation *c)
{
    struct ncoll_context *ctx = parent->ctx;
    struct transport *t = ctx->transport;
    unsigned n = 0;

    for (unsigned i = 0; i < c->n_peers; i++) {
        int world = c->world_peers[i];
        size_t len;
        const void *address = ncoll__address_of(ctx, world, &len);
        const struct offer *offer = ncoll__relay_find(c->relay, c->peers[i]);
        if (offer == NULL)
            continue;
        if (t->ops->accept(t, c->group->window, world, address, len, offer) == NCOLL_OK)
            c->world_peers[n++] = world;
        else
            cannot(parent, c);
    }
    c->n_peers = n;
}

/* Queues a further pass of the relay, which uses the plan of the first pass, in front of a call.
 * Returns NCOLL_TIMEOUT. */
static int another_pass(struct ncoll_group *parent, struct creation *c, struct call *before)
{
    c->pass = (struct call){.args = c->wire->args, .plan = c->relay->plan, .alone = true};
    c->relay->plan->users++;
    ncoll__relay_begin(c->relay);
    ncoll__call_queue_before(parent, &c->pass, before);
    return NCOLL_TIMEOUT;
}

static int prepare_agree(struct ncoll_group *parent, struct call *call)
{
    struct creation *c = parent->creating;

    if (!ncoll__relay_is_over(c->relay))
        return another_pass(parent, c, call);
    if (c->relay->failed) {
        ncoll__fail(parent->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
        cannot(parent, c);
    }
    if (c->own_vote.verdict == 0 && c->group != NULL)
        accept_all(parent, c);
    return NCOLL_OK;
}

/* Prepares the call `connect`. All ranks have accepted all offers, so an error from now on is a
 * failure of the job. */
static int prepare_connect(struct ncoll_group *parent, struct call *call)
{
    struct ncoll_context *ctx = parent->ctx;
    struct creation *c = parent->creating;

    (void)call;
    if (c->agreed.verdict != 0 || c->group == NULL)
        return NCOLL_OK;
    for (unsigned i = 0; ctx->transport->ops->met != NULL && i < c->n_peers; i++)
        ctx->transport->ops->met(ctx->transport, c->world_peers[i]);
    int rc = ncoll__ready(ctx, c->world_peers, c->n_peers);
    if (rc < 0 && ctx->failure.kind == CONTROL_NONE) {
        struct failure failure = ncoll__failure_of_error(ctx);
        ncoll__broken(ctx, &failure);
    }
    return rc;
}

int ncoll__creation_queue(struct ncoll_group *g, struct creation *c, unsigned n)
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

/* Makes the relay, and the arguments of the call for its passes. In a copy the base peers of all
 * ranks lie at the same distances, so that the most letters at a rank are known; in other groups
 * they are not. */
static int make_relay(struct ncoll_group *parent, struct creation *c, struct signature purpose,
                      struct call_args *args)
{
    unsigned size = (unsigned)parent->size, distances[BASE_PEERS];
    unsigned n = ncoll__base_peers(0, size, distances);
    unsigned n_wanted = 0; /* a smaller group may have more base peers than the parent */

    for (unsigned d = 1; d < size; d *= 2)
        n_wanted += 2;
    bool alike = c->args.kind == GROUP_DUP;
    unsigned most = ncoll__relay_most(size, alike ? distances : NULL, n);
    unsigned room = alike ? most : 2 * n_wanted > LETTERS_FIRST ? 2 * n_wanted : LETTERS_FIRST;

    c->relay = ncoll__relay_new(parent, n_wanted, most);
    if (c->relay == NULL)
        return ncoll__fail(parent->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    return ncoll__relay_call(c->relay, room, purpose, args);
}

static int queue_creation(struct ncoll_group *parent, struct creation *c)
{
    struct signature signature = ncoll__group_signature(c->args.kind, c->args.hash);
    struct call *call = c->calls;

    if (!knows_members(&c->args)) {
        call->args = ncoll__base_call(COLL_ALLGATHER, &c->own, c->all, RECORD_NUMBERS,
                                      ncoll__signature_with(signature, PURPOSE_GATHER));
        call++->args.type = NCOLL_INT32;
    }
    int rc = make_relay(parent, c, ncoll__signature_with(signature, PURPOSE_WIRE), &call->args);
    if (rc != NCOLL_OK)
        return rc;
    c->wire = call;
    call->alone = true;
    call++->prepare = prepare_wire;
    c->own_vote.created = INT64_MAX;
    call->args = ncoll__base_call(COLL_ALLREDUCE, &c->own_vote, &c->agreed, sizeof c->agreed / WORD,
                                  ncoll__signature_with(signature, PURPOSE_AGREE));
    call->alone = true;
    call++->prepare = prepare_agree;
    if (!parent->ctx->transport->at_once) {
        call->args = ncoll__base_call(COLL_BARRIER, NULL, NULL, 0,
                                      ncoll__signature_with(signature, PURPOSE_LEAVE));
        call->alone = true;
        call++->prepare = prepare_connect;
    }
    rc = ncoll__creation_queue(parent, c, (unsigned)(call - c->calls));
    if (rc == NCOLL_OK) {
        c->relay->plan = c->wire->plan;
        c->relay->plan->users++;
    }
    return rc;
}

/* Allocates memory for the records that a split gathers, or copies the user's list of ranks, or the
 * description of the object to make. Returns false if there is no memory. */
static bool prepare_members(struct ncoll_group *parent, struct creation *c)
{
    size_t bytes = (size_t)c->args.n_ranks * sizeof *c->ranks;

    if (c->args.wanted != NULL) {
        if ((c->wanted = ncoll__allocate(parent->ctx, sizeof *c->wanted)) == NULL)
            return false;
        *c->wanted = *c->args.wanted;
    }
    if (!knows_members(&c->args))
        c->all = ncoll__allocate(parent->ctx, (size_t)parent->size * sizeof *c->all);
    if (c->args.kind != GROUP_FROM_RANKS)
        return knows_members(&c->args) || c->all != NULL;
    if ((c->ranks = ncoll__allocate(parent->ctx, bytes)) != NULL)
        memcpy(c->ranks, c->args.ranks, bytes);
    return c->ranks != NULL;
}

static int start_creation(struct ncoll_group *parent, const struct creation_args *args)
{
    struct ncoll_context *ctx = parent->ctx;
    struct creation *c;
    int rc = ncoll__failure(ctx);

    if (rc != NCOLL_OK)
        return rc;
    if ((c = ncoll__allocate(ctx, sizeof *c)) == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    c->args = *args;
    c->own = (struct record){args->color, args->key, (uint32_t)++ctx->created};
    ncoll__set_creating(parent, c);
    if (!prepare_members(parent, c))
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    else if (ctx->hooks.any && args->mail.n_slots == 0)
        rc = ncoll__hooked_group_begins(parent, args->kind, &c->hooked);
    if (rc == NCOLL_OK)
        rc = queue_creation(parent, c);
    if (rc != NCOLL_OK) {
        ncoll__hooked_ends(ctx, &c->hooked, rc);
        ncoll__creation_free(ctx, c);
        ncoll__set_creating(parent, NULL);
    }
    return rc;
}

/* Returns the result of the creation, after all its calls have ended with NCOLL_OK. Sets *out to
 * the new group; NULL: this rank is in none. */
static int result_of(struct ncoll_group *parent, struct creation *c, ncoll_group **out)
{
    struct ncoll_context *ctx = parent->ctx;
    int64_t verdict = c->agreed.verdict;
    int low = (int)(uint32_t)verdict, status = (int)((verdict - low) / (INT64_C(1) << 32));
    int rank = low & ~NO_ROOM;

    if (verdict == 0) {
        if (c->group != NULL) {
            if (knows_members(&c->args))
                c->group->name = name_of(c->group, (uint64_t)c->agreed.created);
            c->group->magic = GROUP_MAGIC;
        }
        *out = c->group;
        return NCOLL_OK;
    }
    if (c->group != NULL)
        ncoll__group_free(c->group, true);
    c->group = NULL;
    if (c->own_vote.verdict != 0)
        return ncoll__fail(ctx, BECAUSE_OF(c->error.status, c->error.reason), c->error.peer,
                           c->error.remedy, "%s", c->error.cause);
    if ((low & NO_ROOM) != 0)
        return no_room(ctx, rank);
    if (status == NCOLL_ERR_PEER)
        return ncoll__fail(
            ctx, BECAUSE(status, PEER_FAILED), rank, "see what the ranks report",
            "rank %d failed or left, or could not be reached by another one, while the "
            "group was made",
            rank);
    return ncoll__fail(ctx, BECAUSE(status, PEER_FAILED), rank, "see what it reports",
                       "rank %d could not make the group (%s)", rank, ncoll_status_text(status));
}

static bool same_args(const struct creation_args *a, const struct creation_args *b)
{
    return a->kind == b->kind && a->color == b->color && a->key == b->key && a->ranks == b->ranks &&
           a->n_ranks == b->n_ranks && a->mail.n_slots == b->mail.n_slots &&
           (a->mail.n_slots == 0 || a->hash == b->hash);
}

int ncoll__group_busy(struct ncoll_group *g)
{
    const struct creation *c = g->creating;
    bool is_object = c != NULL && (c->args.mail.n_slots > 0 || g->stale != NULL);
    const char *what = c == NULL    ? ncoll__collective_name(g->known.unfinished->args.collective)
                       : !is_object ? ncoll__collective_name((enum collective)c->args.kind)
                       : g->stale == NULL ? "ncoll_stale_create()"
                                          : "ncoll_stale_free()";

    return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                       "call it again first, with the same arguments, until it is finished",
                       "an earlier %s returned NCOLL_TIMEOUT", what);
}

int ncoll__making_busy(struct ncoll_group *g)
{
    return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                       "call it again first, with the same arguments, until it is finished",
                       "an earlier ncoll_stale_create() returned NCOLL_TIMEOUT");
}

int ncoll__creation_check(struct ncoll_group *g, const struct creation_args *args)
{
    const struct creation *c = g->creating;

    if (c != NULL ? same_args(&c->args, args) : g->known.unfinished == NULL)
        return NCOLL_OK;
    return ncoll__group_busy(g);
}

int ncoll__group_create(struct ncoll_group *parent, const struct creation_args *args,
                        ncoll_group **out, int64_t timeout_ns)
{
    int rc = ncoll__creation_check(parent, args);

    if (rc == NCOLL_OK && parent->creating == NULL)
        rc = start_creation(parent, args);
    if (rc != NCOLL_OK)
        return rc;
    struct creation *c = parent->creating;
    rc = ncoll__call_drive(parent, c->last, timeout_ns);
    if (rc == NCOLL_TIMEOUT)
        return ncoll__timed_out(parent, timeout_ns);
    ncoll__set_creating(parent, NULL);
    if (rc == NCOLL_OK)
        rc = result_of(parent, c, out);
    else if (c->group != NULL)
        ncoll__group_free(c->group, false);
    ncoll__hooked_ends(parent->ctx, &c->hooked, rc);
    ncoll__creation_free(parent->ctx, c);
    return rc;
}
