/* SPDX-License-Identifier: BSD-3-Clause */
/* The tcp bootstrap of the leaves, the ranks from 1. Each is connected to the root, rank 0. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/tcp_leaf.h"

static struct leaf *leaf_of(struct bootstrap *b)
{
    return (struct leaf *)b;
}

static bool is_other_rank(const struct leaf *leaf, int rank)
{
    return rank >= 0 && rank < leaf->tcp.base.ranks && rank != leaf->tcp.base.rank;
}

static void turn_away(struct leaf *leaf, const char *why)
{
    snprintf(leaf->turned_away, sizeof leaf->turned_away, "%s", why);
}

/* Returns the status that a frame carries; NCOLL_ERR_BOOTSTRAP if it is no error that this library
 * knows. */
static int status_of(unsigned how)
{
    switch (-(int)how) {
#define CASE(code, value, text) case code:
        NCOLL_STATUS_MAP(CASE)
#undef CASE
        return how > 0 ? -(int)how : NCOLL_ERR_BOOTSTRAP;
    default:
        return NCOLL_ERR_BOOTSTRAP;
    }
}

static void note_refusal(struct leaf *leaf, const struct tcp_frame *frame, const char *text)
{
    size_t len =
        frame->len < sizeof leaf->refusal.cause ? frame->len : sizeof leaf->refusal.cause - 1;

    leaf->refusal.status = status_of(frame->how);
    leaf->refusal.rank = is_other_rank(leaf, frame->rank) ? frame->rank : -1;
    leaf->refusal.reason = frame->number == NCOLL_REASON_PEER_MISSING ? NCOLL_REASON_PEER_MISSING
                                                                      : NCOLL_REASON_JOB_REFUSED;
    for (size_t i = 0; i < len; i++)
        leaf->refusal.cause[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
    leaf->refusal.cause[len] = '\0';
}

/* Answers the challenge with a proof. */
static bool prove(struct leaf *leaf, const unsigned char *challenge)
{
    const struct tcp *tcp = &leaf->tcp;
    struct tcp_frame frame = {.type = TCP_PROOF};
    unsigned char tag[TAG_BYTES];

    if (!ncoll__tcp_link_idle(&leaf->link) || !ncoll__tcp_nonce(leaf->nonce))
        return false;
    memcpy(leaf->challenge, challenge, NONCE_BYTES);
    ncoll__tcp_tag(TCP_LEAF, tcp->key, leaf->challenge, leaf->nonce, &tcp->own, tag);
    frame.len = (uint32_t)ncoll__tcp_proof_pack(leaf->nonce, tag, &tcp->own, leaf->proof);
    frame.how = leaf->relay.port;
    ncoll__tcp_link_send(&leaf->link, &frame, leaf->proof);
    ncoll__tcp_link_flush(&leaf->link);
    return true;
}

/* Handles a frame before the other side has proved to be the root. Only few kinds are allowed, and
 * nothing in them is believed. Returns false for other frames; leaf->turned_away has the reason. */
static bool handle_unproved(struct leaf *leaf, const struct tcp_frame *frame,
                            const unsigned char *body)
{
    const struct tcp *tcp = &leaf->tcp;
    unsigned char tag[TAG_BYTES];

    if (frame->type == TCP_CHALLENGE && frame->len == NONCE_BYTES && prove(leaf, body))
        return true;
    if (frame->type == TCP_REFUSED) {
        note_refusal(leaf, frame, (const char *)body);
        leaf->refusal.status = 0;
        snprintf(leaf->turned_away, sizeof leaf->turned_away, "it says: %.200s",
                 leaf->refusal.cause);
        return false;
    }
    if (frame->type != TCP_ACCEPTED || frame->len != TAG_BYTES) {
        turn_away(leaf, "its data is not of an ncoll of this version");
        return false;
    }
    ncoll__tcp_tag(TCP_ROOT, tcp->key, leaf->challenge, leaf->nonce, &tcp->own, tag);
    leaf->accepted = ncoll__tags_are_equal(tag, body);
    leaf->link.body_max = TCP_PARCEL_MAX;
    if (!leaf->accepted)
        turn_away(leaf, "it does not know the NCOLL_KEY of this rank");
    return leaf->accepted;
}

/* Handles a frame and takes over its body. Returns false if the root must not send this frame. */
static bool handle(struct leaf *leaf, const struct tcp_frame *frame, unsigned char *body)
{
    struct tcp *tcp = &leaf->tcp;
    struct ready ready;
    bool legal = false;

    if (!leaf->accepted) {
        legal = handle_unproved(leaf, frame, body);
        free(body);
        return legal;
    }
    switch (frame->type) {
    case TCP_READY:
        legal = !leaf->ready && ncoll__tcp_ready_unpack(body, frame->len, &ready);
        if (legal)
            ncoll__tcp_relay_ready(&leaf->relay, &ready, leaf->link.fd);
        leaf->ready = legal;
        break;
    case TCP_BLOBS:
        if (frame->number == tcp->k)
            return ncoll__tcp_keep_parcel(tcp, body, frame->len);
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
    case TCP_ROOT_CAUSE:
        legal =
            is_other_rank(leaf, frame->rank) && ncoll__tcp_hear_root_cause(tcp, frame, frame->rank);
        break;
    case TCP_REFUSED:
        legal = true;
        note_refusal(leaf, frame, (const char *)body);
        break;
    case TCP_BLOB:
    case TCP_BYE:
    case TCP_HELLO:
    case TCP_CHALLENGE:
    case TCP_PROOF:
    case TCP_ACCEPTED:
    case TCP_GIVES_UP:
    case TCP_DIRECT:
        break;
    }
    free(body);
    return legal;
}

/* Sends to rank 0 the root cause that this rank has named, once the link has sent everything before
 * it. */
static void tell_root_cause(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;

    if (leaf->told_root_cause || leaf->link.fd < 0 || !ncoll__tcp_link_idle(&leaf->link))
        return;
    for (int i = 0; i < tcp->root_causes.count; i++) {
        const struct tcp_root_cause *cause = &tcp->root_causes.list[i];
        if (cause->rank != tcp->base.rank)
            continue;
        const struct tcp_frame frame = {
            .type = TCP_ROOT_CAUSE, .rank = cause->rank, .number = (uint64_t)(cause->whom + 1)};
        leaf->told_root_cause = true;
        ncoll__tcp_link_send(&leaf->link, &frame, NULL);
        ncoll__tcp_link_flush(&leaf->link);
    }
}

/* Asks the root for the blobs if the parent is lost while they are missing. */
static void ask_root(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;
    const struct tcp_frame frame = {.type = TCP_DIRECT, .number = tcp->k};

    if (!leaf->asks || leaf->link.fd < 0 || !ncoll__tcp_link_idle(&leaf->link))
        return;
    leaf->asks = false;
    ncoll__tcp_link_send(&leaf->link, &frame, NULL);
    ncoll__tcp_link_flush(&leaf->link);
}

/* Notes that the root is gone. exchanges: the number of those that have ended on the root. The root
 * has taken part in the pending exchange if this rank has all its blobs, or if the exchange has
 * ended on the root and this rank still has a parent to get them from. */
static void lose_root(struct leaf *leaf, bool left, uint64_t exchanges)
{
    struct tcp *tcp = &leaf->tcp;
    bool ended = tcp->k == 0 || tcp->keep.count == tcp->base.ranks ||
                 (exchanges >= tcp->k && ncoll__tcp_relay_has_parent(&leaf->relay));

    if (!leaf->accepted) { /* the other side was not the root */
        ncoll__tcp_link_close(&leaf->link, false);
        return;
    }
    leaf->root_left = left;
    ncoll__tcp_depart(tcp, 0, left, ended ? tcp->k : tcp->k - 1);
    ncoll__tcp_link_close(&leaf->link, false);
}

static void relay_progress(struct leaf *leaf)
{
    const struct tcp *tcp = &leaf->tcp;
    bool had_parent = ncoll__tcp_relay_has_parent(&leaf->relay);

    if (!ncoll__tcp_relay_progress(&leaf->relay) && had_parent && tcp->k > 0 &&
        tcp->keep.count < tcp->base.ranks)
        leaf->asks = true;
}

void ncoll__tcp_leaf_wait(struct leaf *leaf, int wait_ms)
{
    struct pollfd few[8], *polls = few;
    int n = 1 + ncoll__tcp_relay_polls(&leaf->relay);
    bool idle = ncoll__tcp_link_idle(&leaf->link);

    if (n > (int)(sizeof few / sizeof few[0]) &&
        (polls = malloc((size_t)n * sizeof *polls)) == NULL)
        return;
    polls[0] = (struct pollfd){.fd = leaf->link.fd, .events = idle ? POLLIN : POLLIN | POLLOUT};
    n = 1 + ncoll__tcp_relay_fill(&leaf->relay, polls + 1);
    poll(polls, (nfds_t)n, wait_ms);
    if (polls != few)
        free(polls);
}

void ncoll__tcp_leaf_progress(struct leaf *leaf)
{
    const struct bootstrap_events *events = &leaf->tcp.events;
    struct tcp_frame frame;
    unsigned char *body;

    relay_progress(leaf);
    if (leaf->link.fd < 0)
        return;
    ncoll__tcp_link_flush(&leaf->link);
    ask_root(leaf);
    tell_root_cause(leaf);
    for (;;) {
        switch (ncoll__tcp_link_receive(&leaf->link, &frame, &body)) {
        case TCP_NOTHING:
            return;
        case TCP_FRAME:
            if (frame.type == TCP_BYE) {
                free(body);
                lose_root(leaf, true, frame.number);
                return;
            }
            if (handle(leaf, &frame, body))
                continue;
            break;
        case TCP_CLOSED:
            if (!leaf->accepted && leaf->turned_away[0] == '\0')
                turn_away(leaf, "it closes the connection");
            lose_root(leaf, false, 0);
            return;
        case TCP_NO_MEMORY:
            events->log(events->arg, NCOLL_LOG_ERROR, "no memory for %u bytes from rank 0",
                        leaf->link.in.frame.len);
            lose_root(leaf, false, 0);
            return;
        case TCP_NONSENSE:
            if (!leaf->accepted)
                turn_away(leaf, "its data is not of an ncoll of this version");
            break;
        }
        if (leaf->accepted)
            events->log(events->arg, NCOLL_LOG_ERROR,
                        "rank 0 at %s port %s sends what it should not", leaf->tcp.address.host,
                        leaf->tcp.address.port);
        lose_root(leaf, false, 0);
        return;
    }
}

/* ------------------------------------------------------------------ operations --------------- */

/* Opens a leaf that is not connected yet; ncoll__tcp_find_root() connects it. */
static int leaf_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    struct leaf *leaf = calloc(1, sizeof *leaf);

    if (leaf == NULL || !ncoll__tcp_init(&leaf->tcp, &ncoll__tcp_leaf, config)) {
        free(leaf);
        return ncoll__tcp_fail_memory(&config->events, config->ranks);
    }
    leaf->link.fd = -1;
    leaf->relay = (struct relay){.tcp = &leaf->tcp, .listener = -1, .parent.link.fd = -1};
    *out = &leaf->tcp.base;
    return NCOLL_OK;
}

