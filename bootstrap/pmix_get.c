/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets the blobs of other ranks under PMIx: from the board, if they are on this node; from the
 * parcels of other nodes; or from what ranks apart have published themselves. */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/node_parcel.h"
#include "bootstrap/pmix.h"

/* The longest time of a request, in nanoseconds. If a request for all ranks of the node takes
 * longer, each of them asks by itself, for as long again. */
#define FLIGHT_NS (BOOTSTRAP_GET_NS / 2)

/* ------------------------------------------------------------------ blobs that are here ------- */

static const void *find(const struct pmix *p, int rank, size_t *len)
{
    const struct kept *kept = &p->keep.blobs[rank];

    if (kept->bytes != NULL) {
        *len = kept->len;
        return kept->bytes;
    }
    return ncoll__node_board_get(&p->board, p->k, rank, len);
}

/* Keeps a blob: on the board for all ranks of the node, or for this rank alone. Returns false if
 * there is no memory. */
static bool keep(struct pmix *p, bool for_all, int rank, const void *bytes, size_t len)
{
    if (for_all)
        return ncoll__node_board_put(&p->board, p->k, rank, bytes, len);
    return p->keep.blobs[rank].bytes != NULL || ncoll__keep_copy(&p->keep, rank, bytes, len);
}

/* Unpacks a parcel and keeps its blobs. All of them must be of the node of the rank that has
 * published it. */
static pmix_status_t unpack(struct pmix *p, const struct flight *f, const void *bytes, size_t len)
{
    struct parcel_reader reader = {.bytes = bytes, .len = len};
    const int32_t *node_of = p->board.node_of;
    pmix_status_t status = PMIX_SUCCESS;
    enum parcel_end end;
    const void *blob;
    size_t blob_len;
    int rank;

    while (status == PMIX_SUCCESS &&
           (end = ncoll__node_parcel_next(&reader, &rank, &blob, &blob_len)) != PARCEL_END)
        if (end == PARCEL_NO_MEMORY)
            status = PMIX_ERR_NOMEM;
        else if (end == PARCEL_WRONG || rank < 0 || rank >= p->base.ranks ||
                 node_of[rank] != node_of[f->rank])
            status = PMIX_ERR_UNPACK_FAILURE;
        else if (!keep(p, f->for_all, rank, blob, blob_len))
            status = PMIX_ERR_NOMEM;
    ncoll__last_blob_free(&reader.last);
    return status;
}

/* ------------------------------------------------------------------ requests ------------------ */

static struct flight *free_flight(struct pmix *p)
{
    for (int i = 0; i < FLIGHTS_MAX; i++)
        if (p->flights[i].fetch == NULL)
            return &p->flights[i];
    return NULL;
}

static bool is_under_way(const struct pmix *p, int rank)
{
    for (int i = 0; i < FLIGHTS_MAX; i++)
        if (p->flights[i].fetch != NULL && p->flights[i].rank == rank)
            return true;
    return false;
}

/* Begins to fetch what a rank has published, with the free entry f. */
static void fetch(struct pmix *p, struct flight *f, int rank, int node, bool for_all)
{
    struct pmix_fetch *started = ncoll__pmix_fetch_start(&p->self, rank, p->key);

    if (started == NULL) {
        p->failed_rank = rank;
        p->failed_status = PMIX_ERR_NOMEM;
        if (for_all)
            ncoll__node_board_settle(&p->board, p->k, node, PARCEL_REFUSED);
        return;
    }
    p->traffic.gets++;
    *f = (struct flight){started, rank, node, for_all, pmix_now(p)};
}

/* Begins to fetch what a rank has published for this rank alone, unless that is under way or there
 * is no free entry. */
static void fetch_for_self(struct pmix *p, int rank, int node)
{
    struct flight *f = free_flight(p);

    if (f != NULL && !is_under_way(p, rank))
        fetch(p, f, rank, node, false);
}

static void land(struct pmix *p, struct flight *f, pmix_status_t status, const void *bytes,
                 size_t len)
{
    size_t found;

    if (status == PMIX_SUCCESS) {
        p->traffic.bytes_received += len;
        status = unpack(p, f, bytes, len);
    }
    if (f->for_all) {
        ncoll__node_board_settle(&p->board, p->k, f->node,
                                 status == PMIX_SUCCESS ? PARCEL_HERE : PARCEL_REFUSED);
        return;
    }
    if (status == PMIX_SUCCESS && f->node >= 0)
        p->fetched[f->node] = p->k;
    else if (status == PMIX_SUCCESS && find(p, f->rank, &found) == NULL)
        status = PMIX_ERR_NOT_FOUND;
    if (status != PMIX_SUCCESS) {
        p->failed_rank = f->rank;
        p->failed_status = status;
    }
}

