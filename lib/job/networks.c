/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/job/networks.h"

#include "lib/base/group.h"
#include "lib/job/join.h"

/* True on the first rank of each node, which tells the networks of the node. */
static bool speaks_for_node(const struct ncoll_context *ctx, const struct examination *x)
{
    return x->leader_rank == ctx->rank;
}

/* Keeps the networks that rank r has told, if it has told any. */
static int keep(struct ncoll_context *ctx, int r, struct announcement *told, unsigned *n)
{
    const void *bytes;
    size_t len;

    int rc = ncoll__get(ctx, r, &bytes, &len);
    if (rc == NCOLL_OK && len > 0 && *n < (unsigned)ctx->places.nodes)
        told[(*n)++] = (struct announcement){bytes, len, r};
    return rc;
}

int ncoll__networks_share(struct ncoll_context *ctx, const struct transport_ops *ops,
                          const struct examination *x, struct transport_config *config)
{
    struct blob mine = {0};
    unsigned n = 0;

    if (ops == NULL || ops->networks == NULL || ctx->places.nodes == 1)
        return NCOLL_OK;
    struct announcement *told = ncoll__allocate(ctx, (size_t)ctx->places.nodes * sizeof *told);
    if (told == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d nodes",
                           ctx->places.nodes);
    if (speaks_for_node(ctx, x) && !ops->networks(config, &mine))
        ncoll__blob_free(&mine);
    ctx->exchanges_for_all++;
    int rc = ncoll__exchange(ctx, mine.bytes, mine.len);
    ncoll__blob_free(&mine);
    for (int r = 0; rc == NCOLL_OK && r < ctx->ranks; r++)
        rc = keep(ctx, r, told, &n);
    if (rc != NCOLL_OK) {
        ctx->may_exchange = false; /* every rank finds this error */
        ncoll__release(ctx, told);
        return rc;
    }
    config->networks = told;
    config->n_networks = (unsigned)ctx->places.nodes;
    if (n < config->n_networks)
        config->n_networks = 0; /* some node has told none; it reports that itself */
    return NCOLL_OK;
}
