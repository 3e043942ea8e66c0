/* SPDX-License-Identifier: BSD-3-Clause */
/* The tcp bootstrap of the ranks from 1: one connection, to the root. */
#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/tcp.h"
#include "bootstrap/tcp_link.h"

struct leaf {
    struct tcp tcp;
    struct tcp_link link;
    bool ready; /* the root has all ranks */
    bool told_blame, root_left;
    struct {
        uint64_t exchange;
        int rank, count; /* the lowest, and how many */
    } missing;           /* what the root told last */
    struct {
        int status, rank;
        char cause[384];
    } refusal; /* status 0: none */
};

static struct leaf *leaf_of(struct bootstrap *b)
{
    return (struct leaf *)b;
}

static bool is_other_rank(const struct leaf *leaf, int rank)
{
    return rank >= 0 && rank < leaf->tcp.base.ranks && rank != leaf->tcp.base.rank;
}

static void note_refusal(struct leaf *leaf, const struct tcp_frame *frame, const char *text)
{
    size_t len =
        frame->len < sizeof leaf->refusal.cause ? frame->len : sizeof leaf->refusal.cause - 1;

    leaf->refusal.status = -(int)frame->how;
    leaf->refusal.rank = is_other_rank(leaf, frame->rank) ? frame->rank : -1;
    for (size_t i = 0; i < len; i++)
        leaf->refusal.cause[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    leaf->refusal.cause[len] = '\0';
}

/* Takes the body over. false: the root must not send this. */
static bool handle(struct leaf *leaf, const struct tcp_frame *frame, unsigned char *body)
{
    struct tcp *tcp = &leaf->tcp;
    bool legal = false;

    switch (frame->type) {
    case TCP_READY:
        legal = leaf->ready = true;
        break;
    case TCP_BLOB:
        legal = is_other_rank(leaf, frame->rank) && frame->number == tcp->k &&
                tcp->keep.blobs[frame->rank].bytes == NULL;
        if (legal) {
            ncoll__keep_adopt(&tcp->keep, frame->rank, body, frame->len);
            body = NULL;
        }
        break;
    case TCP_MISSING:
        legal = frame->rank >= 0 && frame->rank < tcp->base.ranks;
        leaf->missing.exchange = frame->number;
        leaf->missing.rank = frame->rank;
        leaf->missing.count = (int)frame->how;
        break;
    case TCP_GONE:
        legal = is_other_rank(leaf, frame->rank);
        if (legal)
            ncoll__tcp_depart(tcp, frame->rank, frame->how == 1, frame->number);
        break;
    case TCP_BLAME:
        legal = is_other_rank(leaf, frame->rank) && ncoll__tcp_hear_blame(tcp, frame, frame->rank);
        break;
    case TCP_REFUSED:
        legal = frame->how > 0;
        note_refusal(leaf, frame, (const char *)body);
        break;
    case TCP_BYE:
    case TCP_HELLO:
        break;
    }
    free(body);
    return legal;
}

/* As soon as the link has sent what it had to. */
static void tell_blame(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;

    if (leaf->told_blame || leaf->link.fd < 0 || !ncoll__tcp_link_idle(&leaf->link))
        return;
    for (int i = 0; i < tcp->blames.count; i++) {
        const struct tcp_blame *blame = &tcp->blames.list[i];
        if (blame->rank != tcp->base.rank)
            continue;
        const struct tcp_frame frame = {
            .type = TCP_BLAME, .rank = blame->rank, .number = (uint64_t)(blame->whom + 1)};
        leaf->told_blame = true;
        ncoll__tcp_link_send(&leaf->link, &frame, NULL);
        ncoll__tcp_link_flush(&leaf->link);
    }
}

/* The root is gone. It takes part in an exchange by having sent all of it. */
static void lose_root(struct leaf *leaf, bool left)
{
    struct tcp *tcp = &leaf->tcp;
    bool ended = tcp->k == 0 || tcp->keep.count == tcp->base.ranks;

    leaf->root_left = left;
    ncoll__tcp_depart(tcp, 0, left, ended ? tcp->k : tcp->k - 1);
    ncoll__tcp_link_close(&leaf->link, false);
}

static void leaf_progress(struct leaf *leaf)
{
    const struct bootstrap_events *events = &leaf->tcp.events;
    struct tcp_frame frame;
    unsigned char *body;

    if (leaf->link.fd < 0)
        return;
    ncoll__tcp_link_flush(&leaf->link);
    tell_blame(leaf);
    for (;;) {
        switch (ncoll__tcp_link_receive(&leaf->link, &frame, &body)) {
        case TCP_NOTHING:
            return;
        case TCP_FRAME:
            if (frame.type == TCP_BYE) {
                free(body);
                lose_root(leaf, true);
                return;
            }
            if (handle(leaf, &frame, body))
                continue;
            break;
        case TCP_CLOSED:
            lose_root(leaf, false);
            return;
        case TCP_NO_MEMORY:
            events->log(events->arg, NCOLL_LOG_ERROR, "no memory for %u bytes from rank 0",
                        leaf->link.in.frame.len);
            lose_root(leaf, false);
            return;
        case TCP_NONSENSE:
            break;
        }
        events->log(events->arg, NCOLL_LOG_ERROR,
                    "what comes from %s port %s is not ncoll's rank 0, or not of this version",
                    leaf->tcp.address.host, leaf->tcp.address.port);
        lose_root(leaf, false);
        return;
    }
}

/* ------------------------------------------------------------------ open --------------------- */

static int fail_open(struct leaf *leaf)
{
    const struct bootstrap_events *events = &leaf->tcp.events;
    const struct tcp_address *address = &leaf->tcp.address;
    int others = leaf->missing.count - 1;
    char more[48] = "";

    if (leaf->refusal.status != 0)
        return events->fail(events->arg, leaf->refusal.status, leaf->refusal.rank,
                            "start all ranks with the same NCOLL_ROOT and NCOLL_SIZE, and each "
                            "with a NCOLL_RANK of its own",
                            "%s", leaf->refusal.cause);
    if (leaf->link.fd < 0)
        return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, 0, "see what rank 0 has printed",
                            "rank 0 at %s port %s closed the connection before all ranks had come",
                            address->host, address->port);
    if (leaf->missing.count == 0)
        return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, 0,
                            "see that ncoll's rank 0 listens there, and what it has printed",
                            "%s port %s accepted the connection, but nothing was heard from rank 0 "
                            "within %g s",
                            address->host, address->port, leaf->tcp.timeout_s);
    if (others > 0)
        snprintf(more, sizeof more, " and %d more", others);
    return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, leaf->missing.rank,
                        "see that all ranks are started with the same NCOLL_ROOT, or raise "
                        "NCOLL_BOOTSTRAP_TIMEOUT",
                        "rank %d%s did not come within %g s", leaf->missing.rank, more,
                        leaf->tcp.timeout_s);
}