static int leaf_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct leaf *leaf = leaf_of(b);
    struct tcp *tcp = &leaf->tcp;
    const struct bootstrap_events *events = &tcp->events;

    if (len > TCP_BLOB_MAX)
        return ncoll__tcp_fail_too_long(tcp, len);
    if (!ncoll__tcp_link_idle(&leaf->link))
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, BUG), 0, NULL,
                            "an earlier exchange with rank 0 has not ended");
    ncoll__keep_clear(&tcp->keep);
    if (!ncoll__keep_copy(&tcp->keep, b->rank, blob, len))
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL,
                            "no memory to exchange %zu bytes with the other ranks", len);
    tcp->k++;
    leaf->asks = false;
    ncoll__tcp_relay_begin(&leaf->relay);
    const struct tcp_frame frame = {
        .type = TCP_BLOB,
        .how = ncoll__tcp_relay_has_parent(&leaf->relay),
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

/* Notes that this rank cannot get the blobs of the pending exchange, since root and parent are
 * gone. */
static void note_cut_off(struct leaf *leaf)
{
    struct tcp *tcp = &leaf->tcp;

    for (int i = 0; i < tcp->departed.count; i++)
        if (tcp->departed.list[i].rank == 0 && tcp->departed.list[i].started == tcp->k)
            tcp->departed.list[i].started--;
}

static int leaf_exchange_test(struct bootstrap *b)
{
    struct leaf *leaf = leaf_of(b);

    if (leaf->tcp.keep.count < b->ranks || !ncoll__tcp_relay_has_told(&leaf->relay))
        ncoll__tcp_leaf_progress(leaf);
    if (leaf->tcp.keep.count == b->ranks) {
        if (!ncoll__tcp_relay_has_told(&leaf->relay))
            return NCOLL_TIMEOUT;
        ncoll__tcp_relay_is_complete(&leaf->relay);
        return NCOLL_OK;
    }
    if (leaf->link.fd < 0 && !ncoll__tcp_relay_has_parent(&leaf->relay))
        note_cut_off(leaf);
    return ncoll__tcp_check_departed(&leaf->tcp);
}

/* Returns the lowest missing rank, and their number, as the root has told them. If it has told
 * nothing in this exchange, the root itself has not come. */
static int leaf_missing(struct bootstrap *b, int *count)
{
    const struct leaf *leaf = leaf_of(b);
    bool told = leaf->missing.exchange == leaf->tcp.k;

    *count = told ? leaf->missing.count : 1;
    return told ? leaf->missing.rank : 0;
}

static void leaf_wait(struct bootstrap *b, uint64_t ns)
{
    ncoll__tcp_leaf_wait(leaf_of(b), ncoll__tcp_wait_ms(ns));
}

static int leaf_failed(struct bootstrap *b)
{
    ncoll__tcp_leaf_progress(leaf_of(b));
    return ncoll__tcp_take_failure(&leaf_of(b)->tcp);
}

static void leaf_name_root_cause(struct bootstrap *b, int rank)
{
    struct leaf *leaf = leaf_of(b);

    ncoll__tcp_note_root_cause(&leaf->tcp, b->rank, rank);
    tell_root_cause(leaf);
}

/* Returns the root cause of a rank's end. If the root is gone, no rank can tell a cause any more.
 * Then the root itself is the cause, unless it has left in order. */
static int leaf_culprit(struct bootstrap *b, int rank)
{
    struct leaf *leaf = leaf_of(b);

    ncoll__tcp_leaf_progress(leaf);
    int culprit = ncoll__tcp_culprit(&leaf->tcp, rank);
    if (culprit >= 0 || leaf->link.fd >= 0)
        return culprit;
    culprit = ncoll__tcp_culprit(&leaf->tcp, 0);
    return culprit == 0 && leaf->root_left ? rank : culprit;
}

static void leaf_close(struct bootstrap *b)
{
    struct leaf *leaf = leaf_of(b);

    if (leaf->tcp.root_causes.count > 0 && leaf->link.fd >= 0 &&
        ncoll__tcp_link_drain(&leaf->link, TCP_LAST_WORD_MS)) {
        tell_root_cause(leaf);
        ncoll__tcp_link_drain(&leaf->link, TCP_LAST_WORD_MS);
    }
    ncoll__tcp_relay_close(&leaf->relay);
    ncoll__tcp_link_close(&leaf->link, true);
    ncoll__tcp_free(&leaf->tcp);
    free(leaf);
}

const struct bootstrap_ops ncoll__tcp_leaf = {
    .name = "tcp",
    .open = leaf_open,
    .exchange_start = leaf_exchange_start,
    .exchange_test = leaf_exchange_test,
    .wait = leaf_wait,
    .get = ncoll__tcp_get,
    .missing = leaf_missing,
    .failed = leaf_failed,
    .name_root_cause = leaf_name_root_cause,
    .culprit = leaf_culprit,
    .traffic = ncoll__tcp_traffic,
    .close = leaf_close,
};
