/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges of the bootstrap. Every blob begins with a status. A rank that cannot go on publishes
 * its failure in place of its data. Two problems are avoided in this way. Some bootstraps (PMIx,
 * callbacks) do not report a process that goes on without a context, and the others would wait in
 * vain. Other bootstraps report it, but not whose failure came first.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "lib/watch/failure.h"
#include "lib/job/join.h"
#include "lib/base/group.h"

/* The longest time for which a rank sleeps in an exchange before it looks at the time again. */
#define WAIT_NS UINT64_C(1000000000)

/* The number of exchanges in which each rank gets the blobs of all others; in later ones it gets
 * those of its base peers. The number of an exchange decides, so that a rank that publishes its
 * failure takes part like the others. On several nodes there is one more of the first kind
 * (networks.c). */
#define EXCHANGES_FOR_ALL 2

/* The head of a blob. */
struct word {
    int32_t status; /* NCOLL_OK: data follows; any other status: a text with the reason follows */
    int32_t rank;   /* the rank that has failed */
    uint64_t sum;   /* hash of all other bytes; a blob with another hash is refused */
};

/* Adds bytes to a hash, eight at a time: each rank checks what every other rank has published. */
static uint64_t add(uint64_t sum, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;

    for (uint64_t word; len > 0; sum ^= sum >> 29) {
        size_t n = len < sizeof word ? len : sizeof word;
        word = 0;
        memcpy(&word, at, n);
        sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        at += n;
        len -= n;
    }
    return sum;
}

/* Returns the hash of a blob. It detects accidents, not attacks. */
static uint64_t sum_of(struct word word, const void *bytes, size_t len)
{
    uint64_t sum = add(len, &word, offsetof(struct word, sum));

    return len > 0 ? add(sum, bytes, len) : sum;
}

/* Writes the ranks that have not come, as in "rank 3 and 2 more". Returns the first of them; -1: it
 * is not known. */
static int name_missing(struct ncoll_context *ctx, char *who, size_t size)
{
    struct bootstrap *b = ctx->bootstrap;
    int count = 0, missing = b->ops->missing != NULL ? b->ops->missing(b, &count) : -1;
    size_t n;

    if (missing < 0)
        n = (size_t)snprintf(who, size, "another rank");
    else
        n = (size_t)snprintf(who, size, "rank %d", missing);
    if (count > 1)
        snprintf(who + n, size - n, " and %d more", count - 1);
    return missing;
}

/* Warns of missing ranks. Rank 0 does so for all ranks, unless it is missing itself. */
static void remind(struct ncoll_context *ctx, const struct reminder *r)
{
    char who[64];
    int missing = name_missing(ctx, who, sizeof who);

    ncoll__log(ctx, ctx->rank == 0 || missing == 0 ? NCOLL_LOG_WARN : NCOLL_LOG_INFO,
               "%s did not come within %.1f s; the ranks that have come wait for %g s "
               "(NCOLL_BOOTSTRAP_TIMEOUT)",
               who, (double)r->after_ns / 1e9, (double)ctx->settings.bootstrap_timeout_ns / 1e9);
}

int ncoll__nobody_came(struct ncoll_context *ctx)
{
    const struct bootstrap *b = ctx->bootstrap;
    char who[64];
    int missing = name_missing(ctx, who, sizeof who);

    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_MISSING), missing,
                       "start all ranks, or raise NCOLL_BOOTSTRAP_TIMEOUT (seconds)",
                       "%s did not come within %g s%s", who,
                       (double)ctx->settings.bootstrap_timeout_ns / 1e9,
                       b->ops->missing == NULL ? " (callbacks cannot tell which one)" : "");
}

