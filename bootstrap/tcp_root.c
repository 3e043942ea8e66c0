/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/tcp_root.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS            64
#define MISSING_NS        UINT64_C(100000000) /* interval between two checks for missing ranks */
#define MISSING_RANKS     64 /* the interval grows by MISSING_NS for each 64 ranks: all are told */
#define SPARE_DESCRIPTORS 64 /* descriptors that a process has besides its connections */

static struct root *root_of(struct bootstrap *b)
{
    return (struct root *)b;
}

bool ncoll__tcp_root_watch(struct root *root, int fd, int index, bool known)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)index};

    return epoll_ctl(root->epoll, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

/* ------------------------------------------------------------------ telling the leaves -------- */

/* Finds the next frame for a leaf. Returns false if there is none. */
static bool next_frame(struct root *root, struct leaf_link *leaf, struct tcp_frame *frame,
                       const void **body)
{
    const struct tcp *tcp = &root->tcp;

    *body = NULL;
    if (root->complete && !leaf->told_ready) {
        leaf->told_ready = true;
        ncoll__tcp_write_ready(root, leaf);
        *frame = (struct tcp_frame){.type = TCP_READY, .len = READY_BYTES};
        *body = leaf->ready;
        return true;
    }
    if (leaf->told_parcels < root->parcels.count) {
        const struct parcel *parcel = &root->parcels.list[leaf->told_parcels++];
        *frame = (struct tcp_frame){
            .type = TCP_BLOBS, .len = (uint32_t)parcel->len, .number = root->gathered};
        *body = parcel->bytes;
        return true;
    }
    if (leaf->told_root_causes <
        tcp->root_causes.count) { /* root causes go first, since a rank that names one departs */
        const struct tcp_root_cause *cause = &tcp->root_causes.list[leaf->told_root_causes++];
        *frame = (struct tcp_frame){
            .type = TCP_ROOT_CAUSE, .rank = cause->rank, .number = (uint64_t)(cause->whom + 1)};
        return true;
    }
    if (leaf->told_departed < tcp->departed.count) {
        const struct tcp_departure *d = &tcp->departed.list[leaf->told_departed++];
        *frame = (struct tcp_frame){
            .type = TCP_GONE, .how = d->left, .rank = d->rank, .number = d->started};
        return true;
    }
    if (leaf->told_missing != root->missing.version) {
        leaf->told_missing = root->missing.version;
        unsigned count = (unsigned)root->missing.count;
        *frame = (struct tcp_frame){.type = TCP_MISSING,
                                    .how = count < UINT16_MAX ? count : UINT16_MAX,
                                    .rank = root->missing.rank,
                                    .number = root->missing.exchange};
        return true;
    }
    return false;
}

static void tell(struct root *root, struct leaf_link *leaf)
{
    struct tcp_frame frame;
    const void *body;

    while (leaf != NULL && leaf->link.fd >= 0) {
        ncoll__tcp_link_flush(&leaf->link);
        if (!ncoll__tcp_link_idle(&leaf->link) || !next_frame(root, leaf, &frame, &body))
            return;
        ncoll__tcp_link_send(&leaf->link, &frame, body);
    }
}

/* Returns a number that grows whenever there is something new to tell the leaves. */
static uint64_t stamp_of(const struct root *root)
{
    return root->complete + root->gathered + (uint64_t)root->tcp.root_causes.count +
           (uint64_t)root->tcp.departed.count + root->missing.version;
}

/* Tells all leaves, if there may be something to tell. */
static void tell_all(struct root *root)
{
    uint64_t stamp = stamp_of(root);

    if (stamp == root->stamp && !root->untold)
        return;
    root->stamp = stamp;
    root->untold = false;
    for (int r = 1; r < root->tcp.base.ranks; r++) {
        struct leaf_link *leaf = root->leaves[r];
        tell(root, leaf);
        root->untold |= leaf != NULL && leaf->link.fd >= 0 && !ncoll__tcp_link_idle(&leaf->link);
    }
}

static bool has_been_told_blobs(const struct root *root, const struct leaf_link *leaf)
{
    return leaf == NULL || leaf->link.fd < 0 ||
           (leaf->told_parcels == root->parcels.count && ncoll__tcp_link_idle(&leaf->link));
}

/* Returns true if a rank has reached the pending exchange, or has joined if there is none. */
static bool is_here(const struct root *root, int rank)
{
    if (rank == 0)
        return true;
    return root->leaves[rank] != NULL && root->leaves[rank]->started >= root->tcp.k;
}

int ncoll__tcp_root_lowest_missing(const struct root *root, int *count)
{
    int lowest = -1;

    *count = 0;
    for (int r = root->tcp.base.ranks - 1; r > 0; r--) {
        if (is_here(root, r))
            continue;
        lowest = r;
        ++*count;
    }
    return lowest;
}

void ncoll__tcp_root_note_missing(struct root *root)
{
    const struct tcp *tcp = &root->tcp;
    uint64_t now = tcp->events.now_ns(tcp->events.arg);
    int count;

    if (now < root->missing.next_ns)
        return;
    root->missing.next_ns = now + MISSING_NS * (1 + (uint64_t)tcp->base.ranks / MISSING_RANKS);
    int lowest = ncoll__tcp_root_lowest_missing(root, &count);
    if (count == 0 || (lowest == root->missing.rank && count == root->missing.count &&
                       tcp->k == root->missing.exchange && root->missing.version > 0))
        return;
    root->missing.rank = lowest;
    root->missing.count = count;
    root->missing.exchange = tcp->k;
    root->missing.version++;
}

/* ------------------------------------------------------------------ hearing the leaves -------- */

static void hang_up(struct root *root, int rank, bool left)
{
    struct leaf_link *leaf = root->leaves[rank];

    ncoll__tcp_link_close(&leaf->link, false);
    ncoll__tcp_depart(&root->tcp, rank, left, leaf->started);
}

/*
 * Handles a frame of a leaf and takes over its body. Returns false if the leaf must not send it. A
 * leaf is at most one exchange ahead of the gathered ones, since it needs all blobs of one exchange
 * before it starts the next.
 */
static bool handle(struct root *root, int rank, const struct tcp_frame *frame, unsigned char *body)
{
    struct leaf_link *leaf = root->leaves[rank];

    if (frame->type == TCP_ROOT_CAUSE) {
        free(body);
        return ncoll__tcp_hear_root_cause(&root->tcp, frame, rank);
    }
    if (frame->type == TCP_GIVES_UP) {
        free(body);
        root->leaf_gives_up(root, rank, frame->number);
        return true;
    }
    if (frame->type == TCP_DIRECT) {
        free(body);
        if (!leaf->relayed || frame->number != leaf->started)
            return false;
        leaf->relayed = false;
        root->untold = true;
        if (frame->number == root->gathered)
            leaf->told_parcels = 0;
        return true;
    }
    if (frame->type != TCP_BLOB || frame->rank != rank || !leaf->told_ready ||
        frame->number != root->gathered + 1 || frame->number != leaf->started + 1) {
        free(body);
        return false;
    }
    ncoll__keep_adopt(&root->incoming, rank, body, frame->len);
    leaf->started++;
    leaf->relayed = frame->how == 1;
    return true;
}

static void hear(struct root *root, int rank)
{
    struct leaf_link *leaf = root->leaves[rank];
    const struct bootstrap_events *events = &root->tcp.events;
    struct tcp_frame frame;
    unsigned char *body;

    while (leaf->link.fd >= 0) {
        switch (ncoll__tcp_link_receive(&leaf->link, &frame, &body)) {
        case TCP_NOTHING:
            return;
        case TCP_FRAME:
            if (frame.type == TCP_BYE) {
                free(body);
                hang_up(root, rank, true);
                return;
            }
            if (handle(root, rank, &frame, body))
                continue;
            break;
        case TCP_CLOSED:
            hang_up(root, rank, false);
            return;
        case TCP_NONSENSE:
            break;
        case TCP_NO_MEMORY:
            events->log(events->arg, NCOLL_LOG_ERROR, "no memory for %u bytes from rank %d",
                        leaf->link.in.frame.len, rank);
            hang_up(root, rank, false);
            return;
        }
        events->log(events->arg, NCOLL_LOG_ERROR,
                    "rank %d sends what it should not, or is not of this version", rank);
        hang_up(root, rank, false);
    }
}

void ncoll__tcp_root_progress(struct root *root, int wait_ms)
{
    struct epoll_event events[EVENTS];
    int ranks = root->tcp.base.ranks;

    int n = epoll_wait(root->epoll, events, EVENTS, wait_ms);
    for (int i = 0; i < n; i++) {
        int index = (int)events[i].data.u32;
        if (index > 0 && index < ranks)
            hear(root, index);
        else
            root->at_door(root, index);
    }
    tell_all(root);
}

/* ------------------------------------------------------------------ operations --------------- */

/* Tells the leaves everything that they have not been told, if there are root causes. Otherwise a
 * rank that leaves because of another one would be taken for the one that failed. */
static void tell_last(struct root *root)
{
    const struct bootstrap_events *events = &root->tcp.events;
    uint64_t now, end = events->now_ns(events->arg) + TCP_LAST_WORD_MS * UINT64_C(1000000);

    if (root->tcp.root_causes.count == 0)
        return;
    for (int r = 1; r < root->tcp.base.ranks; r++) {
        struct leaf_link *leaf = root->leaves[r];
        if (leaf == NULL)
            continue;
        do {
            tell(root, leaf);
            now = events->now_ns(events->arg);
        } while (leaf->link.fd >= 0 && !ncoll__tcp_link_idle(&leaf->link) &&
                 ncoll__tcp_link_drain(&leaf->link, now < end ? (int)((end - now) / 1000000) : 0));
    }
}

static void free_root(struct root *root)
{
    tell_last(root);
    for (int r = 1; r < root->tcp.base.ranks; r++)
        if (root->leaves[r] != NULL) {
            root->leaves[r]->link.ended = root->gathered;
            ncoll__tcp_link_close(&root->leaves[r]->link, true);
            free(root->leaves[r]);
        }
    if (root->epoll >= 0)
        close(root->epoll);
    free(root->leaves);
    ncoll__keep_free(&root->incoming);
    ncoll__parcels_free(&root->parcels);
    ncoll__tcp_free(&root->tcp);
    free(root);
}

/* Returns true if this process may have n connections; raises its limit of descriptors if it
 * must. */
static bool may_have_connections(int n)
{
    rlim_t needed = (rlim_t)n + STRANGERS_FOREIGN + SPARE_DESCRIPTORS;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || needed <= limit.rlim_cur)
        return true;
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = needed < limit.rlim_max ? needed : limit.rlim_max;
    return (rlim_t)n < (setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before);
}

