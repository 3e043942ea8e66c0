/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bootstrap contract: how the ranks of a job learn their number and exchange small blobs before
 * they are connected.
 *
 * An exchange is collective over the job: every rank starts the k-th exchange with a blob of its
 * own, and when it has ended every rank can get every other rank's blob. It is split-phase, so that
 * whoever waits can look meanwhile whether a rank has failed. One exchange at a time.
 */
#ifndef NCOLL_BOOTSTRAP_BOOTSTRAP_H
#define NCOLL_BOOTSTRAP_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"

struct bootstrap_events {
    void *arg;
    /* Fills in the error record; returns status. peer: world rank or -1. */
    int (*fail)(void *arg, ncoll_status status, int peer, const char *remedy, const char *cause,
                ...) __attribute__((format(printf, 5, 6)));
    void (*log)(void *arg, ncoll_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ns)(void *arg);
};

/* Resolved settings: environment over params over defaults. Strings live as long as the bootstrap.
 */
struct bootstrap_config {
    int rank, ranks; /* -1, 0: not given */
    const char *root;
    ncoll_bootstrap_callbacks callbacks;
    ncoll_fork_board *board;
    int64_t timeout_ns; /* for open() and, where a call below has to block, for that */
    struct bootstrap_events events;
};

struct bootstrap {
    const struct bootstrap_ops *ops;
    int rank, ranks; /* set by open */
};

struct bootstrap_ops {
    const char *name;

    /* mandatory. Finds rank and size; collective where the way demands it (tcp); blocks for at most
     * timeout_ns. A rank that never comes is named in the error. */
    int (*open)(const struct bootstrap_config *config, struct bootstrap **out);

    /* mandatory. The blob is copied. */
    int (*exchange_start)(struct bootstrap *b, const void *blob, size_t len);

    /* mandatory. NCOLL_OK: ended; NCOLL_TIMEOUT: not yet, call again; or an error. Never blocks,
     * but for user callbacks, whose fence may. */
    int (*exchange_test)(struct bootstrap *b);

    /* mandatory. A rank's blob of the last exchange that ended; valid until the next
     * exchange_start. NCOLL_TIMEOUT: it is on its way, call again (PMIx); NCOLL_ERR_PEER if it does
     * not come within a second. Never blocks, but for user callbacks. */
    int (*get)(struct bootstrap *b, int rank, const void **blob, size_t *len);

    /* optional. A rank that has not come to the exchange that is pending (the lowest), or -1 if
     * that cannot be told. For error texts; may block shortly (PMIx). */
    int (*missing)(struct bootstrap *b);

    /* optional. A rank that the launcher or the bootstrap's own connections report as failed, each
     * once; -1: none. */
    int (*failed)(struct bootstrap *b);

    /*
     * optional. blame: this rank cannot go on because of `rank`, or of itself; -1: because of what
     * is not the failure of one rank. The others can know it before they can see that this one is
     * gone, at least where their processes are on one node; the first one counts. culprit: who is
     * to blame for a rank's being gone: whom it has blamed (or who that one has), or, if it is gone
     * and has blamed nobody, that rank itself; -1: nobody knows, or not yet. Neither blocks.
     */
    void (*blame)(struct bootstrap *b, int rank);
    int (*culprit)(struct bootstrap *b, int rank);

    /* mandatory. Not collective. */
    void (*close)(struct bootstrap *b);
};

extern const struct bootstrap_ops ncoll__bootstrap_fork, ncoll__bootstrap_tcp,
    ncoll__bootstrap_user, ncoll__bootstrap_self;
#ifdef NCOLL_HAVE_PMIX
extern const struct bootstrap_ops ncoll__bootstrap_pmix;
#endif

/* Whether a PMIx launcher started this process. */
int ncoll__pmix_launched(void);

#endif
