/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tells hooks of calls. While a context has hooks, ctx->pending is not 0, so that all calls leave
 * the short path and begin in ncoll__begin(). A call that begins there gets a record of what the
 * hooks are told. The record goes with the call that the user waits for, which may be the barrier
 * of a strict exit or the last step of a compressed call. The hooks are told once that the call has
 * ended: in ncoll__begin() itself or in ncoll__call_end().
 */
#include "lib/run/hooked.h"

#include <stddef.h>

#include "lib/base/compressor.h"
#include "lib/base/names.h"
#include "lib/base/signature.h"
#include "lib/plan/plan.h"
#include "lib/run/threshold.h"
#include "lib/stale/stale.h"

#define SAME(collective)                                                                           \
    _Static_assert((int)NCOLL_CALL_##collective == (int)COLL_##collective, "the same numbers")
SAME(BARRIER);
SAME(ALLREDUCE);
SAME(BCAST);
SAME(REDUCE);
SAME(GATHER);
SAME(SCATTER);
SAME(ALLGATHER);
SAME(ALLTOALL);
SAME(REDUCE_SCATTER);
SAME(SCAN);
SAME(EXSCAN);
_Static_assert((int)NCOLL_CALL_GROUP_SPLIT == (int)GROUP_SPLIT &&
                   (int)NCOLL_CALL_GROUP_FROM_RANKS == (int)GROUP_FROM_RANKS &&
                   (int)NCOLL_CALL_GROUP_DUP == (int)GROUP_DUP &&
                   (int)NCOLL_CALL_GROUP_FREE == (int)GROUP_FREE,
               "the same numbers");

/* ------------------------------------------------------------------ bytes --------------------- */

static size_t sum(const size_t *counts, int n)
{
    size_t all = 0;

    for (int q = 0; q < n; q++)
        all += counts[q];
    return all;
}

/* Returns the number of elements in a buffer of this form. */
static size_t elements(const struct ncoll_group *g, const struct call_args *args,
                       enum data_form form, const size_t *counts)
{
    switch (form) {
    case FORM_NONE:
        return 0;
    case FORM_BLOCKS:
        return counts != NULL ? sum(counts, g->size) : args->count * (size_t)g->size;
    case FORM_VECTOR:
        break;
    }
    return counts != NULL ? counts[g->rank] : args->count;
}

static size_t bytes_of(const struct ncoll_group *g, const struct call_args *args, size_t count)
{
    return count * (count > 0 ? ncoll_context_type_size(g->ctx, args->type) : 0);
}

size_t ncoll__given_bytes(const struct ncoll_group *g, const struct call_args *args)
{
    bool by_root = args->collective == COLL_BCAST || args->collective == COLL_SCATTER;
    const size_t *counts = args->sends != NULL ? args->sends : args->counts;

    if (by_root && args->root != g->rank)
        return 0;
    return bytes_of(g, args, elements(g, args, in_form(args->collective), counts));
}

size_t ncoll__got_bytes(const struct ncoll_group *g, const struct call_args *args)
{
    bool at_root = args->collective == COLL_REDUCE || args->collective == COLL_GATHER;
    bool is_root = is_rooted(args->collective) && args->root == g->rank;

    if ((at_root && !is_root) || (args->collective == COLL_BCAST && is_root) ||
        (args->collective == COLL_EXSCAN && g->rank == 0))
        return 0;
    return bytes_of(g, args, elements(g, args, out_form(args->collective), args->counts));
}

size_t ncoll__longer_bytes(const struct ncoll_group *g, const struct call_args *args)
{
    size_t given = ncoll__given_bytes(g, args), got = ncoll__got_bytes(g, args);

    return given > got ? given : got;
}

/* ------------------------------------------------------------------ facts for hooks ----------- */

/* Returns ncoll_call_info.name: the function that the user called, without ncoll_, _start and
 * _init. */
static const char *name_of(const struct ncoll_group *g, const struct call_args *args)
{
    static const char *const with_counts[COLLECTIVES] = {
        [COLL_GATHER] = "gatherv",
        [COLL_SCATTER] = "scatterv",
        [COLL_ALLGATHER] = "allgatherv",
        [COLL_ALLTOALL] = "alltoallv",
        [COLL_REDUCE_SCATTER] = "reduce_scatter",
    };

    if (g->stale != NULL && args->collective == COLL_ALLREDUCE)
        return g->stale->params.partial ? "allreduce_partial" : "allreduce_ssp";
    if (args->compressor != NULL)
        return args->collective == COLL_BCAST ? "bcast_compressed" : "allreduce_compressed";
    if (args->made != NULL)
        return args->collective == COLL_BCAST ? "bcast_threshold" : "reduce_threshold";
    if (args->needs_counts)
        return with_counts[args->collective];
    return args->collective == COLL_REDUCE_SCATTER ? "reduce_scatter_block"
                                                   : ncoll__collective_name(args->collective);
}

static ncoll_call_mode mode_of(const struct ncoll_group *g, const struct call *c)
{
    if (c == &g->blocking)
        return NCOLL_MODE_TIMEOUT;
    const struct ncoll_request *r =
        (const void *)((const char *)c - offsetof(struct ncoll_request, call));
    return r->persistent ? NCOLL_MODE_PERSISTENT : NCOLL_MODE_REQUEST;
}

/* Returns the arguments as the user gave them. */
static struct call_args user_args(const struct call_args *args)
{
    struct call_args a = *args;

    if (args->made != NULL) {
        const struct threshold_call *user = &args->made->user;
        a.collective = user->collective;
        a.count = user->count;
        a.type = user->type;
        a.op = user->op;
        a.root = user->root;
    }
    if (args->compressor != NULL)
        a.op = 0;
    return a;
}

static void note_plan(ncoll_call_info *info, const struct plan *plan)
{
    info->algorithm = plan->algorithm->name;
    info->radix = (int)plan->radix;
}

static ncoll_call_info info_of(const struct ncoll_group *g, const struct call *c,
                               const struct known_call *k)
{
    const struct call_args a = user_args(&k->args);
    ncoll_call_info info = {
        .kind = (ncoll_call_kind)a.collective,
        .mode = mode_of(g, c),
        .name = name_of(g, &a),
        .root = is_rooted(a.collective) ? a.root : -1,
        .type = a.collective != COLL_BARRIER ? a.type : 0,
        .op = reduces(a.collective) ? a.op : 0,
        .count = a.needs_counts ? 0 : a.count,
        .in_bytes = ncoll__given_bytes(g, &a),
        .out_bytes = ncoll__got_bytes(g, &a),
    };

    if (k->plan != NULL)
        note_plan(&info, k->plan);
    return info;
}

/* ------------------------------------------------------------------ begin, end ---------------- */

static struct hooked *take(struct ncoll_context *ctx)
{
    struct hooked *h = ctx->hooks.idle;

    if (h != NULL)
        ctx->hooks.idle = h->next;
    else if ((h = ncoll__allocate(ctx, sizeof *h)) == NULL)
        ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to tell the hooks of a call");
    return h;
}

static int begin(struct ncoll_group *g, ncoll_call_info info, struct hooked **hooked)
{
    struct ncoll_context *ctx = g->ctx;
    struct hooked *h = take(ctx);

    if (h == NULL)
        return NCOLL_ERR_MEMORY;
    info.size = sizeof info;
    info.id = ++ctx->hooks.calls;
    info.group = g;
    info.group_id = g->name;
    info.rank = g->rank;
    info.ranks = g->size;
    *h = (struct hooked){.info = info, .hooks = ctx->hooks.hooks};
    if (h->hooks.begin != NULL)
        h->begun = h->hooks.begin(&h->info, h->hooks.user);
    *hooked = h;
    return NCOLL_OK;
}

int ncoll__hooked_begins(struct ncoll_group *g, struct call *c, const struct known_call *k)
{
    return begin(g, info_of(g, c, k), &c->hooked);
}

int ncoll__hooked_group_begins(struct ncoll_group *g, int kind, struct hooked **hooked)
{
    const ncoll_call_info info = {.kind = (ncoll_call_kind)kind,
                                  .name = ncoll__collective_name((enum collective)kind),
                                  .root = -1};

    return begin(g, info, hooked);
}

void ncoll__hooked_planned(struct call *c)
{
    if (c->hooked != NULL && c->plan != NULL)
        note_plan(&c->hooked->info, c->plan);
}

void ncoll__hooked_ends(struct ncoll_context *ctx, struct hooked **hooked, int status)
{
    struct hooked *h = *hooked;

    if (h == NULL)
        return;
    *hooked = NULL;
    if (h->info.kind == NCOLL_CALL_GROUP_FREE)
        h->info.group = NULL;
    if (h->hooks.end != NULL)
        h->hooks.end(&h->info, status, h->begun, h->hooks.user);
    h->next = ctx->hooks.idle;
    ctx->hooks.idle = h;
}

void ncoll__hooked_free(struct ncoll_context *ctx)
{
    for (struct hooked *h = ctx->hooks.idle, *next; h != NULL; h = next) {
        next = h->next;
        ncoll__release(ctx, h);
    }
    ctx->hooks.idle = NULL;
}