static int root_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    int ranks = config->ranks;

    if (!may_have_connections(ranks - 1))
        return events->fail(
            events->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1,
            "raise the limit of open files on rank 0's host (ulimit -n), or start "
            "the ranks under PMIx (prterun, srun --mpi=pmix)",
            "rank 0 needs %d connections, for which it has too few file descriptors", ranks - 1);
    struct root *root = calloc(1, sizeof *root);
    if (root == NULL)
        return ncoll__tcp_fail_memory(events, ranks);
    if (!ncoll__tcp_init(&root->tcp, &ncoll__tcp_root, config))
        goto free_memory;
    root->leaves = calloc((size_t)ranks, sizeof *root->leaves);
    if (root->leaves == NULL || !ncoll__keep_init(&root->incoming, ranks))
        goto free_tcp;
    root->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (root->epoll < 0 || !ncoll__tcp_nonce(root->secret)) {
        int rc =
            events->fail(events->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), -1, NULL, "%s: %s",
                         root->epoll < 0 ? "epoll_create1" : "no random bytes", strerror(errno));
        free_root(root);
        return rc;
    }
    *out = &root->tcp.base;
    return NCOLL_OK;

free_tcp:
    free(root->leaves);
    ncoll__tcp_free(&root->tcp);
free_memory:
    free(root);
    return ncoll__tcp_fail_memory(events, ranks);
}