/* Says who this is and waits until the root has all ranks. */
static int join(struct leaf *leaf)
{
    const struct tcp_frame hello = {
        .type = TCP_HELLO,
        .how = TCP_PROTOCOL,
        .rank = leaf->tcp.base.rank,
        .number = (uint64_t)leaf->tcp.base.ranks,
    };
    int tick_ms;

    ncoll__tcp_link_send(&leaf->link, &hello, NULL);
    for (;;) {
        leaf_progress(leaf);
        if (leaf->ready)
            return NCOLL_OK;
        if (leaf->refusal.status != 0 || leaf->link.fd < 0)
            return fail_open(leaf);
        if ((tick_ms = ncoll__tcp_tick_ms(&leaf->tcp)) == 0)
            return fail_open(leaf);
        poll(&(struct pollfd){.fd = leaf->link.fd, .events = POLLIN}, 1, tick_ms);
    }
}

static int leaf_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    struct leaf *leaf = calloc(1, sizeof *leaf);
    int fd, rc;

    if (leaf == NULL || !ncoll__tcp_init(&leaf->tcp, &ncoll__tcp_leaf, config)) {
        rc = ncoll__tcp_fail_memory(&config->events, config->ranks);
        goto free_leaf;
    }
    rc = ncoll__tcp_connect(&leaf->tcp, &fd);
    if (rc != NCOLL_OK)
        goto free_tcp;
    ncoll__tcp_link_open(&leaf->link, fd, TCP_BLOB_MAX);
    rc = join(leaf);
    if (rc != NCOLL_OK)
        goto close_link;
    *out = &leaf->tcp.base;
    return NCOLL_OK;

