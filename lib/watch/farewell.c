/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This file finds calls that one rank has made and another has not, when the ranks leave.
 *
 * A call that waits for nobody, such as a bcast at its root, returns NCOLL_OK even if no other rank
 * makes it. A later call would show the difference (mismatch.c); if there is none, it is found
 * here. A rank that leaves sends every connected peer a farewell: the calls that it has made on the
 * groups that both are in, by their number, the hash of their history, and the signature of the
 * last one. The rank that leaves later compares this with its own calls. It does not wait: if the
 * peer has not left yet, there is no farewell to compare.
 *
 * In a correct program all members of a group make the same calls, and have ended them when they
 * leave, so that number, hash and signature are equal. A group that is freed is freed by all of its
 * members. A rank whose job has failed, or that leaves in the middle of a call, does not know what
 * the others have called: it tells nothing and compares nothing.
 *
 * A farewell describes the world and the latest groups one by one, and all groups together by a
 * checksum.
 */
#include <stdio.h>

#include "lib/base/group.h"
#include "lib/base/signature.h"
#include "lib/stale/stale.h"
#include "lib/watch/failure.h"

/* The farewells of this rank to its peers. */
struct farewells {
    unsigned *place; /* [ranks] 1 + index of the rank's farewell in `to`; 0: it is not connected */
    struct farewell *to;
};

/* ------------------------------------------------------------------ telling ------------------- */

static bool knows_its_calls(const struct ncoll_context *ctx)
{
    bool knows = ctx->failure.kind == CONTROL_NONE && !ctx->suspect.pending;

    for (const struct ncoll_group *g = ctx->groups; g != NULL && knows; g = g->next)
        knows = g->first == NULL && g->creating == NULL && g->wiring.state == WIRING_IDLE;
    return knows;
}

static struct signature signature_at(const struct ncoll_group *g, uint64_t epoch)
{
    return g->history[epoch % HISTORY];
}

static struct called calls_on(const struct ncoll_group *g)
{
    return (struct called){g->name, g->next_epoch - 1, g->history_hash,
                           signature_at(g, g->next_epoch - 1)};
}

static uint64_t hash_of(const struct called *c)
{
    uint64_t hash = (c->group * UINT64_C(0x9e3779b97f4a7c15) ^ c->epoch) + c->history_hash;

    hash = (hash ^ hash >> 32) * UINT64_C(0xc2b2ae3d27d4eb4f);
    return hash ^ hash >> 29;
}

/* Adds the calls on a group to the farewells to its members. */
static void add(struct farewells *all, const struct ncoll_group *g)
{
    struct called called = calls_on(g);

    for (unsigned r = 0; r < (unsigned)g->size; r++) {
        unsigned place = all->place[ncoll__world_rank(g, r)];
        if (place == 0)
            continue;
        struct farewell *f = &all->to[place - 1];
        if (f->n_groups < FAREWELL_GROUPS)
            f->called[f->n_groups] = called;
        f->n_groups++;
        f->sum += hash_of(&called);
    }
}

/* True if a rank may leave when others have yet to make calls on the group: a partial allreduce
 * goes on without ranks that have left. */
static bool may_make_fewer_calls(const struct ncoll_group *g)
{
    return g->stale != NULL && g->stale->params.partial;
}

/* Writes the farewells to all connected peers. Returns false if this rank does not know its calls,
 * is connected to no peer, or has no memory. */
static bool write_farewells(struct ncoll_context *ctx, struct farewells *all)
{
    struct transport *t = ctx->transport;
    unsigned n = 0;

    *all = (struct farewells){0};
    if (!knows_its_calls(ctx))
        return false;
    all->place = ncoll__allocate(ctx, (size_t)ctx->ranks * sizeof *all->place);
    for (int r = 0; r < ctx->ranks && all->place != NULL; r++)
        if (r != ctx->rank && t->ops->endpoint(t, r) != NULL)
            all->place[r] = ++n;
    if (n > 0)
        all->to = ncoll__allocate(ctx, n * sizeof *all->to);
    if (all->to == NULL)
        return false;
    add(all, ctx->world);
    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        if (g != ctx->world && !may_make_fewer_calls(g))
            add(all, g);
    return true;
}

static void say(void *arg, int rank, struct farewell *out)
{
    const struct farewells *all = arg;

    if (all->place[rank] != 0)
        *out = all->to[all->place[rank] - 1];
}

/* ------------------------------------------------------------------ comparing ----------------- */

/* A difference between the calls of two ranks on a group that both are in. */
struct difference {
    const struct ncoll_group *group; /* NULL: a group of which only the checksum tells */
    int rank[2];                     /* the ranks that called signature[0] and signature[1] */
    bool called[2];                  /* false: that rank made no call there */
    struct signature signature[2];
};

