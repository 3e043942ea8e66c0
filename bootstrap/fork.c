/* SPDX-License-Identifier: BSD-3-Clause */
/* The bootstraps of forked ranks and of ranks that are threads: exchanges over the board of
 * fork_board.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/thread_board.h"

struct forked {
    struct bootstrap base;
    struct bootstrap_events events;
    struct ncoll_fork_board *board;
    struct channel *channel;
    uint64_t k;         /* number of exchanges started */
    struct blobs blobs; /* blobs of the last exchange; mapped by the first get() */
    bool mapped;
    uint32_t news; /* the board's `news` before the latest test of the exchange */
    int n_judged;  /* number of the board's `ends` that failed() has looked at */
};

static struct forked *forked_of(struct bootstrap *b)
{
    return (struct forked *)b;
}

static int fail_errno(struct forked *f, int error, const char *what)
{
    if (error == EFBIG)
        return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_RESOURCE, FILE_SIZE), -1,
                              "raise the limit: ulimit -f unlimited",
                              "%s: it would exceed the limit of file sizes (RLIMIT_FSIZE), which "
                              "holds for shared memory as well",
                              what);
    return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), -1,
                          "look for limits on memory and on open files (ulimit -a)", "%s: %s", what,
                          strerror(error));
}

static int open_end(const struct bootstrap_ops *ops, struct ncoll_fork_board *board,
                    const struct bootstrap_events *events, struct bootstrap **out)
{
    struct forked *f = calloc(1, sizeof *f);

    if (f == NULL)
        return events->fail(events->arg, NCOLL_ERR_MEMORY, -1, NULL, "no memory for the bootstrap");
    f->base = (struct bootstrap){ops, board->rank, board->ranks};
    f->events = *events;
    f->board = board;
    int error = ncoll__channel_open(board, &f->channel);
    if (error != 0) {
        int rc = fail_errno(f, error, "cannot map the memory where the ranks meet");
        free(f);
        return rc;
    }
    if (board->threads != NULL)
        ncoll__thread_board_hold(board->threads);
    *out = &f->base;
    return NCOLL_OK;
}

static int forked_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;

    if (config->board == NULL)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "start the ranks with ncoll_fork_ranks() and create the context from "
                            "the parameters that each of them gets",
                            "the fork bootstrap was asked for, but there is no board");
    return open_end(&ncoll__bootstrap_fork, config->board, events, out);
}

static int threads_open(const struct bootstrap_config *config, struct bootstrap **out)
{
    const struct bootstrap_events *events = &config->events;
    struct ncoll_thread_board *board = config->thread_board;
    int ranks = board != NULL ? ncoll__thread_board_ranks(board) : 0;

    if (board == NULL)
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, NO_LAUNCHER), -1,
                            "set thread_board in ncoll_params to what ncoll_thread_board_create() "
                            "has made",
                            "the threads bootstrap was asked for, but there is no board");
    if (config->rank < 0 || config->rank >= ranks)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "set rank in ncoll_params, from 0, to another number in each thread",
                            "rank %d on a board for %d threads", config->rank, ranks);
    if (config->ranks != 0 && config->ranks != ranks)
        return events->fail(events->arg, NCOLL_ERR_ARGUMENT, -1,
                            "leave ranks in ncoll_params 0, or create the board for as many",
                            "%d ranks on a board for %d threads", config->ranks, ranks);
    struct ncoll_fork_board *end = ncoll__thread_board_end(board, config->rank);
    if (ncoll__board_has_end(end, config->rank))
        return events->fail(events->arg, BECAUSE(NCOLL_ERR_BOOTSTRAP, PEER_FAILED), config->rank,
                            "create another board for ranks that go on",
                            "the program has given up rank %d on this board", config->rank);
    return open_end(&ncoll__bootstrap_threads, end, events, out);
}

static void forget_blobs(struct forked *f)
{
    ncoll__blobs_unmap(&f->blobs);
    f->mapped = false;
}

static int forked_exchange_start(struct bootstrap *b, const void *blob, size_t len)
{
    struct forked *f = forked_of(b);

    forget_blobs(f);
    f->k++;
    int error = ncoll__channel_publish(f->board, f->channel, f->k, blob, len);
    return error == 0 ? NCOLL_OK : fail_errno(f, error, "cannot write to the memory of the ranks");
}

static bool has_started(struct forked *f, int rank)
{
    return atomic_load_explicit(&f->channel->ranks[rank].started, memory_order_acquire) >= f->k;
}

static int n_ends(struct forked *f)
{
    return atomic_load_explicit(&f->board->header->n_ends, memory_order_acquire);
}

static bool has_closed(struct forked *f, int rank)
{
    return atomic_load_explicit(&f->channel->ranks[rank].closed, memory_order_acquire) != 0;
}

static void forked_name_root_cause(struct bootstrap *b, int rank)
{
    _Atomic int32_t *root_cause = &forked_of(b)->channel->ranks[b->rank].root_cause;

    if (atomic_load_explicit(root_cause, memory_order_relaxed) == ROOT_CAUSE_UNKNOWN)
        atomic_store_explicit(root_cause, rank < 0 ? ROOT_CAUSE_NO_RANK : rank + 1,
                              memory_order_release);
}

/* Returns the root cause of a rank's failure; -1: not known, or no rank. A rank that was named as a
 * cause may itself have given up because of another one. If ranks name each other in a circle,
 * returns the given rank. */
