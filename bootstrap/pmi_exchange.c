/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges under PMI: ranks leave their blobs on the board of their node, the leader of each node
 * publishes one parcel, and a fence follows. */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/futex.h"
#include "bootstrap/node_parcel.h"
#include "bootstrap/pmi.h"

/* The longest sleep of a leader that waits for its mates, in nanoseconds: then it looks again,
 * though none has woken it. */
#define LOOK_NS UINT64_C(20000000)

/* ------------------------------------------------------------------ publishing ---------------- */

/* Adds a blob to a parcel: that of this rank, or that of a mate, if it is on the board. */
static void add_blob(struct pmi *p, struct blob *parcel, struct last_blob *last, int rank)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    size_t len = own->len;
    const void *bytes =
        rank == p->base.rank ? own->bytes : ncoll__node_board_get(&p->board, p->k, rank, &len);

    if (bytes != NULL)
        ncoll__node_parcel_add(parcel, last, rank, bytes, len);
}

/* Packs the parcel that this rank publishes: the blobs of its node (of_node), or its own blob
 * alone. */
static int pack(struct pmi *p, bool of_node)
{
    struct last_blob last = {0};
    struct blob parcel = {0};

    for (int i = 0; of_node && i < p->nodes.n_mates; i++)
        add_blob(p, &parcel, &last, p->nodes.mates[i]);
    if (!of_node)
        add_blob(p, &parcel, &last, p->base.rank);
    ncoll__last_blob_free(&last);
    if (parcel.failed) {
        ncoll__blob_free(&parcel);
        return ncoll__pmi_no_memory(p, p->keep.blobs[p->base.rank].len);
    }
    free(p->bytes);
    p->bytes = parcel.bytes;
    p->len = parcel.len;
    return NCOLL_OK;
}

/* Returns the most characters of a piece: as many as the server takes as a value, and as fit in a
 * request with the longest key. */
static size_t piece_most(const struct pmi_session *session)
{
    const struct pmi_identity *self = ncoll__pmi_session_self(session);
    size_t fits = PMI_REQUEST_MOST - sizeof "cmd=put kvsname= key= value=\n" - PMI_KEY_MOST -
                  strlen(self->name);

    return self->value_most < fits ? self->value_most : fits;
}

/* Puts what this rank publishes, one piece after the other, and then enters the fence.
 * NCOLL_TIMEOUT: an answer has not come yet; call again. */
