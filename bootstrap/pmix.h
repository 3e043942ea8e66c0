/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under a PMIx launcher (prterun, srun --mpi=pmix, mpirun).
 *
 * The ranks of a node meet on a board in shared memory (node_board.h). The leader of the node makes
 * it, and publishes its name for the node as the value "ncoll.<c>.node", in context c. In exchange
 * k each rank leaves its blob on the board. When all have come, the leader publishes all blobs as
 * one parcel, the value "ncoll.<c>.<k>", and all ranks begin a fence. In a job on one node nothing
 * is published, unless a rank is apart.
 *
 * After the fence a rank finds the blobs of its own node on the board. The parcel of another node
 * is fetched when a rank of this node first needs it: that rank claims it, fetches it, and unpacks
 * it to the board, where the others find it. If all ranks need all blobs, the ranks of a node share
 * this work: each begins with other nodes. A rank has up to FLIGHTS_MAX requests under way at once.
 *
 * The fence may also bring the published values to all nodes: see collects() in pmix_exchange.c. A
 * rank apart (one that could not map the board) publishes its blob itself, as a parcel of one.
 */
#ifndef NCOLL_BOOTSTRAP_PMIX_H
#define NCOLL_BOOTSTRAP_PMIX_H

#include <pmix.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/keep.h"
#include "bootstrap/node_board.h"
#include "bootstrap/pmix_failures.h"
#include "bootstrap/pmix_fetch.h"
#include "bootstrap/pmix_nodes.h"

#define FLIGHTS_MAX 64

/* The pending fence. PMIx calls back from its own thread, perhaps after the context was destroyed.
 * So the context and the callback both own it, and the last one frees it. */
struct fence;

/* A request for a parcel that is under way (a flight). */
struct flight {
    struct pmix_fetch *fetch; /* NULL: the entry is free */
    int rank;                 /* the rank that has published the parcel */
    int node;                 /* the node whose parcel it is; -1: the parcel of one rank */
    bool for_all;             /* this rank has claimed the parcel for all ranks of its node */
    uint64_t since_ns;
};

enum pmix_step {
    STEP_ENDED,  /* no exchange is pending */
    STEP_MEET,   /* this rank has not found the board yet */
    STEP_GATHER, /* the leader waits for the others of its node */
    STEP_FENCE,
};

struct pmix {
    struct bootstrap base;
    struct bootstrap_events events;
    pmix_proc_t self;
    struct pmix_failures failures;
    unsigned context;
    struct bootstrap_traffic traffic;

    /* the board */
    struct pmix_mates mates;
    struct node_board board;
    bool shares;                   /* the board is that of the node; false: it is this rank's own */
    struct pmix_fetch *invitation; /* request for the name of the board; NULL: none */
    uint64_t ask_again_ns;         /* the name is not asked for before this time */

    /* the latest exchange */
    enum pmix_step step;
    /* late_ns: after this waiting time the leader has last named late ranks; 0: it has not */
    uint64_t k, since_ns, late_ns;
    char key[64];
    struct keep keep;           /* own blob, and blobs that were fetched for this rank alone */
    struct fence *fence;        /* NULL: none is pending */
    struct pmix_fetch **strays; /* [mates] the leader's requests of look_for_strays(), or NULL */
    uint32_t news, board_news;  /* the two futexes before the latest test */

    /* what others have published */
    struct flight flights[FLIGHTS_MAX];
    /* [ranks] for each node, the latest exchange whose parcel this rank has fetched for itself
     * alone */
    uint64_t *fetched;
    int next_node; /* the next node of this rank's share */
    int waits_for; /* a rank whose parcel is claimed by another rank; -1: none */
    uint64_t waits_since_ns;
    int failed_rank; /* a rank whose parcel could not be got; -1: none */
    pmix_status_t failed_status;
};

static inline struct pmix *pmix_of(struct bootstrap *b)
{
    return (struct pmix *)b;
}

static inline uint64_t pmix_now(const struct pmix *p)
{
    return p->events.now_ns(p->events.arg);
}

static inline bool pmix_leads(const struct pmix *p)
{
    return p->shares && p->mates.own == 0;
}

/* pmix_put.c */
int ncoll__pmix_put(struct pmix *p, pmix_scope_t scope, const char *key, const void *bytes,
                    size_t len);
int ncoll__pmix_fail(const struct bootstrap_events *events, const char *call, pmix_status_t status);

/* pmix_meet.c. Makes the board if this rank is the leader of its node, and publishes the board's
 * name. */
int ncoll__pmix_invite(struct pmix *p);
/* Finds and maps the leader's board, or else makes a board of this rank's own. NCOLL_TIMEOUT: call
 * again. */
int ncoll__pmix_meet(struct pmix *p);
/* Looks for mates that are apart, on a leader that waits for its mates. */
void ncoll__pmix_look_for_strays(struct pmix *p);
void ncoll__pmix_stop_meeting(struct pmix *p);

/* pmix_exchange.c */
int ncoll__pmix_exchange_start(struct bootstrap *b, const void *blob, size_t len);
int ncoll__pmix_exchange_test(struct bootstrap *b);
void ncoll__pmix_wait(struct bootstrap *b, uint64_t ns);
int ncoll__pmix_exchange_missing(struct bootstrap *b, int *count);
void ncoll__pmix_exchange_drop(struct pmix *p);

/* pmix_get.c */
int ncoll__pmix_get(struct bootstrap *b, int rank, const void **blob, size_t *len);
void ncoll__pmix_ask(struct bootstrap *b, int rank);
/* Drops all requests that are under way, and frees the blobs that were fetched. */
void ncoll__pmix_forget(struct pmix *p);

#endif
