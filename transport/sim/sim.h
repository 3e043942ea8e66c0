/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job of many ranks in one process, under virtual time: each rank is a real context of this
 * library on a stack of its own. The simulator replaces the clock, the transport, the bootstrap and
 * the place where a rank runs; the library itself is unchanged. Whenever a rank waits, another rank
 * runs, and virtual time advances to the next event.
 *
 * Messages take the time of the LogGP model: overhead o of the processor, gap g between messages
 * of a rank, G for each byte, latency L. A connection keeps the order of its messages; messages of
 * different connections may overtake each other, as each message has a random delay. Faults are
 * random as well: ranks pause, connections are slow, ranks are killed. All random numbers follow
 * from one seed. A seed always gives the same events; the report has a hash of them.
 *
 * The simulator is a loop that takes the earliest event, like the fixture of raft and the simulator
 * of TigerBeetle. Tests and tools use it; libncoll.so does not contain it. A program that links it
 * has this transport and this bootstrap in place of all others: see seams.c.
 */
#ifndef NCOLL_TRANSPORT_SIM_SIM_H
#define NCOLL_TRANSPORT_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"

/* The parameters of a job. 0 stands for the default; see sim_defaults(). */
struct sim_config {
    int ranks;
    int node_ranks; /* ranks on a node, as algorithms see it; 0: one */
    uint64_t seed;

    /* parameters of LogGP: those between nodes, and the latency within a node */
    uint64_t latency_ns, near_latency_ns, overhead_ns, gap_ns;
    uint64_t bytes_per_us; /* 1000 / G */
    unsigned depth;        /* the most messages of a connection in flight at once */

    /* faults; 0: none */
    uint64_t jitter_ns;     /* largest delay of a message */
    unsigned slow_one_in;   /* one connection in slow_one_in is slow */
    uint64_t slow_ns;       /* additional latency of a slow connection */
    unsigned pause_one_in;  /* one poll for messages in pause_one_in is followed by a pause */
    uint64_t pause_ns;      /* longest pause */
    unsigned refuse_one_in; /* one message in refuse_one_in finds no room, and is sent again */
    unsigned kills;         /* number of ranks that are killed */
    uint64_t kill_ns;       /* each of them is killed at a random time before kill_ns */
    uint64_t notice_ns;     /* longest time until other ranks notice a kill; default: 1 ms */

    uint64_t limit_ns;  /* a job that is not over at this time counts as hung; default: 1000 s */
    size_t stack_bytes; /* of each rank */
    bool gives_back;    /* windows give back the memory of finished epochs: see give_back.c */
};

/* The outcome of a job. */
struct sim_report {
    uint64_t hash; /* hash of all events, in order */
    uint64_t end_ns;
    uint64_t events, messages, message_bytes, switches;
    uint64_t delivered_to_nobody; /* messages to ranks that had left, or were killed */
    size_t heap_bytes;            /* peak of the memory that all contexts together had allocated */
    size_t rank_heap_bytes;       /* highest peak of a single rank */
    size_t window_bytes;          /* peak of the memory of all windows */
    size_t stack_bytes;           /* the deepest stack of a rank; 0: not measured */
    int failed;                   /* number of ranks, not killed, that did not return 0 */
    int first_failed;             /* the lowest of these ranks; -1: none */
    int killed;
    bool hangs;
    /* violations of the transport's contract by the library; the first ones are printed to
     * stderr */
    unsigned violations;
};

/* Copies config to *out, with the defaults in place of fields that are 0. */
void sim_defaults(const struct sim_config *config, struct sim_config *out);

/* The function of a rank. It creates one or more contexts from params. arg: from sim_run(). Returns
 * 0 for success. */
typedef int (*sim_body)(const ncoll_params *params, void *arg);

/*
 * Runs the job to its end. base: parameters of all ranks; NULL: the defaults. Returns true if every
 * rank that was not killed has returned 0, and there was no hang and no violation. A process can
 * run one job at a time.
 */
bool sim_run(const struct sim_config *config, const ncoll_params *base, sim_body body, void *arg,
             struct sim_report *report);

/* Functions that a rank's function may call. */
uint64_t sim_now_ns(void);   /* returns the time of the calling rank */
void sim_sleep(uint64_t ns); /* lets the calling rank compute for this time */
#define SIM_ANY (-1)
bool sim_is_killed(int rank); /* true if a rank has been killed; SIM_ANY: any rank */

#endif
