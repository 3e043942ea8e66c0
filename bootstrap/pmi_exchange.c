/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges under PMI: blobs on the board, one parcel a node, a fence. */
#include <stdlib.h>
#include <string.h>

#include "bootstrap/futex.h"
#include "bootstrap/node_parcel.h"
#include "bootstrap/pmi.h"

/* The leader looks again after this time, though nobody has woken it. */
#define LOOK_NS UINT64_C(20000000)

/* ------------------------------------------------------------------ publishing ---------------- */

/* Adds the blob of a mate that lies on the board, or of this rank. */
static void add_blob(struct pmi *p, struct blob *parcel, struct last_blob *last, int rank)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    size_t len = own->len;
    const void *bytes =
        rank == p->base.rank ? own->bytes : ncoll__node_board_get(&p->board, p->k, rank, &len);

    if (bytes != NULL)
        ncoll__node_parcel_add(parcel, last, rank, bytes, len);
}

/* Packs the blobs of a node, or that of this rank alone. */
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

/* Returns the characters of a piece: what the server takes as a value, and what fits in a request
 * with the longest key. */
static size_t piece_most(const struct pmi_session *session)
{
    const struct pmi_identity *self = ncoll__pmi_session_self(session);
    size_t fits = PMI_REQUEST_MOST - sizeof "cmd=put kvsname= key= value=\n" - PMI_KEY_MOST -
                  strlen(self->name);

    return self->value_most < fits ? self->value_most : fits;
}

/* Puts one piece after the other. NCOLL_TIMEOUT: an answer is awaited. */
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

/* Leaves the blob on the board. */
static int leave_blob(struct pmi *p)
{
    const struct kept *own = &p->keep.blobs[p->base.rank];
    bool fits = ncoll__node_board_put(&p->board, p->k, p->base.rank, own->bytes, own->len);
    int rc = NCOLL_OK;

    p->next_node = p->shares ? p->nodes.own : 0;
    p->step = pmi_leads(p) ? PMI_GATHER : PMI_WRITE;
    /* A leader publishes its blob with those of the others. */
    if (!pmi_leads(p) && p->base.ranks > 1 && (!p->shares || !fits))
        rc = pack(p, false);
    ncoll__node_board_arrive(&p->board, p->shares ? p->nodes.own : 0, p->k);
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

/* The leader: waits for its mates, and packs the parcel of the node. Ranks that are not on the board
 * need it even on this node. */
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

/* A fence has ended: of the invitations, of the meeting, or of the exchange. */
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
    /* what the others have left on the board before they began the fence is seen now */
    if (p->board.memory != NULL)
        (void)atomic_load_explicit(&p->board.memory->arrived, memory_order_acquire);
    return NCOLL_OK;
}

/* Finds the board, and tells its leader so. Returns NCOLL_TIMEOUT. */
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
    if (rc == NCOLL_OK && p->nodes.n == b->ranks && p->k == 0) /* nobody is to be met */
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

/* Sleeps until the server answers; the leader until its mates have come. */
void ncoll__pmi_wait(struct bootstrap *b, uint64_t ns)
{
    struct pmi *p = pmi_of(b);

    if (p->step == PMI_GATHER)
        ncoll__futex_wait(&p->board.memory->news, p->board_news, ns < LOOK_NS ? ns : LOOK_NS);
    else
        ncoll__pmi_session_wait(p->session, ns);
}

/* The server does not tell who has entered a fence. The board of this node does, once its leader knows
 * who is apart. Before that a mate that is not on it may be one that could not map it. */
int ncoll__pmi_exchange_missing(struct bootstrap *b, int *count)
{
    struct pmi *p = pmi_of(b);

    *count = 0;
    if (p->step == PMI_ENDED || !p->shares || p->k <= PMI_MEETING)
        return -1;
    int member = ncoll__node_board_absent(&p->board, p->k, count);
    return member >= 0 ? p->nodes.mates[member] : -1;
}