static int await(struct ncoll_context *ctx)
{
    struct bootstrap *b = ctx->bootstrap;
    struct reminder reminder = {.since_ns = ncoll__now_ns(ctx)};
    uint64_t deadline = reminder.since_ns + (uint64_t)ctx->settings.bootstrap_timeout_ns;
    unsigned times = 0;
    int rc;

    while ((rc = b->ops->exchange_test(b)) == NCOLL_TIMEOUT) {
        int failed = b->ops->failed != NULL ? b->ops->failed(b) : -1;
        int culprit = failed >= 0 ? ncoll__culprit(ctx, failed) : -1;
        failed = culprit >= 0 ? culprit : failed;
        if (failed >= 0)
            return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), failed,
                               "see what that rank reported",
                               "rank %d failed while the ranks were finding each other", failed);
        uint64_t now_ns = ncoll__now_ns(ctx);
        if (now_ns >= deadline)
            return ncoll__nobody_came(ctx);
        if (ncoll__reminder_due(&reminder, now_ns, ctx->settings.stall_warn_ns))
            remind(ctx, &reminder);
        uint64_t left_ns = deadline - now_ns < WAIT_NS ? deadline - now_ns : WAIT_NS;
        if (b->ops->wait != NULL)
            b->ops->wait(b, ncoll__reminder_left_ns(&reminder, now_ns, ctx->settings.stall_warn_ns,
                                                    left_ns));
        else
            ncoll__backoff(&times);
    }
    return rc;
}

static int exchange(struct ncoll_context *ctx, struct word word, const void *bytes, size_t len)
{
    struct bootstrap *b = ctx->bootstrap;
    enum startup_stage stage = ncoll__begin_stage(ctx, STAGE_EXCHANGE);
    struct blob blob = {0};
    int rc;

    ctx->may_exchange = false;
    b->for_few = ctx->exchanges++ >= EXCHANGES_FOR_ALL + ctx->exchanges_for_all;
    word.sum = sum_of(word, bytes, len);
    ncoll__blob_add(&blob, &word, sizeof word);
    ncoll__blob_add(&blob, bytes, len);
    if (blob.failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL,
                         "no memory to exchange %zu bytes with the other ranks", len);
    else
        rc = b->ops->exchange_start(b, blob.bytes, blob.len);
    ctx->exchanged_bytes += blob.len;
    ncoll__blob_free(&blob);
    if (rc == NCOLL_OK)
        rc = await(ctx);
    ctx->may_exchange = rc == NCOLL_OK;
    ncoll__begin_stage(ctx, stage);
    return rc;
}

int ncoll__exchange(struct ncoll_context *ctx, const void *blob, size_t len)
{
    return exchange(ctx, (struct word){.status = NCOLL_OK, .rank = ctx->rank}, blob, len);
}

int ncoll__exchange_failure(struct ncoll_context *ctx)
{
    ncoll_error own = ctx->error;
    struct failure failure = ncoll__failure_of_error(ctx);

    if (!ctx->may_exchange)
        return own.status;
    exchange(ctx, (struct word){.status = own.status, .rank = failure.rank[0]}, failure.why,
             strlen(failure.why));
    ctx->error = own;
    return own.status;
}

/* Records as an error the failure that a rank has published in place of its data. */
static int failed(struct ncoll_context *ctx, int rank, struct word word, const char *why,
                  size_t len)
{
    int which = word.rank >= 0 && word.rank < ctx->ranks ? word.rank : rank;

    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), which,
                       "see what that rank reported",
                       "rank %d failed while the ranks were finding each other (%.*s)", which,
                       (int)(len < 96 ? len : 95), why);
}

void ncoll__ask(struct ncoll_context *ctx, const int *ranks, unsigned n)
{
    struct bootstrap *b = ctx->bootstrap;

    for (unsigned i = 0; b->ops->ask != NULL && i < n; i++)
        b->ops->ask(b, ranks[i]);
}

int ncoll__get(struct ncoll_context *ctx, int rank, const void **blob, size_t *len)
{
    struct word word;
    const char *bytes;
    unsigned times = 0;
    size_t n;
    int rc;

    while ((rc = ctx->bootstrap->ops->get(ctx->bootstrap, rank, (const void **)&bytes, &n)) ==
           NCOLL_TIMEOUT)
        ncoll__backoff(&times);
    if (rc != NCOLL_OK)
        return rc;
    if (n >= sizeof word)
        memcpy(&word, bytes, sizeof word);
    if (n < sizeof word || word.sum != sum_of(word, bytes + sizeof word, n - sizeof word))
        return ncoll__fail(
            ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
            "use the same library on all ranks; if it is the same, look for the "
            "fault in the bootstrap",
            "the %zu bytes that came from rank %d are not as an ncoll of this version "
            "publishes them: rank %d runs another version of ncoll, or they were "
            "changed on their way",
            n, rank, rank);
    if (word.status != NCOLL_OK)
        return failed(ctx, rank, word, bytes + sizeof word, n - sizeof word);
    *blob = bytes + sizeof word;
    *len = n - sizeof word;
    return NCOLL_OK;
}
