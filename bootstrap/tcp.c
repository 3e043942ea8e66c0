/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS 20

bool ncoll__tcp_init(struct tcp *tcp, const struct bootstrap_ops *ops,
                     const struct bootstrap_config *config)
{
    tcp->base = (struct bootstrap){ops, config->rank, config->ranks};
    tcp->events = config->events;
    tcp->timeout_s = (double)config->timeout_ns / 1e9;
    tcp->reminder.since_ns = config->events.now_ns(config->events.arg);
    tcp->deadline_ns = tcp->reminder.since_ns + (uint64_t)config->timeout_ns;
    tcp->stall_warn_ns = config->stall_warn_ns;
    ncoll__tcp_address_parse(config->root, &tcp->address);
    snprintf(tcp->key, sizeof tcp->key, "%s", config->key != NULL ? config->key : "");
    tcp->own = (struct tcp_claim){.rank = config->rank, .ranks = (uint64_t)config->ranks};
    snprintf(tcp->own.root, sizeof tcp->own.root, "%s", config->root);
    ncoll__tcp_job_name(tcp->own.job);
    if (!ncoll__keep_init(&tcp->keep, config->ranks))
        return false;
    tcp->departed.list = calloc((size_t)config->ranks, sizeof *tcp->departed.list);
    tcp->root_causes.list = calloc((size_t)config->ranks, sizeof *tcp->root_causes.list);
    if (tcp->departed.list == NULL || tcp->root_causes.list == NULL) {
        ncoll__tcp_free(tcp);
        return false;
    }
    return true;
}

void ncoll__tcp_free(struct tcp *tcp)
{
    free(tcp->departed.list);
    free(tcp->root_causes.list);
    ncoll__keep_free(&tcp->keep);
    explicit_bzero(tcp->key, sizeof tcp->key);
}

void ncoll__tcp_depart(struct tcp *tcp, int rank, bool left, uint64_t started)
{
    for (int i = 0; i < tcp->departed.count; i++)
        if (tcp->departed.list[i].rank == rank)
            return;
    tcp->departed.list[tcp->departed.count++] = (struct tcp_departure){rank, left, started};
}

/* Returns the root cause that a rank has named; NULL: it has named none so far. */
static const struct tcp_root_cause *root_cause_of(const struct tcp *tcp, int rank)
{
    for (int i = 0; i < tcp->root_causes.count; i++)
        if (tcp->root_causes.list[i].rank == rank)
            return &tcp->root_causes.list[i];
    return NULL;
}

void ncoll__tcp_note_root_cause(struct tcp *tcp, int rank, int whom)
{
    if (root_cause_of(tcp, rank) == NULL)
        tcp->root_causes.list[tcp->root_causes.count++] = (struct tcp_root_cause){rank, whom};
}

bool ncoll__tcp_hear_root_cause(struct tcp *tcp, const struct tcp_frame *frame, int rank)
{
    if (frame->rank != rank || frame->number > (uint64_t)tcp->base.ranks)
        return false;
    ncoll__tcp_note_root_cause(tcp, rank, (int)frame->number - 1);
    return true;
}

static bool has_departed(const struct tcp *tcp, int rank)
{
    for (int i = 0; i < tcp->departed.count; i++)
        if (tcp->departed.list[i].rank == rank)
            return true;
    return false;
}

/* Returns the root cause of a rank's failure; -1: not known, or no rank. A rank that was named as a
 * cause may itself have given up because of another one. If ranks name each other in a circle,
 * returns the given rank. */
int ncoll__tcp_culprit(const struct tcp *tcp, int rank)
{
    bool gone = has_departed(tcp, rank);
    int first = rank;

    for (int i = 0; i < tcp->base.ranks; i++) {
        const struct tcp_root_cause *cause = root_cause_of(tcp, rank);
        if (cause == NULL)
            return gone ? rank : -1;
        if (cause->whom < 0 || cause->whom == rank)
            return cause->whom;
        gone = true; /* a rank that is named as a cause counts as gone */
        rank = cause->whom;
    }
    return first;
}

