/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface that all bootstraps implement. Through a bootstrap each rank of a job learns its
 * number and the size of the job, and the ranks exchange small blobs (strings of bytes) before they
 * are connected.
 *
 * An exchange is collective over the job. Every rank starts the k-th exchange with a blob of its
 * own; when the exchange has ended, every rank can get every other rank's blob. An exchange is
 * split-phase, so that a waiting rank can check meanwhile whether another rank has failed. Only one
 * exchange is pending at a time.
 */
#ifndef NCOLL_BOOTSTRAP_BOOTSTRAP_H
#define NCOLL_BOOTSTRAP_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ncoll.h"
#include "transport/because.h"

/* Decides when to log that a wait takes long: first after a given time, then each time that the
 * waiting time has doubled. */
struct reminder {
    uint64_t since_ns; /* when the wait began */
    uint64_t after_ns; /* the waiting time at the last reminder; 0: there was none */
};

static inline bool ncoll__reminder_due(struct reminder *r, uint64_t now_ns, int64_t first_ns)
{
    uint64_t waited_ns = now_ns - r->since_ns;

    if (first_ns <= 0 || waited_ns < (uint64_t)first_ns || waited_ns < 2 * r->after_ns)
        return false;
    r->after_ns = waited_ns;
    return true;
}

/* Returns the nanoseconds until the next reminder is due, but at most most_ns. */
static inline uint64_t ncoll__reminder_left_ns(const struct reminder *r, uint64_t now_ns,
                                               int64_t first_ns, uint64_t most_ns)
{
    uint64_t due_ns = r->after_ns > 0 ? 2 * r->after_ns : (uint64_t)first_ns;
    uint64_t waited_ns = now_ns - r->since_ns;

    if (first_ns <= 0 || due_ns >= waited_ns + most_ns)
        return most_ns;
    return due_ns > waited_ns ? due_ns - waited_ns : 0;
}

struct bootstrap_events {
    void *arg;
    /* Fills in the error record and returns the status. what: the status and the reason, packed as
     * in transport/because.h. peer: the world rank concerned; -1: none. remedy: what the user can
     * do, or NULL. */
    int (*fail)(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
        __attribute__((format(printf, 5, 6)));
    void (*log)(void *arg, ncoll_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ns)(void *arg);
};

/* The settings of a bootstrap, from ncoll_params and the environment variables. Strings live as
 * long as the bootstrap. */
struct bootstrap_config {
    int rank, ranks; /* -1 and 0, respectively: not given */
    const char *root;
    const char *key; /* the key of the job; NULL: none */
    ncoll_bootstrap_callbacks callbacks;
    ncoll_allgather_fn allgather;
    void *allgather_arg;
    ncoll_fork_board *board;
    ncoll_thread_board *thread_board;
    int64_t stall_warn_ns; /* see stall_warn_ns in ncoll_params */
    int64_t timeout_ns;    /* time limit of open(), and of operations that have to block */
    struct bootstrap_events events;
};

struct bootstrap {
    const struct bootstrap_ops *ops;
    int rank, ranks; /* set by open */
    /* Set by the caller before exchange_start, to the same value on all ranks. True: each rank will
     * get the blobs of only a few other ranks. */
    bool for_few;
};

/* The longest time, in nanoseconds, in which get() may say that a blob has not arrived yet. It is
 * long since the blob may come from a server on another node, which may have to wait for a core
 * that polling ranks use. */
#define BOOTSTRAP_GET_NS UINT64_C(3000000000)

/* Traffic counters of a bootstrap: the frames that it has sent and received over its own
 * connections (tcp), or the values that it has put to a server and got from it (PMI, PMIx); and the
 * bytes of these frames or values. */
struct bootstrap_traffic {
    unsigned sockets, most_sockets; /* open now, and the most that were open at once */
    uint64_t puts, gets, fences;    /* operations with a PMI or PMIx server */
    uint64_t frames_sent, frames_received, bytes_sent, bytes_received;
};

struct bootstrap_ops {
    const char *name;

    /* mandatory. Finds rank and size; collective if the bootstrap needs that (tcp); blocks for at
     * most timeout_ns. If a rank does not come, the error names it. */
    int (*open)(const struct bootstrap_config *config, struct bootstrap **out);

    /* mandatory. Starts an exchange; copies the blob. */
    int (*exchange_start)(struct bootstrap *b, const void *blob, size_t len);

    /* mandatory. Returns NCOLL_OK: the exchange has ended; NCOLL_TIMEOUT: not yet, call again; or
     * an error. Never blocks, except in callbacks of the program (their fence may block). */
    int (*exchange_test)(struct bootstrap *b);

    /* optional. Sleeps until exchange_test() may have news, but at most for ns nanoseconds. */
    void (*wait)(struct bootstrap *b, uint64_t ns);

    /* optional. Begins to fetch a rank's blob of the last exchange, if that takes time. A caller
     * that needs several asks for all of them before it gets the first one. Never blocks. */
    void (*ask)(struct bootstrap *b, int rank);

    /* mandatory. Gets a rank's blob of the last exchange; it is valid until the next
     * exchange_start. NCOLL_TIMEOUT: the blob has not arrived yet, call again (PMI, PMIx);
     * NCOLL_ERR_PEER: it has not arrived within BOOTSTRAP_GET_NS. Never blocks, except in callbacks
     * of the program. */
    int (*get)(struct bootstrap *b, int rank, const void **blob, size_t *len);

    /* optional. Returns the lowest rank that has not come to the pending exchange; -1: none, or it
     * is not known. *count becomes the number of such ranks. Used for messages; may block for a
     * short time (PMIx). */
    int (*missing)(struct bootstrap *b, int *count);

    /* optional. Returns a rank that the launcher or the bootstrap's own connections report as
     * failed, each rank once; -1: none. */
    int (*failed)(struct bootstrap *b);

    /*
     * optional. name_root_cause: announces that this rank cannot go on because `rank` has failed
     * (another rank, or this one); -1: because of something that is not the failure of one rank.
     * Other ranks can learn this before they can see that this rank is gone, at least if their
     * processes are on one node. Only the first announcement of a rank counts. culprit: returns the
     * root cause of the end of `rank`: the rank that `rank` has announced, or the one that the
     * announced rank has announced in turn, and so on; `rank` itself if it is gone without an
     * announcement; -1: not known, or not yet. Neither function blocks.
     */
    void (*name_root_cause)(struct bootstrap *b, int rank);
    int (*culprit)(struct bootstrap *b, int rank);

    /* optional. Fills in the counters of this rank's traffic so far. */
    void (*traffic)(const struct bootstrap *b, struct bootstrap_traffic *out);

    /* optional. Called when no further exchange follows, and no blob is got any more: frees what
     * only these need. All other operations stay usable. */
    void (*finish)(struct bootstrap *b);

    /* mandatory. Closes the bootstrap. Not collective. */
    void (*close)(struct bootstrap *b);
};

extern const struct bootstrap_ops ncoll__bootstrap_fork, ncoll__bootstrap_tcp,
    ncoll__bootstrap_user, ncoll__bootstrap_allgather, ncoll__bootstrap_self, ncoll__bootstrap_pmi,
    ncoll__bootstrap_pmi1, ncoll__bootstrap_pmi2, ncoll__bootstrap_slurm, ncoll__bootstrap_threads;
#ifdef NCOLL_HAVE_PMIX
extern const struct bootstrap_ops ncoll__bootstrap_pmix;
#endif

/* Returns true if a PMIx launcher started this process. */
int ncoll__pmix_launched(void);

#endif
