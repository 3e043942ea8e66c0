/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under a launcher with PMI-1 or PMI-2: mpiexec of MPICH and similar ones, srun
 * --mpi=pmi2, flux run.
 *
 * The ranks of a node meet on a board in shared memory (node_board.h), as they do with PMIx, and
 * the leader of the node publishes one parcel with the blobs of all of them. PMI has no values for
 * one node only, and no get that waits until a value is there. So the mates find the board in
 * three steps, before the first exchange:
 *
 *     leaders put the names of their boards | fence | mates map them, and note on them that they
 *     have come | fence | leaders see which of their mates are apart
 *
 * This counts as exchange 1 on the board. In exchange k > 1 each rank leaves its blob on the board.
 * When all mates have come, the leader puts the parcel, in pieces (pmi_pieces.h) with the keys
 * "ncoll.<context>.<k>.<rank>.<piece>", and all ranks enter a fence. In a job on one node nothing
 * is put, unless a rank is apart. If each node has only one rank, there are no boards to be found.
 *
 * After the fence the parcel of another node is got when a rank of this node first needs it: that
 * rank claims the parcel, gets it and unpacks it to the board, where the others find it. If all
 * ranks need all blobs, the ranks of a node share this work: each begins with other nodes. The
 * server answers one request after the other, so a rank has only one request under way at a time. A
 * rank apart (one that could not map the board) publishes its blob itself, as a parcel of one.
 */
#ifndef NCOLL_BOOTSTRAP_PMI_H
#define NCOLL_BOOTSTRAP_PMI_H

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"
#include "bootstrap/node_board.h"
#include "bootstrap/pmi_nodes.h"
#include "bootstrap/pmi_pieces.h"
#include "bootstrap/pmi_session.h"

#define PMI_MEETING UINT64_C(1) /* the exchange in which the boards are found */

enum pmi_step {
    PMI_ENDED,  /* no exchange is pending */
    PMI_MEET,   /* a mate asks for the name of the board */
    PMI_GATHER, /* the leader waits for its mates */
    PMI_WRITE,  /* this rank puts what it publishes, piece by piece */
    PMI_FENCED, /* this rank has entered a fence */
    PMI_SETTLE, /* the fence has ended here, but perhaps not all ranks have entered it */
};

/* A get that is under way (a flight): the value of another rank, which comes in pieces. */
struct pmi_flight {
    int rank;     /* the rank that has published the value; -1: no get is under way */
    int node;     /* the node whose parcel the value is; -1: the parcel of one rank */
    bool for_all; /* this rank has claimed the parcel for all ranks of its node */
    bool asked;   /* the next piece was asked for, and has not come */
    struct pmi_pieces pieces;
};

struct pmi {
    struct bootstrap base;
    struct bootstrap_events events;
    struct pmi_session *session; /* NULL: finish() has left the session */
    unsigned context;
    struct bootstrap_traffic traffic;

    /* the board */
    struct pmi_nodes nodes;
    struct node_board board;
    bool shares; /* the board is that of the node; false: it is this rank's own */

    /* the latest exchange */
    enum pmi_step step;
    uint64_t k;
    struct keep keep; /* own blob, and blobs that were got for this rank alone */
    uint32_t board_news;

    /* what this rank publishes */
    unsigned char *bytes;
    size_t len, piece;

    /* what others have published */
    struct pmi_flight flight;
    struct pmi_pieces invitation;
    uint64_t *fetched; /* [nodes] the latest exchange whose parcel this rank got for itself */
    int next_node;     /* the next node of this rank's share */
    int waits_for;     /* a rank whose parcel is claimed by another rank; -1: none */
    uint64_t waits_since_ns;
    int failed_rank; /* a rank whose parcel could not be got; -1: none */
    const char *failed_why;
};

static inline struct pmi *pmi_of(struct bootstrap *b)
{
    return (struct pmi *)b;
}

static inline uint64_t pmi_now(const struct pmi *p)
{
    return p->events.now_ns(p->events.arg);
}

static inline bool pmi_leads(const struct pmi *p)
{
    return p->shares && p->nodes.own == 0;
}

/* pmi_key.c. Writes the key of one piece of the value that a rank publishes in this exchange. */
void ncoll__pmi_key(const struct pmi *p, int rank, size_t piece, char key[PMI_KEY_MOST]);
int ncoll__pmi_no_memory(struct pmi *p, size_t bytes);

/* pmi_meet.c. Makes the board if this rank is a leader, and prepares to publish the board's
 * name. */
int ncoll__pmi_invite(struct pmi *p);
/* Finds and maps the leader's board, or else makes a board of this rank's own. NCOLL_TIMEOUT: call
 * again. */
int ncoll__pmi_meet(struct pmi *p);
/* On the leader: notes which of its mates have not found the board, and are apart. */
void ncoll__pmi_count_mates(struct pmi *p);

/* pmi_exchange.c */
int ncoll__pmi_exchange_start(struct bootstrap *b, const void *blob, size_t len);
int ncoll__pmi_exchange_test(struct bootstrap *b);
void ncoll__pmi_wait(struct bootstrap *b, uint64_t ns);
int ncoll__pmi_exchange_missing(struct bootstrap *b, int *count);

/* pmi_get.c */
int ncoll__pmi_get(struct bootstrap *b, int rank, const void **blob, size_t *len);
void ncoll__pmi_ask(struct bootstrap *b, int rank);
/* Drops the get that is under way, and frees the blobs that were got. */
void ncoll__pmi_forget(struct pmi *p);

#endif
