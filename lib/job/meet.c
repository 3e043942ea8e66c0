/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connects the base peers of the world, after the exchange of addresses (join.c). The next exchange
 * gives the base peers access to the window of the world. Over network devices a last exchange
 * follows. Without it a rank could not tell a peer that is still accepting others from one that
 * failed while doing so.
 */
#include <string.h>

#include "lib/watch/failure.h"
#include "lib/job/join.h"
#include "lib/group/wiring.h"
#include "lib/group/creation.h"
#include "lib/base/group.h"

/* A rank publishes one introduction for each of its base peers. */
struct introduction {
    int32_t to, reserved;
    struct offer offer;
};

/*
 * The introductions of a rank are published in one blob, and differ little from each other. So the
 * blob has of each only the words that differ from the introduction before, behind a word whose
 * bits say which words these are.
 */
#define WORDS (sizeof(struct introduction) / sizeof(uint32_t))
_Static_assert(sizeof(struct introduction) % sizeof(uint32_t) == 0 && WORDS <= 32, "one bit each");

/* Adds an introduction to the blob, given the words of the one before, and copies its words to
 * `before`. */
static void add(struct blob *blob, const struct introduction *introduction, uint32_t before[WORDS])
{
    uint32_t words[WORDS], differ = 0;

    memcpy(words, introduction, sizeof words);
    for (unsigned w = 0; w < WORDS; w++)
        differ |= (uint32_t)(words[w] != before[w]) << w;
    ncoll__blob_add(blob, &differ, sizeof differ);
    for (unsigned w = 0; w < WORDS; w++)
        if (differ >> w & 1)
            ncoll__blob_add(blob, &words[w], sizeof words[w]);
    memcpy(before, words, sizeof words);
}

/* Reads the next introduction; *introduction has to hold the one before, or zeros. Returns false if
 * there is none. */
static bool next(const char *blob, size_t len, size_t *at, struct introduction *introduction)
{
    uint32_t words[WORDS], differ;

    if (len - *at < sizeof differ)
        return false;
    memcpy(&differ, blob + *at, sizeof differ);
    *at += sizeof differ;
    if ((uint64_t)differ >> WORDS != 0 ||
        (len - *at) / sizeof *words < (size_t)__builtin_popcount(differ))
        return false;
    memcpy(words, introduction, sizeof words);
    for (unsigned w = 0; w < WORDS; w++)
        if (differ >> w & 1) {
            memcpy(&words[w], blob + *at, sizeof words[w]);
            *at += sizeof words[w];
        }
    memcpy(introduction, words, sizeof words);
    return true;
}

/* Publishes the offers for the peers, or the failure if this rank cannot make its world group. */
static int introduce(struct ncoll_context *ctx, const unsigned *peers, unsigned n_peers)
{
    const struct transport_ops *ops = ctx->transport->ops;
    uint32_t before[WORDS] = {0};
    struct blob blob = {0};
    int rc = ncoll__world_create(ctx);

    for (unsigned i = 0; i < n_peers && rc == NCOLL_OK; i++) {
        struct introduction introduction = {.to = (int32_t)peers[i]};
        rc = ops->offer(ctx->transport, ctx->world->window, (int)peers[i], BASE_DEPTH,
                        &introduction.offer);
        add(&blob, &introduction, before);
    }
    if (rc == NCOLL_OK && blob.failed)
        rc = ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to connect %u peers", n_peers);
    if (rc == NCOLL_OK)
        rc = ncoll__exchange(ctx, blob.bytes, blob.len);
    else
        rc = ncoll__exchange_failure(ctx);
    ncoll__blob_free(&blob);
    return rc;
}

static int accept(struct ncoll_context *ctx, int rank)
{
    struct introduction introduction = {0};
    const void *blob;
    bool found = false;
    size_t len, address_len, at = 0;

    int rc = ncoll__get(ctx, rank, &blob, &len);
    while (rc == NCOLL_OK && !found && next(blob, len, &at, &introduction))
        found = introduction.to == ctx->rank;
    if (rc != NCOLL_OK)
        return rc;
    if (!found)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, VERSION_DIFFERS), rank,
                           "check that all ranks run the same ncoll",
                           "rank %d published %zu bytes, and nothing for rank %d", rank, len,
                           ctx->rank);
    const void *address = ncoll__address_of(ctx, rank, &address_len);
    return ctx->transport->ops->accept(ctx->transport, ctx->world->window, rank, address,
                                       address_len, &introduction.offer);
}

/* Accepts the connection of a peer, after another peer could not be accepted. Does not wait for the
 * peer's data, and ignores errors. */