static int root_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct root *root = root_of(b);
    struct tcp *tcp = &root->tcp;
    const struct bootstrap_events *events = &tcp->events;

    if (len > TCP_BLOB_MAX)
        return ncoll__tcp_fail_too_long(tcp, len);
    if (root->gathered != tcp->k)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, BUG), -1, NULL,
                            "an earlier exchange has not ended");
    if (!ncoll__keep_copy(&root->incoming, 0, blob, len))
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL,
                            "no memory to exchange %zu bytes with the other ranks", len);
    tcp->k++;
    return NCOLL_OK;
}

/* Ends the exchange when all blobs have come: get() returns them, and the leaves are told. */
static int gather(struct root *root)
{
    const struct bootstrap_events *events = &root->tcp.events;
    struct keep emptied = root->tcp.keep;

    ncoll__parcels_free(&root->parcels);
    if (!ncoll__parcels_pack(&root->parcels, &root->incoming))
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL,
                            "no memory for what %d ranks exchange", root->tcp.base.ranks);
    ncoll__keep_clear(&emptied);
    root->tcp.keep = root->incoming;
    root->incoming = emptied;
    root->gathered++;
    for (int r = 1; r < root->tcp.base.ranks; r++)
        if (root->leaves[r] != NULL)
            root->leaves[r]->told_parcels = root->leaves[r]->relayed ? root->parcels.count : 0;
    tell_all(root);
    return NCOLL_OK;
}

