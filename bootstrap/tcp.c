/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp.h"

#include <inttypes.h>
#include <stdlib.h>

#define TICK_MS 20

bool ncoll__tcp_init(struct tcp *tcp, const struct bootstrap_ops *ops,
                     const struct bootstrap_config *config)
{
    tcp->base = (struct bootstrap){ops, config->rank, config->ranks};
    tcp->events = config->events;
    tcp->timeout_s = (double)config->timeout_ns / 1e9;
    tcp->deadline_ns = config->events.now_ns(config->events.arg) + (uint64_t)config->timeout_ns;
    ncoll__tcp_address_parse(config->root, &tcp->address);
    if (!ncoll__keep_init(&tcp->keep, config->ranks))
        return false;
    tcp->departed.list = calloc((size_t)config->ranks, sizeof *tcp->departed.list);
    tcp->blames.list = calloc((size_t)config->ranks, sizeof *tcp->blames.list);
    if (tcp->departed.list == NULL || tcp->blames.list == NULL) {
        ncoll__tcp_free(tcp);
        return false;
    }
    return true;
}

void ncoll__tcp_free(struct tcp *tcp)
{
    free(tcp->departed.list);
    free(tcp->blames.list);
    ncoll__keep_free(&tcp->keep);
}

void ncoll__tcp_depart(struct tcp *tcp, int rank, bool left, uint64_t started)
{
    for (int i = 0; i < tcp->departed.count; i++)
        if (tcp->departed.list[i].rank == rank)
            return;
    tcp->departed.list[tcp->departed.count++] = (struct tcp_departure){rank, left, started};
}

/* NULL: nobody, so far. */
static const struct tcp_blame *blame_of(const struct tcp *tcp, int rank)
{
    for (int i = 0; i < tcp->blames.count; i++)
        if (tcp->blames.list[i].rank == rank)
            return &tcp->blames.list[i];
    return NULL;
}

void ncoll__tcp_blame(struct tcp *tcp, int rank, int whom)
{
    if (blame_of(tcp, rank) == NULL)
        tcp->blames.list[tcp->blames.count++] = (struct tcp_blame){rank, whom};
}

bool ncoll__tcp_hear_blame(struct tcp *tcp, const struct tcp_frame *frame, int rank)
{
    if (frame->rank != rank || frame->number > (uint64_t)tcp->base.ranks)
        return false;
    ncoll__tcp_blame(tcp, rank, (int)frame->number - 1);
    return true;
}

static bool has_departed(const struct tcp *tcp, int rank)
{
    for (int i = 0; i < tcp->departed.count; i++)
        if (tcp->departed.list[i].rank == rank)
            return true;
    return false;
}

/* Whom one blames that may itself have given up. Of those who blame each other it is the first. */
int ncoll__tcp_culprit(const struct tcp *tcp, int rank)
{
    bool gone = has_departed(tcp, rank);
    int first = rank;

    for (int i = 0; i < tcp->base.ranks; i++) {
        const struct tcp_blame *blame = blame_of(tcp, rank);
        if (blame == NULL)
            return gone ? rank : -1;
        if (blame->whom < 0 || blame->whom == rank)
            return blame->whom;
        gone = true; /* says who blames it */
        rank = blame->whom;
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
            return tcp->events.fail(tcp->events.arg, NCOLL_ERR_PEER, culprit,
                                    "see what that rank has printed",
                                    "rank %d failed while the ranks were finding each other, as "
                                    "rank %d reports",
                                    culprit, d->rank);
        if (d->left)
            return tcp->events.fail(tcp->events.arg, NCOLL_ERR_PEER, d->rank,
                                    "see the error of its ncoll_context_create()",
                                    "rank %d has left while the ranks were finding each other",
                                    d->rank);
        return tcp->events.fail(tcp->events.arg, NCOLL_ERR_PEER, d->rank,
                                "see what that rank has printed",
                                "rank %d failed: its connection closed without a goodbye", d->rank);
    }
    return NCOLL_TIMEOUT;
}

int ncoll__tcp_tick_ms(const struct tcp *tcp)
{
    uint64_t now = tcp->events.now_ns(tcp->events.arg);

    if (now >= tcp->deadline_ns)
        return 0;
    uint64_t left_ms = (tcp->deadline_ns - now) / 1000000 + 1;
    return left_ms < TICK_MS ? (int)left_ms : TICK_MS;
}

int ncoll__tcp_fail_memory(const struct bootstrap_events *events, int ranks)
{
    return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for %d ranks", ranks);
}

int ncoll__tcp_fail_too_long(struct tcp *tcp, size_t len)
{
    return tcp->events.fail(tcp->events.arg, NCOLL_ERR_RESOURCE, -1,
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

static int check(const struct bootstrap_config *config)
{
    const struct bootstrap_events *events = &config->events;
    struct tcp_address address;

    if (config->root == NULL)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "set NCOLL_ROOT to the host:port of rank 0, the same on all ranks",
                            "the tcp bootstrap was asked for, but NCOLL_ROOT is not set");
    if (!ncoll__tcp_address_parse(config->root, &address))
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "use host:port, 192.0.2.1:port or [2001:db8::1]:port with a port from "
                            "1 to 65535",
                            "NCOLL_ROOT is \"%s\", which is not host:port", config->root);
    if (config->rank < 0 || config->ranks < 1)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "start each rank with NCOLL_RANK (from 0), NCOLL_SIZE and NCOLL_ROOT",
                            "NCOLL_ROOT is set, but %s not",
                            config->rank >= 0   ? "NCOLL_SIZE is"
                            : config->ranks > 0 ? "NCOLL_RANK is"
                                                : "NCOLL_RANK and NCOLL_SIZE are");
    if (config->rank >= config->ranks)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "ranks are numbered from 0 to NCOLL_SIZE - 1",
                            "NCOLL_RANK is %d, but NCOLL_SIZE is %d", config->rank, config->ranks);
    return NCOLL_OK;
}

static int tcp_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    int rc = check(config);

    if (rc != NCOLL_OK)
        return rc;
    return config->rank == 0 ? ncoll__tcp_root.open(config, out)
                             : ncoll__tcp_leaf.open(config, out);
}

/* Only opens: what is opened has the operations of its side. */
const struct bootstrap_ops ncoll__bootstrap_tcp = {.name = "tcp", .open = tcp_open};