static int forked_culprit(struct bootstrap *b, int rank)
{
    struct forked *f = forked_of(b);
    bool gone = has_closed(f, rank) || ncoll__board_has_end(f->board, rank);
    int first = rank;

    for (int i = 0; i < b->ranks; i++) {
        int root_cause =
            atomic_load_explicit(&f->channel->ranks[rank].root_cause, memory_order_acquire);
        if (root_cause == ROOT_CAUSE_UNKNOWN)
            return gone ? rank : -1;
        if (root_cause == ROOT_CAUSE_NO_RANK || root_cause - 1 == rank)
            return root_cause == ROOT_CAUSE_NO_RANK ? -1 : rank;
        gone = true; /* a rank that is named as a cause counts as gone */
        rank = root_cause - 1;
    }
    return first;
}

/* Finds the root cause of the end of `rank`, which may have given up because of another rank.
 * Returns true if the cause is another rank, and not this one. */
static bool has_root_cause(struct forked *f, int rank, int *culprit)
{
    *culprit = forked_culprit(&f->base, rank);
    return *culprit >= 0 && *culprit != rank && *culprit != f->base.rank;
}

static int fail_of_root_cause(struct forked *f, int rank, int culprit)
{
    return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), culprit,
                          "see what that rank has printed",
                          "rank %d failed while the ranks were finding each other, as rank %d "
                          "reports",
                          culprit, rank);
}

static int fail_left(struct forked *f, int rank)
{
    int culprit;

    if (has_root_cause(f, rank, &culprit))
        return fail_of_root_cause(f, rank, culprit);
    return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_LEFT), rank,
                          "see the error of its ncoll_context_create()",
                          "rank %d has left while the ranks were finding each other", rank);
}

static int fail_ended(struct forked *f, const struct end *end)
{
    bool killed = end->code > 128;
    int culprit;

    if (has_root_cause(f, end->rank, &culprit))
        return fail_of_root_cause(f, end->rank, culprit);
    if (has_closed(f, end->rank))
        return fail_left(f, end->rank);
    if (end->code == GIVEN_UP)
        return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_FAILED), end->rank,
                              "see why the program has called ncoll_thread_board_give_up()",
                              "the program has given up rank %d", end->rank);
    return f->events.fail(f->events.arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), end->rank,
                          "see what that rank has printed", "rank %d %s %d", end->rank,
                          killed ? "was killed by signal" : "ended early with exit code",
                          killed ? end->code - 128 : end->code);
}

static int forked_exchange_test(struct bootstrap *b)
{
    struct forked *f = forked_of(b);
    struct channel *channel = f->channel;

    f->news = atomic_load(&f->board->header->news);
    if (atomic_load_explicit(&channel->arrived, memory_order_acquire) >= f->k * (uint64_t)b->ranks)
        return NCOLL_OK;
    /* A rank that has ended without starting this exchange makes it fail. The first end is
     * reported: other ranks may have ended because of it. */
    for (int i = 0, n = n_ends(f); i < n; i++)
        if (!has_started(f, f->board->header->ends[i].rank))
            return fail_ended(f, &f->board->header->ends[i]);
    if (atomic_load_explicit(&channel->closed, memory_order_acquire) > 0)
        for (int r = 0; r < b->ranks; r++)
            if (has_closed(f, r) && !has_started(f, r))
                return fail_left(f, r);
    return NCOLL_TIMEOUT;
}

static void forked_wait(struct bootstrap *b, uint64_t ns)
{
    ncoll__board_wait(forked_of(b)->board, forked_of(b)->news, ns);
}

static int forked_get(struct bootstrap *b, int rank, const void **blob, size_t *len)
{
    struct forked *f = forked_of(b);
    const struct extent *extent = &f->channel->ranks[rank].blob[f->k % 2];

    if (!f->mapped) {
        int error = ncoll__blobs_map(f->board, f->channel, f->k, &f->blobs);
        if (error != 0)
            return fail_errno(f, error, "cannot map what the ranks have published");
        f->mapped = true;
    }
    *blob = extent->len > 0 ? f->blobs.base + (extent->offset - f->blobs.offset)
                            : (const unsigned char *)"";
    *len = extent->len;
    return NCOLL_OK;
}

static int forked_missing(struct bootstrap *b, int *count)
{
    int lowest = -1;

    *count = 0;
    for (int r = b->ranks - 1; r >= 0; r--)
        if (!has_started(forked_of(b), r)) {
            lowest = r;
            ++*count;
        }
    return lowest;
}

/* Returns a rank that has failed. A process that closed its context before it ended has not
 * failed. */
static int forked_failed(struct bootstrap *b)
{
    struct forked *f = forked_of(b);

    for (int n = n_ends(f); f->n_judged < n;) {
        int rank = f->board->header->ends[f->n_judged++].rank;
        if (!has_closed(f, rank))
            return rank;
    }
    return -1;
}

static void forked_close(struct bootstrap *b)
{
    struct forked *f = forked_of(b);

    forget_blobs(f);
    ncoll__channel_close(f->board, f->channel);
    if (f->board->threads != NULL)
        ncoll__thread_board_release(f->board->threads);
    free(f);
}

const struct bootstrap_ops ncoll__bootstrap_fork = {
    .name = "fork",
    .open = forked_open,
    .exchange_start = forked_exchange_start,
    .exchange_test = forked_exchange_test,
    .wait = forked_wait,
    .get = forked_get,
    .missing = forked_missing,
    .failed = forked_failed,
    .name_root_cause = forked_name_root_cause,
    .culprit = forked_culprit,
    .close = forked_close,
};

const struct bootstrap_ops ncoll__bootstrap_threads = {
    .name = "threads",
    .open = threads_open,
    .exchange_start = forked_exchange_start,
    .exchange_test = forked_exchange_test,
    .wait = forked_wait,
    .get = forked_get,
    .missing = forked_missing,
    .failed = forked_failed,
    .name_root_cause = forked_name_root_cause,
    .culprit = forked_culprit,
    .close = forked_close,
};