/* The exchange ends here when all leaves have been sent their blobs: while the program computes,
 * the root sends nothing. */
static int root_exchange_test(struct bootstrap *b)
{
    struct root *root = root_of(b);

    ncoll__tcp_root_progress(root, 0);
    if (root->gathered < root->tcp.k) {
        if (root->incoming.count < b->ranks) {
            ncoll__tcp_root_note_missing(root);
            return ncoll__tcp_check_departed(&root->tcp);
        }
        int rc = gather(root);
        if (rc != NCOLL_OK)
            return rc;
    }
    for (int r = 1; r < b->ranks; r++)
        if (!has_been_told_blobs(root, root->leaves[r]))
            return NCOLL_TIMEOUT;
    return NCOLL_OK;
}

static int root_missing(struct bootstrap *b, int *count)
{
    return ncoll__tcp_root_lowest_missing(root_of(b), count);
}

/* Sleeps until an event, but at most for ns nanoseconds. epoll does not tell when a leaf can take
 * more data, so while some is left to be sent, it sleeps for 1 ms only. */
static void root_wait(struct bootstrap *b, uint64_t ns)
{
    struct root *root = root_of(b);
    bool told = true;

    for (int r = 1; r < b->ranks; r++)
        told &= root->leaves[r] == NULL || ncoll__tcp_link_idle(&root->leaves[r]->link);
    ncoll__tcp_root_progress(root,
                             told ? ncoll__tcp_wait_ms(ns < MISSING_NS ? ns : MISSING_NS) : 1);
}

static int root_failed(struct bootstrap *b)
{
    ncoll__tcp_root_progress(root_of(b), 0);
    return ncoll__tcp_take_failure(&root_of(b)->tcp);
}

static void root_name_root_cause(struct bootstrap *b, int rank)
{
    ncoll__tcp_note_root_cause(&root_of(b)->tcp, 0, rank);
    ncoll__tcp_root_progress(root_of(b), 0);
}

static int root_culprit(struct bootstrap *b, int rank)
{
    ncoll__tcp_root_progress(root_of(b), 0);
    return ncoll__tcp_culprit(&root_of(b)->tcp, rank);
}

static void root_close(struct bootstrap *b)
{
    const struct tcp *tcp = &root_of(b)->tcp;
    const struct bootstrap_traffic *t = &tcp->traffic;

    tcp->events.log(tcp->events.arg, NCOLL_LOG_INFO,
                    "tcp bootstrap of %d ranks: rank 0 had at most %u connections at once, and has "
                    "%u; it has sent %" PRIu64 " frames with %" PRIu64 " bytes and received "
                    "%" PRIu64 " with %" PRIu64,
                    b->ranks, t->most_sockets, t->sockets, t->frames_sent, t->bytes_sent,
                    t->frames_received, t->bytes_received);
    free_root(root_of(b));
}

const struct bootstrap_ops ncoll__tcp_root = {
    .name = "tcp",
    .open = root_open,
    .exchange_start = root_exchange_start,
    .exchange_test = root_exchange_test,
    .wait = root_wait,
    .get = ncoll__tcp_get,
    .missing = root_missing,
    .failed = root_failed,
    .name_root_cause = root_name_root_cause,
    .culprit = root_culprit,
    .traffic = ncoll__tcp_traffic,
    .close = root_close,
};
