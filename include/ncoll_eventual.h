/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * ncoll_eventual: eventually consistent collectives.
 *
 * Iterative, convergent codes can use data that is some iterations old, or that lacks a part, and
 * need not wait for the last straggler (Iakymchuk et al., "Efficient and Eventually Consistent
 * Collective Operations", 2022; Ho et al., "More Effective Distributed ML via a Stale Synchronous
 * Parallel Parameter Server", 2013; Li et al., "Taming Unbalanced Training Workloads in Deep
 * Learning with Partial Collective Operations", 2020). This header has
 *
 * - the *stale-synchronous allreduce*, which uses contributions of up to `slack` calls ago;
 * - the *partial allreduce*, which waits for a quorum of the ranks, and uses what the others bring
 *   in a later call;
 * - *threshold* bcast and reduce, of a fraction of the data or of the ranks;
 * - *compressed* bcast and allreduce, with codecs.
 *
 * What ncoll.h says of split phase, threads, the order of collectives and errors holds here, too.
 */
#ifndef NCOLL_EVENTUAL_H
#define NCOLL_EVENTUAL_H

#include "ncoll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ mailboxes ---------------- */

/*
 * Stale-synchronous and partial allreduces share an object, which holds logical clocks and mailboxes
 * between calls. The clock of a rank is the number of calls that it has made on the object: 1 in the
 * first call. A mailbox holds the latest contribution of one sender at one step. A later contribution
 * takes its place as a whole: a rank reads either the one or the other, never parts of both.
 *
 * Memory. A mailbox has places for several contributions, so that no sender has to wait until one has
 * been read: enough for 2 max_slack + 2 of them, up to three times as many, at least 8, for as long as all mailboxes
 * of a rank together take at most 64 MiB; and at least 4 in any case. With V bytes of a vector, all
 * mailboxes have so many times
 *
 *     HYPERCUBE   log2(P) V, rounded up     SLICES, RING   2 V     partial   (P - 1) V, 8 places
 *
 * There are never more than 1,024 places. A network card pins memory for 8 of them at least, and as much
 * again to send from. If there are fewer places than 2 max_slack + 2, a rank that is far ahead may
 * withhold contributions: see ncoll_allreduce_ssp().
 *
 * Progress. What is withheld is sent in any later call of the library, for as long as that call waits;
 * in ncoll_progress(); and in ncoll_stale_free(). A rank that destroys its context without freeing the
 * object takes it along.
 *
 * A rank that has died is noticed by ranks that wait for it, as everywhere; then all calls fail. Until
 * then its contributions are used, if they are not too old.
 */

/** Clocks and mailboxes of a group; opaque. */
typedef struct ncoll_stale ncoll_stale;

/** How contributions travel. */
typedef enum ncoll_stale_algorithm {
    NCOLL_STALE_AUTO = 0, /**< by the length of the vector */
    /** recursive doubling; two-window dissemination on numbers of ranks that are no power of 2; for
     * short vectors. All elements of a rank's contribution have one clock */
    NCOLL_STALE_HYPERCUBE = 1,
    /** rank q reduces slice q, and sends it to all: two messages on the way of each element, each
     * slice has clocks of its own; long vectors */
    NCOLL_STALE_SLICES = 2,
    NCOLL_STALE_RING = 3, /**< the same on a ring, with two peers; long vectors on many ranks */
} ncoll_stale_algorithm;

/** Parameters of ncoll_stale_create(), the same on all ranks. */
typedef struct ncoll_stale_params {
    size_t size;   /**< sizeof(ncoll_stale_params) */
    int max_slack; /**< most slack of any call, 0..65535; with `clocks` 0..32766 */
    ncoll_stale_algorithm algorithm; /**< for ncoll_allreduce_ssp() with slack > 0 */
    int clocks; /**< 1: results have a clock for each rank, which takes 2 bytes a rank in messages of
                    several contributions. Results of partial allreduces always have them */
    int partial; /**< 1: for ncoll_allreduce_partial(); 0: for ncoll_allreduce_ssp() */
} ncoll_stale_params;

/** The contributions that a result was made of. */
typedef struct ncoll_stale_result {
    size_t size;            /**< sizeof(ncoll_stale_result), set by the caller */
    uint64_t clock;         /**< clock of this rank in this call */
    uint64_t min_clock;     /**< oldest clock of a contribution in the result */
    int fresh;              /**< ranks whose contribution has at least this rank's clock; -1 without
                                `clocks`. Partial: ranks that have made at least as many calls */
    const uint64_t *clocks; /**< [P] clock of each rank's contribution; of the oldest one, if slices
                                have several; NULL without `clocks`. Valid until the next call on the
                                object */
    uint64_t waited_ns; /**< time that the call has waited for contributions that were too old; not
                                measured with a slack of 0 */
} ncoll_stale_result;

/**
 * Makes clocks and mailboxes for vectors of `count` elements. Collective over the group, and split
 * phase: after NCOLL_TIMEOUT it is called again with the same arguments. The object is independent
 * of later calls on the group. It has the connections of its mailboxes from the beginning.
 *
 * @param group       the group; all its ranks make this call
 * @param params      the same on all ranks; NULL: slack of up to 16, algorithm by length
 * @param count       elements of each vector
 * @param type        type of the elements
 * @param op          operation, defined for the type; it has to commute
 * @param stale       gets the object; set on NCOLL_OK only
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: those of ncoll_group_dup() and ncoll_allreduce(); NCOLL_ERR_ARGUMENT: max_slack is
 * negative or too large, an unknown algorithm, or an operation that does not commute, or
 * NCOLL_SUM_REPRODUCIBLE, since ranks get different results;
 * NCOLL_ERR_MISMATCH: parameters, count, type or operation differ between ranks;
 * NCOLL_ERR_UNSUPPORTED: mailboxes of all ranks are more than the peers that a rank may have.
 */
NCOLL_API int ncoll_stale_create(ncoll_group *group, const ncoll_stale_params *params, size_t count,
                                 ncoll_type type, ncoll_op op, ncoll_stale **stale,
                                 int64_t timeout_ns);

/**
 * Frees clocks and mailboxes. Collective over the ranks that made them, and split phase. A rank that
 * still makes calls gets all that others have withheld for it. Contributions that nobody has read by
 * then are lost.
 *
 * @param stale       the object, which is set to NULL on NCOLL_OK
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_BUSY: a call on it is unfinished; those of ncoll_group_free().
 */
NCOLL_API int ncoll_stale_free(ncoll_stale **stale, int64_t timeout_ns);

/**
 * Stale-synchronous allreduce (Iakymchuk et al. 2022, Algorithm 1). With c the clock of this rank,
 * out[i] = x_0[i] op .. op x_{P-1}[i], where x_p is this rank's `in`, and x_q the latest contribution of
 * rank q that has arrived, of clock c - slack or later (of its first call, if c - slack < 1). The call
 * waits only for contributions that are older. Contributions of ranks that are ahead may have a clock
 * above c. With SLICES and RING, x_p is `in` only in those elements that this rank reduces itself; in
 * others it is what the rank that reduces them has got of this one, so it may be older, too.
 *
 * With a slack of 0 the call is ncoll_allreduce(): all contributions have clock c, and all ranks get the
 * same bits. It is a new beginning: later calls use no contribution from before it, so the next call
 * with slack waits for all ranks, as the first one does. With more slack ranks get different results.
 *
 * A rank that has stopped holds up the others when their slack is spent, and not before. Contributions
 * of other ranks that it has passed on count like its own: in its last message they may be older, by its
 * slack at most. If mailboxes have fewer than 2 slack + 2 places, there is one more case: a rank that has
 * made more calls than there are places since another one made its last, and then stops outside of the
 * library, holds that one up as many calls earlier as it has withheld.
 *
 * @param stale       made without `partial`
 * @param in          count elements
 * @param out         count elements; in == out is allowed
 * @param count       as at creation
 * @param type        as at creation
 * @param op          as at creation
 * @param slack       0..max_slack; the same on all ranks at the same clock; may differ from call to call
 * @param result      gets the clocks of the contributions on NCOLL_OK; NULL: they are not asked for
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_allreduce(); NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: slack is negative or above
 * max_slack, or count, type or op are not those of the object; NCOLL_ERR_MISMATCH: ranks had different
 * slack at one clock, which is noticed when one of them sees a later contribution of the other;
 * NCOLL_ERR_PEER: a rank has left or failed, whose contributions are too old.
 */
NCOLL_API int ncoll_allreduce_ssp(ncoll_stale *stale, const void *in, void *out, size_t count,
                                  ncoll_type type, ncoll_op op, int slack,
                                  ncoll_stale_result *result, int64_t timeout_ns);

/** Starts ncoll_allreduce_ssp() as a request. `result` is filled in when the request ends. Requests of
 * one object are carried out one after the other. */
NCOLL_API int ncoll_allreduce_ssp_start(ncoll_stale *stale, const void *in, void *out, size_t count,
                                        ncoll_type type, ncoll_op op, int slack,
                                        ncoll_stale_result *result, ncoll_request **request);

/** Makes a persistent request of ncoll_allreduce_ssp(). */
NCOLL_API int ncoll_allreduce_ssp_init(ncoll_stale *stale, const void *in, void *out, size_t count,
                                       ncoll_type type, ncoll_op op, int slack,
                                       ncoll_stale_result *result, ncoll_request **request);

/** Quorums of ncoll_allreduce_partial(). */
#define NCOLL_SOLO     1 /**< this rank alone */
#define NCOLL_MAJORITY 0 /**< more than half of the ranks */

/**
 * Partial allreduce (Li et al. 2020): combines what has arrived. out = this rank's `in`, op all
 * contributions of other ranks that have arrived and that no earlier call of this rank has used. Each
 * contribution is used exactly once on each rank: those that come late are used in a later call. The
 * call returns when contributions of `quorum` ranks, this one included, have arrived from at least as
 * many calls as this one has made. With a quorum of P this holds for all ranks.
 *
 * @param stale       made with `partial`
 * @param in          count elements
 * @param out         count elements; in == out is allowed
 * @param count       as at creation
 * @param type        as at creation
 * @param op          as at creation
 * @param quorum      1..P, NCOLL_SOLO or NCOLL_MAJORITY; may differ between ranks and calls
 * @param result      gets clocks[q], the clock of the latest contribution of rank q that this call has
 *                    used, 0 if it has used none; min_clock is that of the oldest. NULL: it is not
 *                    asked for
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: as ncoll_allreduce_ssp(); NCOLL_ERR_ARGUMENT: quorum is not 0..P.
 */
NCOLL_API int ncoll_allreduce_partial(ncoll_stale *stale, const void *in, void *out, size_t count,
                                      ncoll_type type, ncoll_op op, int quorum,
                                      ncoll_stale_result *result, int64_t timeout_ns);

/** Starts ncoll_allreduce_partial() as a request. `result` is filled in when the request ends. */
NCOLL_API int ncoll_allreduce_partial_start(ncoll_stale *stale, const void *in, void *out,
                                            size_t count, ncoll_type type, ncoll_op op, int quorum,
                                            ncoll_stale_result *result, ncoll_request **request);

/** Makes a persistent request of ncoll_allreduce_partial(). */
NCOLL_API int ncoll_allreduce_partial_init(ncoll_stale *stale, const void *in, void *out,
                                           size_t count, ncoll_type type, ncoll_op op, int quorum,
                                           ncoll_stale_result *result, ncoll_request **request);

/* ------------------------------------------------------------------ thresholds --------------- */

/* ------------------------------------------------------------------ compression -------------- */

#ifdef __cplusplus
}
#endif

#endif
