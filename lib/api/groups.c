/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls that make and free groups. They check arguments. */
#include "lib/api/check.h"
#include "lib/base/entry.h"
#include "lib/group/creation.h"

/* ------------------------------------------------------------------ public calls -------------- */

static int check_group(const struct ncoll_group *g)
{
    return g != NULL && g->magic == GROUP_MAGIC ? NCOLL_OK : NCOLL_ERR_HANDLE;
}

static int check_call(struct ncoll_group *g, const void *out, int64_t timeout_ns)
{
    if (out == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer to a group",
                           "group is NULL");
    return ncoll__check_timeout(g, timeout_ns);
}

int ncoll_group_split(ncoll_group *parent, int color, int key, ncoll_group **group,
                      int64_t timeout_ns)
{
    const struct creation_args args = {.kind = GROUP_SPLIT, .color = color, .key = key};
    int rc = check_group(parent);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(parent->ctx);
    if ((rc = check_call(parent, group, timeout_ns)) != NCOLL_OK)
        return rc;
    if (color < 0 && color != NCOLL_NO_GROUP)
        return ncoll__fail(parent->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use a color from 0 up, or NCOLL_NO_GROUP", "color %d is negative",
                           color);
    return ncoll__group_create(parent, &args, group, timeout_ns);
}

int ncoll_group_dup(ncoll_group *parent, ncoll_group **group, int64_t timeout_ns)
{
    struct creation_args args = {.kind = GROUP_DUP};
    int rc = check_group(parent);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(parent->ctx);
    if ((rc = check_call(parent, group, timeout_ns)) != NCOLL_OK)
        return rc;
    args.key = parent->rank;
    return ncoll__group_create(parent, &args, group, timeout_ns);
}

/* Checks a list of ranks. Sets *hash to its hash, and *own to the index of this rank in it, if this
 * rank is in it. */
static int check_ranks(struct ncoll_group *parent, const int *ranks, int n, uint64_t *hash,
                       int *own)
{
    struct ncoll_context *ctx = parent->ctx;
    int rc = NCOLL_OK;

    if (ranks == NULL || n < 1 || n > parent->size)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "pass a list of at least one rank, and of no more than the group has",
                           ranks == NULL ? "the list of ranks is NULL" : "the list has %d ranks",
                           n);
    size_t *list = ncoll__allocate(ctx, (size_t)n * sizeof *list);
    bool *seen = ncoll__allocate(ctx, (size_t)parent->size * sizeof *seen);
    if (list == NULL || seen == NULL)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to make a group");
    for (int i = 0; i < n && rc == NCOLL_OK; i++) {
        bool in_range = ranks[i] >= 0 && ranks[i] < parent->size;
        if (!in_range || seen[ranks[i]]) {
            rc = ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "use each rank of the group once at most",
                             in_range ? "rank %d is in the list twice"
                                      : "rank %d is not in the group",
                             ranks[i]);
            break;
        }
        seen[ranks[i]] = true;
        list[i] = (size_t)ranks[i];
        *own = ranks[i] == parent->rank ? i : *own;
    }
    if (rc == NCOLL_OK)
        *hash = ncoll__signature_hash(list, (unsigned)n);
    ncoll__release(ctx, list);
    ncoll__release(ctx, seen);
    return rc;
}

int ncoll_group_from_ranks(ncoll_group *parent, const int *ranks, int n, ncoll_group **group,
                           int64_t timeout_ns)
{
    struct creation_args args = {.kind = GROUP_FROM_RANKS, .ranks = ranks, .n_ranks = n};
    int own = -1, rc = check_group(parent);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(parent->ctx);
    if ((rc = check_call(parent, group, timeout_ns)) != NCOLL_OK ||
        (rc = check_ranks(parent, ranks, n, &args.hash, &own)) != NCOLL_OK)
        return rc;
    args.color = own < 0 ? -1 : 0;
    args.key = own;
    return ncoll__group_create(parent, &args, group, timeout_ns);
}

int ncoll_group_free(ncoll_group **group, int64_t timeout_ns)
{
    struct ncoll_group *g = group != NULL ? *group : NULL;
    int rc = check_group(g);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(g->ctx);
    if ((rc = check_call(g, group, timeout_ns)) != NCOLL_OK)
        return rc;
    if (g == g->ctx->world)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "destroy the context",
                           "the world cannot be freed");
    rc = ncoll__group_end(g, timeout_ns);
    if (g->magic == 0) /* the memory of a freed handle stays for a while, see group.c */
        *group = NULL;
    return rc;
}