/* Finds the call in which this rank and the peer differ: that of the first run that only one of
 * them has; or of the peer's last run, if both have it. Only the last of the peer's runs is
 * known. */
static void find_call(const struct ncoll_group *g, const struct called *theirs, int peer,
                      struct difference *out)
{
    uint64_t mine = g->next_epoch - 1;
    bool known = theirs->epoch <= mine && mine < theirs->epoch + HISTORY;
    bool alike = known && theirs->epoch > 0 &&
                 signature_equal(signature_at(g, theirs->epoch), theirs->signature);

    *out = (struct difference){.group = g, .rank = {g->ctx->rank, peer}};
    if (mine > theirs->epoch && (alike || !known || theirs->epoch == 0)) {
        out->called[0] = true;
        out->signature[0] = signature_at(g, known ? theirs->epoch + 1 : mine);
    } else if (mine < theirs->epoch) {
        out->rank[0] = peer;
        out->rank[1] = g->ctx->rank;
        out->called[0] = true;
        out->signature[0] = theirs->signature;
    } else {
        out->called[0] = out->called[1] = true;
        out->signature[0] = signature_at(g, theirs->epoch);
        out->signature[1] = theirs->signature;
    }
}

static const struct ncoll_group *group_by_name(const struct ncoll_context *ctx, uint64_t name)
{
    const struct ncoll_group *g = ctx->groups;

    while (g != NULL && g->name != name)
        g = g->next;
    return g;
}

/* Returns true if the farewells of two ranks show that they made different calls, and sets *out. */
static bool differ(const struct ncoll_context *ctx, const struct farewell *mine,
                   const struct farewell *theirs, int peer, struct difference *out)
{
    if (theirs->n_groups == 0 || (mine->n_groups == theirs->n_groups && mine->sum == theirs->sum))
        return false;
    for (unsigned i = 0; i < FAREWELL_GROUPS && i < theirs->n_groups; i++) {
        const struct called *called = &theirs->called[i];
        const struct ncoll_group *g = group_by_name(ctx, called->group);
        if (g == NULL ||
            (g->next_epoch - 1 == called->epoch && g->history_hash == called->history_hash))
            continue;
        find_call(g, called, peer, out);
        return true;
    }
    *out = (struct difference){.rank = {ctx->rank, peer}};
    return true;
}

static void report(struct ncoll_context *ctx, const struct difference *d)
{
    char calls[2][192], text[512], where[64];

    for (unsigned i = 0; i < 2; i++)
        if (d->called[i])
            ncoll__signature_text(d->signature[i], calls[i], sizeof calls[i]);
    if (d->group == NULL)
        snprintf(where, sizeof where, "on some group of both");
    else if (d->group == ctx->world)
        snprintf(where, sizeof where, "on the world");
    else
        snprintf(where, sizeof where, "on a group of %d ranks", d->group->size);
    if (!d->called[0])
        snprintf(text, sizeof text, "rank %d and rank %d made different calls", d->rank[0],
                 d->rank[1]);
    else if (!d->called[1])
        snprintf(text, sizeof text, "rank %d called %s, rank %d did not", d->rank[0], calls[0],
                 d->rank[1]);
    else
        snprintf(text, sizeof text, "rank %d called %s, rank %d called %s%s", d->rank[0], calls[0],
                 d->rank[1], calls[1],
                 ncoll__signature_same_call(d->signature[0], d->signature[1])
                     ? ", but something else before"
                     : "");
    ncoll__log(ctx, NCOLL_LOG_WARN,
               "ranks called different collectives before they destroyed their contexts: %s, %s; "
               "all ranks of a group must call the same collectives with the same arguments in the "
               "same order",
               text, where);
}

/* Compares this rank's calls with those of peers that have left, and reports one difference: others
 * follow from it, or are like it. */
static void compare(struct ncoll_context *ctx, const struct farewells *all)
{
    struct transport *t = ctx->transport;
    struct farewell theirs;
    struct difference difference;

    for (int r = 0; r < ctx->ranks; r++) {
        struct endpoint *peer = all->place[r] != 0 ? t->ops->endpoint(t, r) : NULL;
        if (peer != NULL && peer->by->ops->farewell(peer->by, peer, &theirs) &&
            differ(ctx, &all->to[all->place[r] - 1], &theirs, r, &difference)) {
            report(ctx, &difference);
            return;
        }
    }
}

void ncoll__leave_peers(struct ncoll_context *ctx)
{
    struct transport *t = ctx->transport;
    struct farewells all;
    bool told = write_farewells(ctx, &all);

    t->ops->leave(t, told ? say : NULL, &all);
    if (told && ctx->failure.kind == CONTROL_NONE)
        compare(ctx, &all);
    ncoll__release(ctx, all.place);
    ncoll__release(ctx, all.to);
}