static void accept_late(struct ncoll_context *ctx, int rank)
{
    struct bootstrap *b = ctx->bootstrap;
    ncoll_error first = ctx->error;
    const void *blob;
    size_t len;

    if (b->ops->get(b, rank, &blob, &len) == NCOLL_OK)
        accept(ctx, rank);
    ctx->error = first;
}

/* Accepts all peers that can be accepted, even after an error, so that they can be told of the
 * error. The first error counts. If it says that a peer is gone, the root cause may be another
 * rank. */
static int accept_all(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    int rc = NCOLL_OK;

    ncoll__ask(ctx, peers, n_peers);
    for (unsigned i = 0; i < n_peers; i++)
        if (rc == NCOLL_OK)
            rc = accept(ctx, peers[i]);
        else
            accept_late(ctx, peers[i]);
    return rc == NCOLL_ERR_PEER ? ncoll__find_culprit(ctx) : rc;
}

/*
 * The last exchange: tells the others whether this rank has accepted all its base peers (rc). Peers
 * that have accepted each other are connected, and tell each other of failures; so a rank looks
 * only at the results of its base peers. From now on connections reveal the end of a rank.
 */
static int agree(struct ncoll_context *ctx, const int *peers, unsigned n_peers, int rc)
{
    struct transport *t = ctx->transport;
    ncoll_error first = ctx->error;
    const void *blob;
    size_t len;

    if (t->ops->met == NULL || !ctx->may_exchange)
        return rc;
    if (rc == NCOLL_OK)
        rc = ncoll__exchange(ctx, NULL, 0);
    else
        ncoll__exchange_failure(ctx);
    if (ctx->may_exchange)
        ncoll__ask(ctx, peers, n_peers);
    for (unsigned i = 0; ctx->may_exchange && i < n_peers; i++) {
        int his = ncoll__get(ctx, peers[i], &blob, &len);
        if (his == NCOLL_OK)
            t->ops->met(t, peers[i]);
        else if (rc != NCOLL_OK)
            ctx->error = first;
        else
            rc = his, first = ctx->error;
    }
    return rc;
}

/* Returns the first peer that is not connected; -1: all are. */
static int not_connected(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    struct transport *t = ctx->transport;

    for (unsigned i = 0; i < n_peers; i++)
        if (t->ops->endpoint(t, peers[i]) == NULL)
            return peers[i];
    return -1;
}

static int nobody_connects(struct ncoll_context *ctx, int peer)
{
    if (peer < 0)
        return ncoll__nobody_came(ctx);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BOOTSTRAP, UNREACHABLE), peer,
                       "see that the rank still runs and that its node is reached, or raise "
                       "NCOLL_BOOTSTRAP_TIMEOUT (seconds)",
                       "rank %d could not be connected to rank %d within %g s", ctx->rank, peer,
                       (double)ctx->settings.bootstrap_timeout_ns / 1e9);
}

static int connect_base(struct ncoll_context *ctx, const int *peers, unsigned n_peers)
{
    struct transport *t = ctx->transport;
    struct reminder reminder = {.since_ns = ncoll__now_ns(ctx)};
    uint64_t deadline = reminder.since_ns + (uint64_t)ctx->settings.bootstrap_timeout_ns;
    unsigned times = 0;
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && (rc = ncoll__ready(ctx, peers, n_peers)) == NCOLL_TIMEOUT) {
        uint64_t now_ns = ncoll__now_ns(ctx);
        if (now_ns >= deadline)
            return nobody_connects(ctx, not_connected(ctx, peers, n_peers));
        if (ncoll__reminder_due(&reminder, now_ns, ctx->settings.stall_warn_ns))
            ncoll__log(ctx, NCOLL_LOG_WARN, "rank %d has not been connected for %.1f s",
                       not_connected(ctx, peers, n_peers), (double)reminder.after_ns / 1e9);
        t->ops->check(t, -1);
        ncoll__ask_bootstrap(ctx);
        ncoll__backoff(&times);
        rc = ncoll__failure(ctx);
    }
    return rc;
}

int ncoll__meet(struct ncoll_context *ctx)
{
    unsigned peers[BASE_PEERS];
    int ranks[BASE_PEERS];
    unsigned n = ncoll__base_peers((unsigned)ctx->rank, (unsigned)ctx->ranks, peers);

    ncoll__begin_stage(ctx, STAGE_WIRING);
    for (unsigned i = 0; i < n; i++)
        ranks[i] = (int)peers[i];
    int rc = introduce(ctx, peers, n);
    if (rc == NCOLL_OK)
        rc = accept_all(ctx, ranks, n);
    rc = agree(ctx, ranks, n, rc);
    ctx->may_exchange = false;
    if (ctx->bootstrap->ops->finish != NULL)
        ctx->bootstrap->ops->finish(ctx->bootstrap);
    return rc == NCOLL_OK ? connect_base(ctx, ranks, n) : rc;
}