static int put_pieces(struct pmi *p)
{
    char key[PMI_KEY_MOST], value[PMI_REQUEST_MOST];
    const char *answer;

    while (p->bytes != NULL) {
        if (p->piece > 0) {
            int rc = ncoll__pmi_answer(p->session, &p->events, &answer);
            if (rc != NCOLL_OK)
                return rc;
        }
        if (!ncoll__pmi_piece_write(p->bytes, p->len, p->piece, piece_most(p->session), value)) {
            free(p->bytes);
            p->bytes = NULL;
            break;
        }
        ncoll__pmi_key(p, p->base.rank, p->piece++, key);
        int rc = ncoll__pmi_request(p->session, &p->events, PMI_PUT, key, value);
        if (rc != NCOLL_OK)
            return rc;
        p->traffic.puts++;
        p->traffic.bytes_sent += strlen(value);
    }
    p->piece = 0;
    p->step = PMI_FENCED;
    p->traffic.fences++;
    int rc = ncoll__pmi_request(p->session, &p->events, PMI_FENCE, "", "");
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

/* ------------------------------------------------------------------ the exchange -------------- */

/* Leaves this rank's blob on the board. Returns NCOLL_TIMEOUT, or an error. */
static int leave_blob(struct pmi *p)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    bool fits = ncoll__node_board_put(&p->board, p->k, p->base.rank, own->bytes, own->len);
    int rc = NCOLL_OK;

    p->next_node = p->shares ? p->nodes.own : 0;
    p->step = pmi_leads(p) ? PMI_GATHER : PMI_WRITE;
    /* A leader publishes its blob in the parcel of its node. */
    if (!pmi_leads(p) && p->base.ranks > 1 && (!p->shares || !fits))
        rc = pack(p, false);
    ncoll__node_board_arrive(&p->board, p->shares ? p->nodes.own : 0, p->k);
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

/* On the leader: waits for its mates, and packs the parcel of the node. Ranks that are not on the
 * board need it even if all ranks are on this node. */
static int gather(struct pmi *p)
{
    const struct board_memory *m = p->board.memory;
    size_t len;
    int count, rc = NCOLL_OK;

    if (ncoll__node_board_absent(&p->board, p->k, &count) >= 0)
        return NCOLL_TIMEOUT;
    bool all_here = atomic_load(&m->mates) == (uint32_t)m->members &&
                    ncoll__node_board_get(&p->board, p->k, p->base.rank, &len) != NULL;
    if (m->nodes > 1 || !all_here)
        rc = pack(p, true);
    p->step = PMI_WRITE;
    return rc == NCOLL_OK ? put_pieces(p) : rc;
}

/* Asks for a value that nobody puts, which the server can answer only when all ranks have entered
 * the fence. */
static int settle(struct pmi *p)
{
    char key[PMI_KEY_MOST];

    ncoll__pmi_key(p, p->base.ranks, 0, key);
    p->step = PMI_SETTLE;
    return ncoll__pmi_request(p->session, &p->events, PMI_GET, key, "");
}

/* Ends a fence, if the server has answered: the one after the board names, the one of the meeting,
 * or that of an exchange. */
static int end_fence(struct pmi *p)
{
    const char *answer;

    int rc = ncoll__pmi_answer(p->session, &p->events, &answer);
    if (rc == NCOLL_OK && p->step == PMI_FENCED &&
        ncoll__pmi_session_dialect(p->session)->lazy_fence && (rc = settle(p)) == NCOLL_OK)
        rc = ncoll__pmi_answer(p->session, &p->events, &answer);
    if (rc != NCOLL_OK)
        return rc;
    p->step = p->k == 0 ? PMI_MEET : PMI_ENDED;
    /* from now on this rank sees what others left on the board before they entered the fence */
    if (p->board.memory != NULL)
        (void)atomic_load_explicit(&p->board.memory->arrived, memory_order_acquire);
    return NCOLL_OK;
}

/* Finds the board, notes on it that this rank has come, and enters the second fence. Returns
 * NCOLL_TIMEOUT, or an error. */
static int meet(struct pmi *p)
{
    int rc = ncoll__pmi_meet(p);

    if (rc != NCOLL_OK)
        return rc;
    p->k = PMI_MEETING;
    ncoll__node_board_arrive(&p->board, p->shares ? p->nodes.own : 0, p->k);
    p->step = PMI_WRITE;
    return put_pieces(p);
}

int ncoll__pmi_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct pmi *p = pmi_of(b);
    int rc = NCOLL_OK;

    ncoll__pmi_forget(p);
    if (!ncoll__keep_copy(&p->keep, b->rank, blob, len))
        return ncoll__pmi_no_memory(p, len);
    p->step = PMI_WRITE;
    if (p->board.memory == NULL)
        rc = ncoll__pmi_invite(p);
    if (rc == NCOLL_OK && p->nodes.n == b->ranks && p->k == 0) /* no boards to be found */
        p->k = PMI_MEETING;
    if (rc == NCOLL_OK && p->k >= PMI_MEETING) {
        p->k++;
        rc = leave_blob(p);
    }
    rc = rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
    if (rc == NCOLL_OK)
        rc = ncoll__pmi_exchange_test(b);
    return rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
}

int ncoll__pmi_exchange_test(struct bootstrap *b)
{
    struct pmi *p = pmi_of(b);
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && p->step != PMI_ENDED) {
        if (p->board.memory != NULL)
            p->board_news = atomic_load(&p->board.memory->news);
        if (p->step == PMI_WRITE)
            rc = put_pieces(p);
        else if (p->step == PMI_GATHER)
            rc = gather(p);
        else if (p->step == PMI_MEET)
            rc = meet(p);
        else if ((rc = end_fence(p)) == NCOLL_OK && p->k == PMI_MEETING) {
            ncoll__pmi_count_mates(p);
            p->k++;
            rc = leave_blob(p);
            rc = rc == NCOLL_TIMEOUT ? NCOLL_OK : rc;
        }
    }
    return rc;
}

/* Sleeps until the server answers or, on a leader that gathers blobs, until its mates have come;
 * but at most for ns nanoseconds. */
void ncoll__pmi_wait(struct bootstrap *b, uint64_t ns)
{
    struct pmi *p = pmi_of(b);

    if (p->step == PMI_GATHER)
        ncoll__futex_wait(&p->board.memory->news, p->board_news, ns < LOOK_NS ? ns : LOOK_NS);
    else
        ncoll__pmi_session_wait(p->session, ns);
}

/* Returns the lowest rank of this node that has not come; -1: none, or not known. The server does
 * not tell which ranks have entered a fence. The board does for this node, once the leader knows
 * which ranks are apart. Before that, a mate that is not on the board may have been unable to map
 * it. */
int ncoll__pmi_exchange_missing(struct bootstrap *b, int *count)
{
    struct pmi *p = pmi_of(b);

    *count = 0;
    if (p->step == PMI_ENDED || !p->shares || p->k <= PMI_MEETING)
        return -1;
    int member = ncoll__node_board_absent(&p->board, p->k, count);
    return member >= 0 ? p->nodes.mates[member] : -1;
}