close_link:
    ncoll__tcp_link_close(&leaf->link, true);
free_tcp:
    ncoll__tcp_free(&leaf->tcp);
free_leaf:
    free(leaf);
    return rc;
}

/* ------------------------------------------------------------------ exchanges ---------------- */

static int leaf_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct leaf *leaf = leaf_of(b);
    struct tcp *tcp = &leaf->tcp;
    const struct bootstrap_events *events = &tcp->events;

    if (len > TCP_BLOB_MAX)
        return ncoll__tcp_fail_too_long(tcp, len);
    if (!ncoll__tcp_link_idle(&leaf->link))
        return events->fail(events->arg, NCOLL_ERR_BOOTSTRAP, 0, NULL,
                            "an earlier exchange with rank 0 has not ended");
    ncoll__keep_clear(&tcp->keep);
    if (!ncoll__keep_copy(&tcp->keep, b->rank, blob, len))
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL,
                            "no memory for an exchange of %zu bytes", len);
    tcp->k++;
    const struct tcp_frame frame = {
        .type = TCP_BLOB,
        .rank = b->rank,
        .len = (uint32_t)len,
        .number = tcp->k,
    };
    if (leaf->link.fd >= 0) {
        ncoll__tcp_link_send(&leaf->link, &frame, tcp->keep.blobs[b->rank].bytes);
        ncoll__tcp_link_flush(&leaf->link);
    }
    return NCOLL_OK;
}

static int leaf_exchange_test(struct bootstrap *b)
{
    struct leaf *leaf = leaf_of(b);

    if (leaf->tcp.keep.count < b->ranks)
        leaf_progress(leaf);
    if (leaf->tcp.keep.count == b->ranks)
        return NCOLL_OK;
    return ncoll__tcp_check_departed(&leaf->tcp);
}

/* The root tells who is missing; if it has said nothing of this exchange, it has not come itself.
 */
static int leaf_missing(struct bootstrap *b)
{
    const struct leaf *leaf = leaf_of(b);

    return leaf->missing.exchange == leaf->tcp.k ? leaf->missing.rank : 0;
}

static int leaf_failed(struct bootstrap *b)
{
    leaf_progress(leaf_of(b));
    return ncoll__tcp_take_failure(&leaf_of(b)->tcp);
}

static void leaf_blame(struct bootstrap *b, int rank)
{
    struct leaf *leaf = leaf_of(b);

    ncoll__tcp_blame(&leaf->tcp, b->rank, rank);
    tell_blame(leaf);
}

/* Where the root is gone nobody will tell; and unless it has just left it is what others miss. */
static int leaf_culprit(struct bootstrap *b, int rank)
{
    struct leaf *leaf = leaf_of(b);

    leaf_progress(leaf);
    int culprit = ncoll__tcp_culprit(&leaf->tcp, rank);
    if (culprit >= 0 || leaf->link.fd >= 0)
        return culprit;
    culprit = ncoll__tcp_culprit(&leaf->tcp, 0);
    return culprit == 0 && leaf->root_left ? rank : culprit;
}

static void leaf_close(struct bootstrap *b)
{
    struct leaf *leaf = leaf_of(b);

    if (leaf->tcp.blames.count > 0 && leaf->link.fd >= 0 &&
        ncoll__tcp_link_drain(&leaf->link, TCP_LAST_WORD_MS)) {
        tell_blame(leaf);
        ncoll__tcp_link_drain(&leaf->link, TCP_LAST_WORD_MS);
    }
    ncoll__tcp_link_close(&leaf->link, true);
    ncoll__tcp_free(&leaf->tcp);
    free(leaf);
}

const struct bootstrap_ops ncoll__tcp_leaf = {
    .name = "tcp",
    .open = leaf_open,
    .exchange_start = leaf_exchange_start,
    .exchange_test = leaf_exchange_test,
    .get = ncoll__tcp_get,
    .missing = leaf_missing,
    .failed = leaf_failed,
    .blame = leaf_blame,
    .culprit = leaf_culprit,
    .close = leaf_close,
};
