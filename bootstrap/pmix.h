/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap under a PMIx launcher (prterun, srun --mpi=pmix, mpirun).
 *
 * The ranks of a node meet on a board in shared memory (node_board.h). Its leader makes it, and
 * tells the others where it is by the local value "ncoll.<c>.node", in context c. In exchange k each
 * rank leaves its blob there. When all have come the leader puts them in one parcel, as
 * "ncoll.<c>.<k>", and all ranks begin a fence. On one node nothing is put at all.
 *
 * After the fence a rank finds the blobs of its own node on the board. The parcel of another node is
 * fetched when a rank of this node first needs it: that rank claims it, fetches it, and unpacks it
 * to the board, where the others find it. If all ranks need all blobs, each rank of a node begins
 * with a share of its own of the other nodes. No rank asks for one parcel after the other: up to
 * FLIGHTS_MAX requests are under way at once.
 *
 * The fence after a put collects the data for all nodes, or does not, by what the ranks need: see
 * collects() in pmix_exchange.c. A rank apart publishes its blob itself, as a parcel of one.
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
 * So both sides own it, and the last one frees it. */
struct fence;

/* A request for a parcel. */
struct flight {
    struct pmix_fetch *fetch; /* NULL: the entry is free */
    int rank;                 /* the rank that has published it */
    int node;                 /* whose parcel it is; -1: that of a single rank */
    bool for_all;             /* it has been claimed for all ranks of this node */
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
    bool shares;                   /* it is the board of this node; false: it is this rank's own */
    struct pmix_fetch *invitation; /* that this rank has asked for */
    uint64_t ask_again_ns;         /* not before this time */

    /* the latest exchange */
    enum pmix_step step;
    uint64_t k, since_ns, late_ns; /* late_ns: when the leader named late ranks; 0: it did not */
    char key[64];
    struct keep keep;           /* own blob, and what was fetched for this rank alone */
    struct fence *fence;        /* NULL: none is pending */
    struct pmix_fetch **strays; /* [mates] of the leader: see look_for_strays(); NULL: none */
    uint32_t news, board_news;  /* before the latest test */

    /* what others have published */
    struct flight flights[FLIGHTS_MAX];
    uint64_t *fetched; /* [ranks] the latest exchange whose parcel was fetched for this rank
                                   alone, for each node */
    int next_node;     /* of this rank's share */
    int waits_for;     /* a rank whose parcel another rank has claimed; -1: none */
    uint64_t waits_since_ns;
    int failed_rank; /* whose parcel could not be had; -1: none */
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

/* pmix_meet.c. Opens the leader's board, and publishes where it is. */
int ncoll__pmix_invite(struct pmix *p);
/* Finds the board. NCOLL_TIMEOUT: call again. */
int ncoll__pmix_meet(struct pmix *p);
/* Looks for mates that are apart, while the leader waits for them. */
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
/* Ends all flights, and forgets what was fetched. */
void ncoll__pmix_forget(struct pmix *p);

#endif
