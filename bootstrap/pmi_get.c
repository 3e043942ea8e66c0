/* SPDX-License-Identifier: BSD-3-Clause */
/* Gets the blobs of other ranks under PMI: from the board, if they are on this node; from the
 * parcels of other nodes; or from what ranks apart have published themselves. */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/node_parcel.h"
#include "bootstrap/pmi.h"
#include "transport/because.h"

/* The nanoseconds that a rank waits for a parcel that another rank of its node has claimed. Then it
 * gets the parcel for itself. */
#define CLAIM_NS (BOOTSTRAP_GET_NS / 2)

/* ------------------------------------------------------------------ blobs that are here ------- */

static const void *find(const struct pmi *p, int rank, size_t *len)
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
static bool keep(struct pmi *p, bool for_all, int rank, const void *bytes, size_t len)
{
    if (for_all)
        return ncoll__node_board_put(&p->board, p->k, rank, bytes, len);
    return p->keep.blobs[rank].bytes != NULL || ncoll__keep_copy(&p->keep, rank, bytes, len);
}

/* Unpacks a parcel and keeps its blobs. All of them must be of the node of the rank that has
 * published it. Returns the reason why that failed; NULL: it did not. */
static const char *unpack(struct pmi *p, const struct pmi_flight *f)
{
    struct parcel_reader reader = {.bytes = f->pieces.bytes, .len = f->pieces.len};
    const int32_t *node_of = p->board.node_of;
    const char *why = NULL;
    enum parcel_end end;
    const void *blob;
    size_t len;
    int rank;

    while (why == NULL &&
           (end = ncoll__node_parcel_next(&reader, &rank, &blob, &len)) != PARCEL_END)
        if (end == PARCEL_NO_MEMORY)
            why = "there is no memory for it";
        else if (end == PARCEL_WRONG || rank < 0 || rank >= p->base.ranks ||
                 node_of[rank] != node_of[f->rank])
            why = "it is not as an ncoll publishes it";
        else if (!keep(p, f->for_all, rank, blob, len))
            why = "there is no memory for it";
    ncoll__last_blob_free(&reader.last);
    return why;
}

/* ------------------------------------------------------------------ the flight ---------------- */

static void begin(struct pmi *p, int rank, int node, bool for_all)
{
    p->flight = (struct pmi_flight){.rank = rank, .node = node, .for_all = for_all};
}

/* Ends the get that is under way. why: the reason for its failure; NULL: all pieces have come. */
static void land(struct pmi *p, const char *why)
{
    struct pmi_flight *f = &p->flight;
    size_t len;

    if (why == NULL)
        why = unpack(p, f);
    if (f->for_all)
        ncoll__node_board_settle(&p->board, p->k, f->node,
                                 why == NULL ? PARCEL_HERE : PARCEL_REFUSED);
    else if (why == NULL && f->node >= 0)
        p->fetched[f->node] = p->k;
    else if (why == NULL && find(p, f->rank, &len) == NULL)
        why = "it has not what it should have";
    if (why != NULL && !f->for_all) {
        p->failed_rank = f->rank;
        p->failed_why = why;
    }
    ncoll__pmi_pieces_free(&f->pieces);
    f->rank = -1;
}

static void take_piece(struct pmi *p, const char *answer)
{
    const char *value;
    size_t len;

    p->traffic.gets++;
    if (!ncoll__pmi_session_dialect(p->session)->value(answer, &value, &len)) {
        land(p, "there is none");
        return;
    }
    p->traffic.bytes_received += len;
    switch (ncoll__pmi_piece_add(&p->flight.pieces, value, len)) {
    case PMI_PIECE_MORE:
        break;
    case PMI_PIECE_LAST:
        land(p, NULL);
        break;
    case PMI_PIECE_WRONG:
        land(p, "it is not as an ncoll publishes it");
        break;
    case PMI_PIECE_NO_MEMORY:
        land(p, "there is no memory for it");
    }
}

/* Claims the next parcel of this rank's share that no rank has claimed, and begins to get it, if
 * all ranks need all blobs. */
