/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under a launcher with PMI-1 or PMI-2: mpiexec of MPICH and its kin, srun --mpi=pmi2,
 * flux run.
 *
 * Ranks of a node meet, as with PMIx, on a board in shared memory (node_board.h), and its leader
 * publishes one parcel with the blobs of all of them. PMI has no values for one node, and no answer
 * that waits until a value is there. So the board is found in three steps, before the first
 * exchange:
 *
 *     leaders put the names of their boards | fence | mates map them and leave an empty blob |
 *     fence | leaders see which of their mates are apart
 *
 * This counts as exchange 1 on the board. In exchange k > 1 each rank leaves its blob on the board.
 * When all mates have come, the leader puts the parcel as "ncoll.<context>.<k>.<rank>", in pieces
 * (pmi_pieces.h), and all ranks enter a fence. On one node nothing is put. If each node has one
 * rank there are no boards to be found.
 *
 * After the fence a rank gets parcels of other nodes when a rank of this node first needs them: that
 * rank claims the parcel, gets it and unpacks it to the board, where the others find it. If all
 * ranks need all blobs, each rank of a node begins with a share of its own of the other nodes. The
 * server answers one request after the other, so there is one under way at a time. A rank apart
 * publishes its blob itself, as a parcel of one.
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
    PMI_MEET,   /* this rank asks for the name of the board */
    PMI_GATHER, /* the leader waits for its mates */
    PMI_WRITE,  /* pieces are put */
    PMI_FENCED, /* this rank has entered a fence */
    PMI_SETTLE, /* the fence has ended here, but perhaps not all ranks have entered it */
};

/* The value of another rank that this rank is getting, piece by piece. */
struct pmi_flight {
    int rank;     /* the rank that has published it; -1: nothing */
    int node;     /* whose parcel it is; -1: that of a single rank */
    bool for_all; /* it has been claimed for all ranks of this node */
    bool asked;   /* a request is under way */
    struct pmi_pieces pieces;
};

struct pmi {
    struct bootstrap base;
    struct bootstrap_events events;
    struct pmi_session *session; /* NULL: it was left */
    unsigned context;
    struct bootstrap_traffic traffic;

    /* the board */
    struct pmi_nodes nodes;
    struct node_board board;
    bool shares; /* it is the board of this node; false: it is this rank's own */

    /* the latest exchange */
    enum pmi_step step;
    uint64_t k;
    struct keep keep; /* own blob, and what was got for this rank alone */
    uint32_t board_news;

    /* what this rank publishes */
    char name[PMI_KEY_MOST]; /* without the number of the piece */
    unsigned char *bytes;
    size_t len, piece;

    /* what others have published */
    struct pmi_flight flight;
    struct pmi_pieces invitation;
    uint64_t *fetched; /* [nodes] the latest exchange whose parcel was got for this rank alone */
    int next_node;     /* of this rank's share */
    int waits_for;     /* a rank whose parcel another rank has claimed; -1: none */
    uint64_t waits_since_ns;
    int failed_rank; /* whose parcel could not be had; -1: none */
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

/* pmi_key.c. Writes the key of a piece of what a rank publishes. */
void ncoll__pmi_key(const struct pmi *p, int rank, size_t piece, char key[PMI_KEY_MOST]);
int ncoll__pmi_no_memory(struct pmi *p, size_t bytes);

/* pmi_meet.c. Makes the board of a leader, and begins to publish its name. */
int ncoll__pmi_invite(struct pmi *p);
/* Finds the board. NCOLL_TIMEOUT: call again. */
int ncoll__pmi_meet(struct pmi *p);
/* The leader: sees who of its mates has not found the board. */
void ncoll__pmi_count_mates(struct pmi *p);

/* pmi_exchange.c */
int ncoll__pmi_exchange_start(struct bootstrap *b, const void *blob, size_t len);
int ncoll__pmi_exchange_test(struct bootstrap *b);
void ncoll__pmi_wait(struct bootstrap *b, uint64_t ns);
int ncoll__pmi_exchange_missing(struct bootstrap *b, int *count);

/* pmi_get.c */
int ncoll__pmi_get(struct bootstrap *b, int rank, const void **blob, size_t *len);
void ncoll__pmi_ask(struct bootstrap *b, int rank);
/* Ends the flight, and forgets what was got. */
void ncoll__pmi_forget(struct pmi *p);

#endif