int ncoll__tcp_check_departed(struct tcp *tcp)
{
    for (int i = 0; i < tcp->departed.count; i++) {
        const struct tcp_departure *d = &tcp->departed.list[i];
        if (d->started >= tcp->k)
            continue;
        int culprit = ncoll__tcp_culprit(tcp, d->rank);
        if (culprit >= 0 && culprit != d->rank && culprit != tcp->base.rank)
            return tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), culprit,
                                    "see what that rank has printed",
                                    "rank %d failed while the ranks were finding each other, as "
                                    "rank %d reports",
                                    culprit, d->rank);
        if (d->left)
            return tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_LEFT), d->rank,
                                    "see the error of its ncoll_context_create()",
                                    "rank %d has left while the ranks were finding each other",
                                    d->rank);
        return tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), d->rank,
                                "see what that rank has printed",
                                "rank %d failed: its connection closed without a goodbye", d->rank);
    }
    return NCOLL_TIMEOUT;
}

int ncoll__tcp_left_ms(const struct tcp *tcp, int most_ms)
{
    uint64_t now = tcp->events.now_ns(tcp->events.arg);

    if (now >= tcp->deadline_ns)
        return 0;
    uint64_t left_ms = (tcp->deadline_ns - now) / 1000000 + 1;
    return left_ms < (uint64_t)most_ms ? (int)left_ms : most_ms;
}

int ncoll__tcp_tick_ms(const struct tcp *tcp)
{
    return ncoll__tcp_left_ms(tcp, TICK_MS);
}

int ncoll__tcp_wait_ms(uint64_t ns)
{
    return ns < UINT64_C(1000000000) ? (int)((ns + 999999) / 1000000) : 1000;
}

bool ncoll__tcp_keep_parcel(struct tcp *tcp, unsigned char *bytes, size_t len)
{
    struct parcel_entry entry;
    size_t at = 0;

    if (!ncoll__keep_whole(&tcp->keep, bytes, len)) {
        tcp->events.log(tcp->events.arg, NCOLL_LOG_ERROR, "no memory for %zu bytes of rank 0", len);
        free(bytes);
        return false;
    }
    while (ncoll__parcel_next(bytes, len, &at, &entry)) {
        if (entry.rank >= (uint32_t)tcp->base.ranks)
            return false;
        if (tcp->keep.blobs[entry.rank].bytes == NULL)
            ncoll__keep_part(&tcp->keep, (int)entry.rank, entry.blob, entry.len);
    }
    return at == len;
}

int ncoll__tcp_fail_memory(const struct bootstrap_events *events, int ranks)
{
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", ranks);
}

int ncoll__tcp_fail_too_long(struct tcp *tcp, size_t len)
{
    return tcp->events.fail(tcp->events.arg, BECAUSE(NCOLL_ERR_RESOURCE, TOO_LONG), -1,
                            "use another bootstrap, such as PMIx (prterun, srun --mpi=pmix)",
                            "a rank has %zu bytes to exchange, the tcp bootstrap carries %" PRIu32,
                            len, TCP_BLOB_MAX);
}

int ncoll__tcp_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    const struct kept *kept = &((struct tcp *)b)->keep.blobs[rank];

    *blob = kept->bytes;
    *len = kept->len;
    return NCOLL_OK;
}

int ncoll__tcp_take_failure(struct tcp *tcp)
{
    while (tcp->departed.judged < tcp->departed.count) {
        const struct tcp_departure *d = &tcp->departed.list[tcp->departed.judged++];
        if (!d->left)
            return d->rank;
    }
    return -1;
}

void ncoll__tcp_traffic(const struct bootstrap *b, struct bootstrap_traffic *out)
{
    *out = ((const struct tcp *)b)->traffic;
}