/* Begins to fetch those parcels of this rank's share that no rank has claimed, as far as there are
 * free entries. Called if all ranks need all blobs. */
static void fetch_share(struct pmix *p)
{
    int nodes = p->board.memory->nodes, step = p->shares ? p->mates.n : 1;
    struct flight *f;

    for (; p->next_node < nodes && (f = free_flight(p)) != NULL; p->next_node += step)
        if ((p->next_node != p->board.node_of[p->base.rank] || !p->shares) &&
            p->board.leader[p->next_node] != p->base.rank &&
            ncoll__node_board_claim(&p->board, p->k, p->next_node) == 0)
            fetch(p, f, p->board.leader[p->next_node], p->next_node, true);
}

static void progress(struct pmix *p)
{
    uint64_t now_ns = pmix_now(p);

    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *f = &p->flights[i];
        pmix_status_t status = PMIX_ERR_TIMEOUT;
        unsigned char *bytes = NULL;
        size_t len = 0;
        if (f->fetch == NULL || (!ncoll__pmix_fetch_test(f->fetch, &status, &bytes, &len) &&
                                 now_ns - f->since_ns < FLIGHT_NS))
            continue;
        ncoll__pmix_fetch_end(f->fetch);
        f->fetch = NULL;
        land(p, f, status, bytes, len);
        free(bytes);
    }
    if (!p->base.for_few)
        fetch_share(p);
}

/* ------------------------------------------------------------------ looking for a blob -------- */

/* Returns true if this rank has waited too long for another rank of its node, which has claimed the
 * parcel with the blob of `rank`. */
static bool waited_enough(struct pmix *p, int rank)
{
    uint64_t now_ns = pmix_now(p);

    if (p->waits_for != rank) {
        p->waits_for = rank;
        p->waits_since_ns = now_ns;
    }
    return now_ns - p->waits_since_ns >= FLIGHT_NS;
}

/* Begins to fetch the parcel of a rank's node, or what the rank has published by itself. Returns
 * the rank that publishes the value: the leader of the node, or the rank itself. */
static int look_for(struct pmix *p, int rank)
{
    int node = p->board.node_of[rank], leader = p->board.leader[node];
    bool on_board = p->shares && node == p->board.node_of[p->base.rank];
    struct flight *f = free_flight(p);

    if (on_board || p->fetched[node] == p->k) { /* the rank is apart */
        fetch_for_self(p, rank, -1);
        return rank;
    }
    if (f == NULL)
        return leader;
    switch (ncoll__node_board_claim(&p->board, p->k, node)) {
    case 0:
        fetch(p, f, leader, node, true);
        break;
    case PARCEL_HERE:
        fetch_for_self(p, rank, -1);
        return rank;
    case PARCEL_CLAIMED:
        if (!is_under_way(p, leader) && waited_enough(p, rank))
            fetch_for_self(p, leader, node);
        break;
    default:
        fetch_for_self(p, leader, node);
    }
    return leader;
}

/*
 * Fails since the blob of a rank cannot be got. A fence may succeed without a rank that died before
 * the others came. Its blob never comes then: PMIx answers that there is none, or does not answer.
 */
static int fail_get(struct pmix *p, int rank)
{
    return p->events.fail(p->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), rank,
                          "see what that rank has printed, and that all ranks create their "
                          "contexts in the same order",
                          "rank %d is gone, or has not published %s (PMIx_Get: %s)", rank, p->key,
                          PMIx_Error_string(p->failed_status));
}

int ncoll__pmix_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    struct pmix *p = pmix_of(b);

    *blob = find(p, rank, len);
    if (*blob != NULL)
        return NCOLL_OK;
    p->failed_rank = -1;
    progress(p);
    *blob = find(p, rank, len);
    if (*blob != NULL)
        return NCOLL_OK;
    int asked = look_for(p, rank);
    return p->failed_rank == asked ? fail_get(p, asked) : NCOLL_TIMEOUT;
}

void ncoll__pmix_ask(struct bootstrap *b, int rank)
{
    struct pmix *p = pmix_of(b);
    size_t len;

    if (find(p, rank, &len) == NULL)
        look_for(p, rank);
}

void ncoll__pmix_forget(struct pmix *p)
{
    for (int i = 0; i < FLIGHTS_MAX; i++) {
        struct flight *f = &p->flights[i];
        if (f->fetch == NULL)
            continue;
        ncoll__pmix_fetch_end(f->fetch);
        f->fetch = NULL;
        if (f->for_all)
            ncoll__node_board_settle(&p->board, p->k, f->node, PARCEL_REFUSED);
    }
    ncoll__keep_clear(&p->keep);
    p->waits_for = p->failed_rank = -1;
}
