/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap that uses an allgather function of the program (ncoll_params.allgather). Blobs
 * differ in length, but the function takes blocks of equal length. So an exchange begins with an
 * allgather of heads: a head has the length and the first bytes of a blob, mostly all of them. Then
 * one allgather follows for each further piece of the longest blob. Ranks with shorter blobs fill
 * their pieces up with zeroes. The pieces bound the memory: rank 0 alone may have a long blob,
 * which contains the tuning table.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"

/* The longest piece in bytes. The comment on ncoll_allgather_fn in ncoll.h promises this limit. */
#define PIECE 4096u

/* The head of a blob, which an exchange gathers first. The length is that of the whole blob. */
struct head {
    uint64_t len;
    unsigned char bytes[504];
};
#define HEAD_BYTES (sizeof(struct head) - sizeof(uint64_t))

/* More bytes than any rank publishes: a larger length means that the allgather does not work. */
#define LEN_MOST ((uint64_t)1 << 30)

struct gatherer {
    struct bootstrap base;
    struct bootstrap_events events;
    ncoll_allgather_fn allgather;
    void *arg;
    unsigned char *blob; /* the blob of this rank */
    size_t len;
    bool ended;
    uint64_t *lens;       /* [ranks] the length of each rank's blob */
    unsigned char *piece; /* [PIECE] a piece of this rank's blob */
    unsigned char *all;   /* [ranks * PIECE] the result of an allgather */
    struct keep keep;
};

static struct gatherer *gatherer_of(struct bootstrap *b)
{
    return (struct gatherer *)b;
}

static void gatherer_close(struct bootstrap *b)
{
    struct gatherer *g = gatherer_of(b);

    ncoll__keep_free(&g->keep);
    free(g->all);
    free(g->piece);
    free(g->lens);
    free(g->blob);
    free(g);
}

static int no_memory(const struct bootstrap_events *events, int ranks)
{
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL,
                        "no memory to exchange data with %d ranks", ranks);
}

static int gatherer_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;

    if (config->rank < 0 || config->ranks < 1 || config->rank >= config->ranks)
        return events->fail(
            events->arg, NCOLL_ERR_ARGUMENT, -1, "set rank (from 0) and ranks in ncoll_params",
            "rank %d of %d for the bootstrap by an allgather", config->rank, config->ranks);
    struct gatherer *g = calloc(1, sizeof *g);
    if (g == NULL)
        return no_memory(events, config->ranks);
    g->base = (struct bootstrap){&ncoll__bootstrap_allgather, config->rank, config->ranks};
    g->events = *events;
    g->allgather = config->allgather;
    g->arg = config->allgather_arg;
    g->lens = calloc((size_t)config->ranks, sizeof *g->lens);
    g->piece = calloc(1, PIECE);
    g->all = calloc((size_t)config->ranks, PIECE);
    if (g->lens == NULL || g->piece == NULL || g->all == NULL ||
        !ncoll__keep_init(&g->keep, config->ranks)) {
        gatherer_close(&g->base);
        return no_memory(events, config->ranks);
    }
    *out = &g->base;
    return NCOLL_OK;
}

static int gatherer_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct gatherer *g = gatherer_of(b);
    unsigned char *copy = ncoll__keep_allocate(len);

    if (copy == NULL)
        return no_memory(&g->events, b->ranks);
    if (len > 0)
        memcpy(copy, blob, len);
    free(g->blob);
    g->blob = copy;
    g->len = len;
    g->ended = false;
    ncoll__keep_clear(&g->keep);
    return NCOLL_OK;
}

/* Calls the program's allgather. Fails if this rank's own block is not at its place in the result:
 * then the allgather numbers the ranks in another way than ncoll_params says. */
static int gather(struct gatherer *g, const void *in, size_t bytes, void *out)
{
    const struct bootstrap *b = &g->base;
    int rc = g->allgather(g->arg, in, bytes, out);

    if (rc != 0)
        return g->events.fail(g->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALLBACK_FAILED), -1,
                              "see ncoll_allgather_fn in ncoll.h",
                              "the allgather of ncoll_params returned %d", rc);
    if (memcmp((unsigned char *)out + (size_t)b->rank * bytes, in, bytes) != 0)
        return g->events.fail(g->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALLBACK_FAILED), -1,
                              "set rank and ranks in ncoll_params as the allgather numbers them",
                              "the allgather of ncoll_params did not put the %zu bytes of rank %d "
                              "at %d times as many bytes",
                              bytes, b->rank, b->rank);
    return NCOLL_OK;
}

