/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges of the bootstrap. Every blob begins with a word by which a rank that cannot go on says
 * so in the place of what it would have published. Otherwise the others would wait in vain where
 * the bootstrap cannot tell them of a process that goes on without a context (PMIx, callbacks), and
 * where it can they would not hear whose failure it was in the first place.
 */
#include <stdio.h>
#include <string.h>

#include "lib/failure/failure.h"
#include "lib/group/join.h"
#include "lib/internal.h"

/* What a blob begins with. */
struct word {
    int32_t status; /* NCOLL_OK: what is published follows; else a text: why */
    int32_t rank;   /* this rank has failed */
};

int ncoll__nobody_came(struct ncoll_context *ctx)
{
    const struct bootstrap *b = ctx->bootstrap;
    int missing = b->ops->missing != NULL ? b->ops->missing(ctx->bootstrap) : -1;
    char who[32] = "another rank";

    if (missing >= 0)
        snprintf(who, sizeof who, "rank %d", missing);
    return ncoll__fail(ctx, NCOLL_ERR_BOOTSTRAP, missing,
                       "start all ranks, or raise NCOLL_BOOTSTRAP_TIMEOUT (seconds)",
                       "%s did not come within %g s%s", who,
                       (double)ctx->settings.bootstrap_timeout_ns / 1e9,
                       b->ops->missing == NULL ? " (callbacks cannot tell which one)" : "");
}

static int await(struct ncoll_context *ctx)
{
    struct bootstrap *b = ctx->bootstrap;
    uint64_t deadline = ncoll__now_ns(ctx) + (uint64_t)ctx->settings.bootstrap_timeout_ns;
    unsigned times = 0;
    int rc;

    while ((rc = b->ops->exchange_test(b)) == NCOLL_TIMEOUT) {
        int failed = b->ops->failed != NULL ? b->ops->failed(b) : -1;
        int culprit = failed >= 0 ? ncoll__culprit(ctx, failed) : -1;
        failed = culprit >= 0 ? culprit : failed;
        if (failed >= 0)
            return ncoll__fail(ctx, NCOLL_ERR_PEER, failed, "see what that rank reported",
                               "rank %d failed while the ranks were finding each other", failed);
        if (ncoll__now_ns(ctx) >= deadline)
            return ncoll__nobody_came(ctx);
        ncoll__backoff(&times);
    }
    return rc;
}

static int exchange(struct ncoll_context *ctx, struct word word, const void *bytes, size_t len)
{
    struct bootstrap *b = ctx->bootstrap;
    struct blob blob = {0};
    int rc;

    ctx->may_exchange = false;
    ncoll__blob_add(&blob, &word, sizeof word);
    ncoll__blob_add(&blob, bytes, len);
    if (blob.failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for an exchange of %zu bytes",
                         len);
    else
        rc = b->ops->exchange_start(b, blob.bytes, blob.len);
    ctx->exchanged_bytes += blob.len;
    ncoll__blob_free(&blob);
    if (rc == NCOLL_OK)
        rc = await(ctx);
    ctx->may_exchange = rc == NCOLL_OK;
    return rc;
}

int ncoll__exchange(struct ncoll_context *ctx, const void *blob, size_t len)
{
    return exchange(ctx, (struct word){NCOLL_OK, ctx->rank}, blob, len);
}

int ncoll__exchange_failure(struct ncoll_context *ctx)
{
    ncoll_error own = ctx->error;
    struct failure failure = ncoll__failure_of_error(ctx);

    if (!ctx->may_exchange)
        return own.status;
    exchange(ctx, (struct word){own.status, failure.rank[0]}, failure.why, strlen(failure.why));
    ctx->error = own;
    return own.status;
}

/* A word that is not NCOLL_OK. */
static int failed(struct ncoll_context *ctx, int rank, struct word word, const char *why,
                  size_t len)
{
    int which = word.rank >= 0 && word.rank < ctx->ranks ? word.rank : rank;

    if (word.status > NCOLL_OK) /* it begins with something else */
        return ncoll__fail(ctx, NCOLL_ERR_BOOTSTRAP, rank, "use the same library on all ranks",
                           "rank %d runs another version of ncoll than rank %d", rank, ctx->rank);
    return ncoll__fail(ctx, NCOLL_ERR_PEER, which, "see what that rank reported",
                       "rank %d failed while the ranks were finding each other (%.*s)", which,
                       (int)(len < 96 ? len : 95), why);
}

int ncoll__get(struct ncoll_context *ctx, int rank, const void **blob, size_t *len)
{
    struct word word = {.status = 1};
    const void *bytes;
    unsigned times = 0;
    size_t n;
    int rc;

    while ((rc = ctx->bootstrap->ops->get(ctx->bootstrap, rank, &bytes, &n)) == NCOLL_TIMEOUT)
        ncoll__backoff(&times);
    if (rc != NCOLL_OK)
        return rc;
    if (n >= sizeof word)
        memcpy(&word, bytes, sizeof word);
    if (word.status != NCOLL_OK)
        return failed(ctx, rank, word, (const char *)bytes + sizeof word, n - sizeof word);
    *blob = (const char *)bytes + sizeof word;
    *len = n - sizeof word;
    return NCOLL_OK;
}