static void claim_next(struct pmi *p)
{
    int nodes = p->nodes.n, step = p->shares ? p->nodes.n_mates : 1;

    for (; !p->base.for_few && p->next_node < nodes && p->flight.rank < 0; p->next_node += step)
        if ((p->next_node != p->nodes.of[p->base.rank] || !p->shares) &&
            p->nodes.leader[p->next_node] != p->base.rank &&
            ncoll__node_board_claim(&p->board, p->k, p->next_node) == 0)
            begin(p, p->nodes.leader[p->next_node], p->next_node, true);
}

/* Continues the gets as far as answers have come. Returns NCOLL_OK or the error of the
 * connection. */
static int progress(struct pmi *p)
{
    struct pmi_flight *f = &p->flight;
    char key[PMI_KEY_MOST];
    const char *answer;

    for (;;) {
        if (f->rank < 0)
            claim_next(p);
        if (f->rank < 0)
            return NCOLL_OK;
        if (!f->asked) {
            ncoll__pmi_key(p, f->rank, f->pieces.n, key);
            int rc = ncoll__pmi_request(p->session, &p->events, PMI_GET, key, "");
            if (rc != NCOLL_OK)
                return rc;
            f->asked = true;
        }
        int rc = ncoll__pmi_answer(p->session, &p->events, &answer);
        if (rc != NCOLL_OK)
            return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
        f->asked = false;
        take_piece(p, answer);
    }
}

/* ------------------------------------------------------------------ looking for a blob -------- */

/* Returns true if this rank has waited too long for another rank of its node, which has claimed the
 * parcel with the blob of `rank`. */
static bool waited_enough(struct pmi *p, int rank)
{
    uint64_t now_ns = pmi_now(p);

    if (p->waits_for != rank) {
        p->waits_for = rank;
        p->waits_since_ns = now_ns;
    }
    return now_ns - p->waits_since_ns >= CLAIM_NS;
}

/* Begins to get the parcel of a rank's node, or what the rank has published by itself, unless
 * another get is under way. Returns the rank that publishes the value: the leader of the node, or
 * the rank itself. */
static int look_for(struct pmi *p, int rank)
{
    int node = p->nodes.of[rank], leader = p->nodes.leader[node];
    bool on_board = p->shares && node == p->nodes.of[p->base.rank], idle = p->flight.rank < 0;

    if (on_board || p->fetched[node] == p->k) { /* the rank is apart */
        if (idle)
            begin(p, rank, -1, false);
        return rank;
    }
    if (!idle)
        return leader;
    switch (ncoll__node_board_claim(&p->board, p->k, node)) {
    case 0:
        begin(p, leader, node, true);
        break;
    case PARCEL_HERE:
        begin(p, rank, -1, false);
        return rank;
    case PARCEL_CLAIMED:
        if (waited_enough(p, rank))
            begin(p, leader, node, false);
        break;
    default:
        begin(p, leader, node, false);
    }
    return leader;
}

static int fail_get(struct pmi *p, int rank)
{
    return p->events.fail(p->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_MISSING), rank,
                          "see what that rank has printed, and that all ranks create their "
                          "contexts in the same order",
                          "rank %d is gone, or has not published ncoll.%u.%d with PMI: %s", rank,
                          p->context, (int)p->k, p->failed_why);
}

int ncoll__pmi_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    struct pmi *p = pmi_of(b);

    *blob = find(p, rank, len);
    if (*blob != NULL)
        return NCOLL_OK;
    p->failed_rank = -1;
    int rc = progress(p);
    if (rc != NCOLL_OK)
        return rc;
    *blob = find(p, rank, len);
    if (*blob != NULL)
        return NCOLL_OK;
    int asked = look_for(p, rank);
    if (p->failed_rank == asked)
        return fail_get(p, asked);
    rc = progress(p);
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

void ncoll__pmi_ask(struct bootstrap *b, int rank)
{
    struct pmi *p = pmi_of(b);
    size_t len;

    if (find(p, rank, &len) == NULL)
        look_for(p, rank);
}

void ncoll__pmi_forget(struct pmi *p)
{
    struct pmi_flight *f = &p->flight;

    if (f->rank >= 0 && f->for_all)
        ncoll__node_board_settle(&p->board, p->k, f->node, PARCEL_REFUSED);
    ncoll__pmi_pieces_free(&f->pieces);
    f->rank = -1;
    f->asked = false;
    ncoll__keep_clear(&p->keep);
    free(p->bytes);
    p->bytes = NULL;
    p->piece = 0;
    p->waits_for = p->failed_rank = -1;
}