/* Gathers the heads in g->all. *most becomes the length of the longest blob, *sum that of all blobs
 * together. */
static int gather_heads(struct gatherer *g, size_t *most, size_t *sum)
{
    struct head head = {.len = g->len};

    if (g->len > 0)
        memcpy(head.bytes, g->blob, g->len < HEAD_BYTES ? g->len : HEAD_BYTES);
    int rc = gather(g, &head, sizeof head, g->all);

    *most = *sum = 0;
    for (int r = 0; rc == NCOLL_OK && r < g->base.ranks; r++) {
        memcpy(&g->lens[r], g->all + (size_t)r * sizeof head, sizeof g->lens[r]);
        if (g->lens[r] > LEN_MOST)
            return g->events.fail(g->events.arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, CALLBACK_FAILED), r,
                                  "see ncoll_allgather_fn in ncoll.h",
                                  "by the allgather of ncoll_params rank %d has %" PRIu64 " bytes",
                                  r, g->lens[r]);
        *sum += g->lens[r];
        *most = g->lens[r] > *most ? g->lens[r] : *most;
    }
    return rc;
}

/* Copies one piece of each blob, `piece` bytes from its offset `at` on, from g->all to its place in
 * `bytes`, where all blobs lie one after the other. Each rank's part of g->all has `stride` bytes,
 * the last of which are the piece. */
static void place(struct gatherer *g, size_t at, size_t piece, size_t stride, unsigned char *bytes)
{
    const unsigned char *from = g->all + stride - piece;

    for (int r = 0; r < g->base.ranks; r++, from += stride) {
        size_t left = g->lens[r] > at ? g->lens[r] - at : 0;
        if (left > 0)
            memcpy(bytes + at, from, left < piece ? left : piece);
        bytes += g->lens[r];
    }
}

/* Gathers one piece of each blob, from its offset `at` on, and copies the pieces to `bytes` by
 * place(). */
static int gather_piece(struct gatherer *g, size_t at, size_t piece, unsigned char *bytes)
{
    size_t own = g->len > at ? g->len - at : 0;

    memset(g->piece, 0, piece);
    if (own > 0)
        memcpy(g->piece, g->blob + at, own < piece ? own : piece);
    int rc = gather(g, g->piece, piece, g->all);
    if (rc == NCOLL_OK)
        place(g, at, piece, piece, bytes);
    return rc;
}

/* Carries out the whole exchange in one call, which blocks in the program's allgather. */
static int gatherer_test(struct bootstrap *b)
{
    struct gatherer *g = gatherer_of(b);
    size_t most, sum;

    if (g->ended)
        return NCOLL_OK;
    int rc = gather_heads(g, &most, &sum);
    if (rc != NCOLL_OK)
        return rc;
    unsigned char *bytes = ncoll__keep_allocate(sum);
    if (bytes == NULL || !ncoll__keep_whole(&g->keep, bytes, sum)) {
        free(bytes);
        return no_memory(&g->events, b->ranks);
    }
    place(g, 0, HEAD_BYTES, sizeof(struct head), bytes);
    for (size_t at = HEAD_BYTES; at < most && rc == NCOLL_OK; at += PIECE)
        rc = gather_piece(g, at, most - at < PIECE ? most - at : PIECE, bytes);
    for (int r = 0; rc == NCOLL_OK && r < b->ranks; bytes += g->lens[r++])
        ncoll__keep_part(&g->keep, r, bytes, g->lens[r]);
    g->ended = rc == NCOLL_OK;
    return rc;
}

static int gatherer_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    const struct kept *kept = &gatherer_of(b)->keep.blobs[rank];

    *blob = kept->bytes;
    *len = kept->len;
    return NCOLL_OK;
}

const struct bootstrap_ops ncoll__bootstrap_allgather = {
    .name = "user",
    .open = gatherer_open,
    .exchange_start = gatherer_start,
    .exchange_test = gatherer_test,
    .get = gatherer_get,
    .close = gatherer_close,
};
