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
 * The rules of ncoll.h on split phase, threads, the order of collectives and errors hold here, too.
 */
#ifndef NCOLL_EVENTUAL_H
#define NCOLL_EVENTUAL_H

#include "ncoll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ mailboxes ---------------- */

/*
 * Stale-synchronous and partial allreduces share an object, which holds logical clocks and
 * mailboxes between calls. The clock of a rank is the number of calls that it has made on the
 * object: 1 in the first call. A mailbox holds the latest contribution of one sender at one step. A
 * later contribution takes its place as a whole: a rank reads either the one or the other, never
 * parts of both.
 *
 * Memory. A mailbox has places for several contributions, so that no sender has to wait until one
 * has been read. There is room for at least 2 max_slack + 2 contributions, and for up to three
 * times as many; there are 8 to 1,024 places. A mailbox has fewer places, but at least 4, if all
 * mailboxes of a rank would take more than 64 MiB together. It has fewer, but at least 8, on many
 * ranks, since a rank has at most 32,768 places in all its mailboxes. Let V be the bytes of a
 * vector. One place in each mailbox of a rank takes, in all these mailboxes together,
 *
 *     HYPERCUBE   log2(P) V, rounded up     SLICES, RING   2 V     partial   (P - 1) V, 8 places
 *
 * For a network card, memory for at least 8 places is pinned, and as much again to send from. If
 * there are fewer places than 2 max_slack + 2, a rank that is far ahead may have to withhold
 * contributions, which means to keep them until a place is free: see ncoll_allreduce_ssp().
 *
 * Progress. A contribution that was withheld is sent later: while this rank waits in any call of
 * the library, in ncoll_progress(), and in ncoll_stale_free(). If a rank destroys its context, its
 * objects are freed with it, and contributions that it has withheld are lost.
 *
 * A rank that waits for a rank that has died notices this death, as in other collectives; then all
 * calls fail. Until then the contributions of the dead rank are used, if they are not too old.
 */

/** Clocks and mailboxes of a group; opaque. */
typedef struct ncoll_stale ncoll_stale;

/** How contributions travel. */
typedef enum ncoll_stale_algorithm {
    NCOLL_STALE_AUTO = 0, /**< chosen by the length of the vector */
    /** recursive doubling; two-window dissemination on numbers of ranks that are no power of 2; for
     * short vectors. All elements of a rank's contribution have one clock */
    NCOLL_STALE_HYPERCUBE = 1,
    /** rank q reduces slice q, and sends the result to all ranks; each element takes two messages,
     * and each slice has clocks of its own; for long vectors */
    NCOLL_STALE_SLICES = 2,
    NCOLL_STALE_RING = 3, /**< as SLICES, on a ring with two peers; long vectors on many ranks */
} ncoll_stale_algorithm;

/** Parameters of ncoll_stale_create(), the same on all ranks. */
typedef struct ncoll_stale_params {
    size_t size;   /**< sizeof(ncoll_stale_params) */
    int max_slack; /**< the largest slack of any call, 0..65535; with `clocks` 0..32766 */
    ncoll_stale_algorithm algorithm; /**< for ncoll_allreduce_ssp() with slack > 0 */
    int clocks; /**< 1: results have a clock for each rank, which takes 2 bytes a rank in messages of
                    several contributions. Results of partial allreduces always have clocks */
    int partial; /**< 1: for ncoll_allreduce_partial(); 0: for ncoll_allreduce_ssp() */
} ncoll_stale_params;

/** The contributions that a result was made of. */
typedef struct ncoll_stale_result {
    size_t size;            /**< sizeof(ncoll_stale_result), set by the caller */
    uint64_t clock;         /**< clock of this rank in this call; set by the call, like all below */
    uint64_t min_clock;     /**< oldest clock of a contribution in the result */
    int fresh;              /**< number of ranks whose contribution has at least this rank's clock;
                                -1 without `clocks`. In a partial allreduce: number of ranks that
                                have made at least as many calls as this rank */
    const uint64_t *clocks; /**< [P] clock of each rank's contribution; the oldest of its clocks, if
                                slices have different ones; NULL without `clocks`. Valid until the
                                next call on the object */
    uint64_t waited_ns; /**< time that the call has waited for contributions that were too old; not
                                measured with a slack of 0 */
} ncoll_stale_result;

/**
 * Makes clocks and mailboxes for vectors of `count` elements. Collective over the group, and split
 * phase: after NCOLL_TIMEOUT it is called again with the same arguments. The object is independent
 * of later calls on the group, and lives on if the group is freed. Its calls are loose, whatever
 * the group's mode of synchronisation. This call makes all connections that the mailboxes need.
 *
 * @param group       the group; all its ranks make this call
 * @param params      the same on all ranks; NULL: slack of up to 16, algorithm by length
 * @param count       elements of each vector
 * @param type        type of the elements
 * @param op          operation, defined for the type; it has to commute
 * @param stale       gets the object; set on NCOLL_OK only
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: those of ncoll_barrier(); NCOLL_ERR_ARGUMENT: max_slack is negative or too large, an
 * unknown algorithm, parameters of another size, stale is NULL, an unknown type or operation, an
 * operation that is not defined for the type or does not commute, or NCOLL_SUM_REPRODUCIBLE, since
 * ranks get different results; NCOLL_ERR_RESOURCE and others: the reason why this rank, or another
 * one that the error names, could not make its part; NCOLL_ERR_MISMATCH: parameters, count, type or
 * operation differ between ranks; NCOLL_ERR_UNSUPPORTED: a rank would have more mailboxes than
 * slots (4,096), or more peers than its device has room for; NCOLL_ERR_MEMORY: a rank lacks memory
 * for the object; the group can still be used, unless memory runs out while the ranks connect,
 * which ends the job; NCOLL_ERR_BUSY: ncoll_stale_create() with other arguments is unfinished on
 * the group; until it is finished, the group cannot be freed.
 */
NCOLL_API int ncoll_stale_create(ncoll_group *group, const ncoll_stale_params *params, size_t count,
                                 ncoll_type type, ncoll_op op, ncoll_stale **stale,
                                 int64_t timeout_ns);

/**
 * Frees clocks and mailboxes. Collective over the ranks that made them, and split phase. A rank
 * that still makes calls gets all contributions that other ranks have withheld from it.
 * Contributions that nobody has read when the object is freed are lost.
 *
 * @param stale       the object, which is set to NULL on NCOLL_OK
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds
 *
 * ERRORS: NCOLL_ERR_HANDLE: stale or *stale is NULL, or it is not such an object;
 * NCOLL_ERR_ARGUMENT: negative time-out; NCOLL_ERR_BUSY: a call on it is unfinished;
 * NCOLL_ERR_MISMATCH; NCOLL_ERR_PEER.
 */
NCOLL_API int ncoll_stale_free(ncoll_stale **stale, int64_t timeout_ns);

/**
 * Stale-synchronous allreduce (Iakymchuk et al. 2022, Algorithm 1). Let c be the clock of this rank
 * p. Then out[i] = x_0[i] op .. op x_{P-1}[i], where x_p is `in` of this rank, and x_q is the
 * latest contribution of rank q that has arrived, if its clock is c - slack or later (1 or later,
 * if c - slack < 1). If the latest contribution is older, the call waits for another one.
 * Contributions of ranks that are ahead may have a clock above c. With SLICES and RING, x_p is `in`
 * only in those elements that this rank reduces itself; in all other elements, x_p is the latest
 * contribution of this rank that the rank which reduces them has received, so it may be older, too.
 *
 * With a slack of 0 the call is ncoll_allreduce(): all contributions have clock c, and all ranks
 * get the same bits. A call with a slack of 0 is a new beginning: later calls use no contribution
 * from before this call, so the next call with slack waits for all ranks, as the first call does.
 * With a slack above 0 the ranks get different results.
 *
 * A rank that has stopped holds up the others when their slack is spent, and not before. This also
 * holds for contributions of other ranks that the stopped rank has passed on: in its last message
 * they may be older than its own contribution, by its slack at most. There is one more case if
 * mailboxes have fewer than 2 slack + 2 places. Let rank S make more calls than there are places
 * while rank R makes none, so that S withholds its latest w contributions, and let S then stop
 * outside of the library. Then S holds up R w calls earlier than in the other case.
 *
 * @param stale       made without `partial`
 * @param in          count elements
 * @param out         count elements; in == out is allowed
 * @param count       as at creation
 * @param type        as at creation
 * @param op          as at creation
 * @param slack       0..max_slack; the same on all ranks at the same clock; may differ from call to
 *                    call
 * @param result      gets the clocks of the contributions on NCOLL_OK; NULL: the clocks are not
 *                    wanted
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_allreduce(); NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: slack is negative or
 * above max_slack, count, type or op are not those of the object, the object is for the partial
 * allreduce, or the result has another size; NCOLL_ERR_MISMATCH: ranks had different slack at one
 * clock, which is noticed when one of them sees a later contribution of the other; NCOLL_ERR_PEER:
 * a rank whose contributions are too old has left or failed.
 */
NCOLL_API int ncoll_allreduce_ssp(ncoll_stale *stale, const void *in, void *out, size_t count,
                                  ncoll_type type, ncoll_op op, int slack,
                                  ncoll_stale_result *result, int64_t timeout_ns);

/** Starts ncoll_allreduce_ssp() as a request. `result` is filled in when the request ends. Requests
 * of one object have their clocks in the order in which they are started, and may end in another
 * order. */
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
 * Partial allreduce (Li et al. 2020): combines what has arrived. The result is `in` of this rank,
 * combined by op with all contributions of other ranks that have arrived and that no earlier call
 * of this rank has used. Each contribution is used exactly once on each rank: those that come late
 * are used in a later call. The call returns when `quorum` ranks, this one included, have
 * contributed to their call of the same number as this call, or to a later one, and these
 * contributions have arrived. With a quorum of P this holds for all ranks.
 *
 * @param stale       made with `partial`
 * @param in          count elements
 * @param out         count elements; in == out is allowed
 * @param count       as at creation
 * @param type        as at creation
 * @param op          as at creation
 * @param quorum      1..P, NCOLL_SOLO or NCOLL_MAJORITY; may differ between ranks and calls
 * @param result      gets clocks[q], the clock of the latest contribution of rank q that this call
 *                    has used, 0 if it has used none; min_clock is the oldest clock of a
 *                    contribution that it has used. NULL: no result is wanted
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

/*
 * A bcast or a reduce with a threshold is done for a fraction of the data, or by a fraction of the
 * ranks. The rest of the buffers is not touched. A status says which elements and ranks are in: the
 * elements that were delivered, and the ranks that were reached or combined. The status may be
 * passed to a later call, which then delivers the remainder.
 */

/** The kinds of thresholds, by the elements or ranks that the fraction is taken of. */
typedef enum ncoll_threshold_of {
    NCOLL_THRESHOLD_DATA = 1,     /**< the first elements of the vector */
    NCOLL_THRESHOLD_HEAVIEST = 2, /**< the elements of the greatest weights */
    NCOLL_THRESHOLD_RANKS = 3,    /**< the root, and the ranks of the greatest weights; without
                                       weights, the ranks that follow the root */
} ncoll_threshold_of;

/** The elements and ranks that are in after a call, including those of the earlier calls that it
 * continues. */
typedef struct ncoll_threshold_status {
    size_t size;         /**< sizeof(ncoll_threshold_status), set by the caller */
    uint8_t *element_in; /**< [count] of the caller; gets 1 for each element that is in, else 0;
                                NULL: not wanted */
    uint8_t *rank_in;    /**< [P] of the caller; gets 1 for each rank that is in, else 0; NULL: not
                                wanted */
    ncoll_threshold_of of; /**< `of` of the threshold; set by the call, like all fields below */
    size_t count;          /**< elements of the vector */
    size_t elements; /**< elements that are in. In a bcast of ranks: `count` on ranks that are in,
                                0 on others */
    int ranks;       /**< ranks that are in */
} ncoll_threshold_status;

/** The threshold of a call. */
typedef struct ncoll_threshold {
    size_t size; /**< sizeof(ncoll_threshold) */
    ncoll_threshold_of of;
    /** 0..1. The least number k is taken for which k / N >= fraction, where N is the number of
        elements or of ranks. The root is always in. The same on all ranks. */
    double fraction;
    /** Weights of elements: [count], for NCOLL_THRESHOLD_HEAVIEST; of equal weights the first ones
        are taken. In a bcast only the root's are used, in a reduce they are the same on all ranks.
        Weights of ranks: [P], the same on all ranks; NULL: their order from the root. NaN is refused;
        infinite weights are allowed. */
    const double *weights;
    /** The status of earlier calls on this rank, the same calls on all ranks: this call does not
        deliver again what these calls have delivered. The status needs `element_in` with
        NCOLL_THRESHOLD_HEAVIEST (in a bcast at the root alone), and `rank_in` with
        NCOLL_THRESHOLD_RANKS. NULL: there were no earlier calls. */
    const ncoll_threshold_status *after;
} ncoll_threshold;

/**
 * Bcast with a threshold (Iakymchuk et al. 2022, section III-B, for any root).
 *
 * A fraction of the data: with k elements taken, buffer[i] = root's buffer[i] on all ranks for the
 * k first, or heaviest, elements. Only the root need know the weights: each message says which
 * elements it has. A fraction of the ranks: the whole vector gets to the ranks that are in. The
 * other ranks return as soon as it is the turn of their call; the first time they also help to
 * connect the peers.
 *
 * With `after` the fraction is still a fraction of the whole: a call with 0.25, and one with 1.0
 * after it, deliver a quarter and the rest. The status of the second call then has both.
 *
 * @param group       all its ranks make this call
 * @param buffer      count elements
 * @param count       elements, the same on all ranks
 * @param type        type of the elements
 * @param root        0..P-1
 * @param threshold   read in this call (with NCOLL_TIMEOUT: in the first one); the caller leaves
 *                    weights and `after` unchanged until the call has ended, for a persistent
 *                    request until it is freed
 * @param status      gets the elements and ranks that are in, on NCOLL_OK; NULL: they are not
 *                    wanted. May be the same object as `after` (each start of a persistent request
 *                    then adds to what was in when it was made)
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_bcast(); NCOLL_ERR_ARGUMENT: threshold is NULL or of another size, `of` is
 * unknown, fraction is below 0, above 1 or not a number, weights of the heaviest elements are
 * missing, a weight is not a number, or `after` is of another kind or count, or lacks what it
 * needs; NCOLL_ERR_MISMATCH: kind, fraction, weights that have to be the same, or what was
 * delivered before differ between ranks; NCOLL_ERR_MEMORY: no memory for the elements that are
 * chosen by weight.
 */
NCOLL_API int ncoll_bcast_threshold(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                                    int root, const ncoll_threshold *threshold,
                                    ncoll_threshold_status *status, int64_t timeout_ns);

/** Starts ncoll_bcast_threshold() as a request. `status` is filled in when the call ends. */
NCOLL_API int ncoll_bcast_threshold_start(ncoll_group *group, void *buffer, size_t count,
                                          ncoll_type type, int root,
                                          const ncoll_threshold *threshold,
                                          ncoll_threshold_status *status, ncoll_request **request);

/** Makes a persistent request of ncoll_bcast_threshold(). The weights of elements are read again
    whenever the request is started. */
NCOLL_API int ncoll_bcast_threshold_init(ncoll_group *group, void *buffer, size_t count,
                                         ncoll_type type, int root,
                                         const ncoll_threshold *threshold,
                                         ncoll_threshold_status *status, ncoll_request **request);

/**
 * Reduce with a threshold (Iakymchuk et al. 2022, section III-B, for any root).
 *
 * A fraction of the data: out[i] = x_0[i] op .. op x_{P-1}[i] at the root, for the k first, or
 * heaviest, elements. A fraction of the ranks: out[i] is combined of the vectors of the ranks that
 * are in, for all elements. With `after`, a call for a fraction of the ranks combines the vectors
 * of the ranks that were not in yet into the root's out, and does not read the root's in.
 *
 * @param group       all its ranks make this call
 * @param in          count elements
 * @param out         count elements, at the root; in == out is allowed
 * @param count       elements, the same on all ranks
 * @param type        type of the elements
 * @param op          operation, defined for the type; with a fraction of the ranks it has to
 *                    commute
 * @param root        0..P-1
 * @param threshold   as in ncoll_bcast_threshold()
 * @param status      as in ncoll_bcast_threshold(); all ranks get the same
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_reduce() and of ncoll_bcast_threshold(); NCOLL_ERR_UNSUPPORTED: a
 * threshold of ranks with an operation that does not commute, or `after` with the reproducible sum,
 * whose partial results are rounded.
 */
NCOLL_API int ncoll_reduce_threshold(ncoll_group *group, const void *in, void *out, size_t count,
                                     ncoll_type type, ncoll_op op, int root,
                                     const ncoll_threshold *threshold,
                                     ncoll_threshold_status *status, int64_t timeout_ns);

/** Starts ncoll_reduce_threshold() as a request. `status` is filled in when the call ends. */
NCOLL_API int ncoll_reduce_threshold_start(ncoll_group *group, const void *in, void *out,
                                           size_t count, ncoll_type type, ncoll_op op, int root,
                                           const ncoll_threshold *threshold,
                                           ncoll_threshold_status *status, ncoll_request **request);

/** Makes a persistent request of ncoll_reduce_threshold(). Weights of elements are read again
    whenever the request is started; they have to be the same as when it was made. */
NCOLL_API int ncoll_reduce_threshold_init(ncoll_group *group, const void *in, void *out,
                                          size_t count, ncoll_type type, ncoll_op op, int root,
                                          const ncoll_threshold *threshold,
                                          ncoll_threshold_status *status, ncoll_request **request);

/* ------------------------------------------------------------------ compression -------------- */

/*
 * Compressed allreduce and bcast. A *codec* writes a vector in fewer bytes, mostly with a loss.
 * With *error feedback* a compressor keeps what its codec has lost, the *residual*, and adds it to
 * the vector of the next call (Stich et al., "Sparsified SGD with Memory", 2018; Karimireddy et
 * al., "Error Feedback Fixes SignSGD and other Gradient Compression Schemes", 2019). So nothing is
 * lost for good: the results of all calls, and the residuals of all ranks after them, add up to all
 * inputs, as far as the arithmetic is exact.
 *
 * This code computes the mean of gradients, and each call sends one in a hundred of their elements:
 *
 *     ncoll_codec codec = {.size = sizeof codec};
 *     ncoll_codec_topk(&codec, 0.01);
 *     ncoll_compressor *compressor;
 *     ncoll_compressor_create(group, &codec, count, NCOLL_FLOAT, 1, &compressor);
 *     for (int step = 0; step < steps; step++) {
 *         compute_gradient(gradient);
 *         ncoll_allreduce_compressed(group, compressor, gradient, sum, count, NCOLL_FLOAT, NCOLL_SUM,
 *                                    NCOLL_BLOCK);
 *         for (size_t i = 0; i < count; i++)
 *             weights[i] -= rate * sum[i] / ranks;
 *     }
 *     ncoll_compressor_free(&compressor);
 *
 * All ranks use the same codec with the same parameters, else the call fails with
 * NCOLL_ERR_MISMATCH. All ranks get the same bits. A codec that fails on some rank ends the call
 * with NCOLL_ERR_CODEC on all ranks; the error names the rank and the codec.
 */

/** Parts of a vector may be encoded each on its own. Then an allreduce sends about 2 m bytes a
 * rank, with m the bytes of an encoded vector, however many ranks there are; without the flag P
 * m. */
#define NCOLL_CODEC_CHUNKS 1u
/** encode() always returns bound(), which saves an exchange of lengths. */
#define NCOLL_CODEC_FIXED 2u
/** decode() and add() accept everything that encode() has written, which saves a vote of the ranks
 * on whether all of them could decode. */
#define NCOLL_CODEC_SURE 4u

/** A codec: a built-in one, filled in by ncoll_codec_topk() or ncoll_codec_round16(), or one of the
 * user's own. */
typedef struct ncoll_codec ncoll_codec;
/**
 * The functions get the codec as their last argument. Their results depend on nothing but their
 * arguments, since all ranks decode the same bytes and must get the same bits. They are called by
 * the thread that makes progress. Inside them, calls on the same context get NCOLL_ERR_BUSY.
 * Encoded bytes lie at a multiple of 8, and vectors lie at a multiple of the size of an element
 * from the start of the caller's buffer or of memory from the context's allocator.
 */
struct ncoll_codec {
    size_t size;      /**< sizeof(ncoll_codec), set by the caller */
    const char *name; /**< required; for errors, and compared between ranks; copied */
    unsigned flags;   /**< NCOLL_CODEC_*; 0: none of them */
    /** a number of the user's that must be the same on all ranks, such as a hash of the codec's
     * parameters */
    uint64_t parameters;
    /** Returns the most bytes that encode() may write for `count` > 0 elements; SIZE_MAX: the codec
     * does not take this type. Required. */
    size_t (*bound)(size_t count, ncoll_type type, const ncoll_codec *codec);
    /** Encodes `count` > 0 elements, and returns the number of bytes; SIZE_MAX: encoding failed.
     * Required. */
    size_t (*encode)(void *bytes, const void *in, size_t count, ncoll_type type,
                     const ncoll_codec *codec);
    /** Decodes `len` bytes to exactly `count` elements. Returns 0; anything else: the bytes cannot
     * be decoded. The function has to check the bytes, and never writes beyond `count` elements.
     * Required. */
    int (*decode)(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
                  const ncoll_codec *codec);
    /** Optional: adds what decode() would give to the elements of `out`. For codecs that leave out
     * most elements. */
    int (*add)(void *out, const void *bytes, size_t len, size_t count, ncoll_type type,
               const ncoll_codec *codec);
    void *arg; /**< the user's; must live as long as the compressor */
};

/**
 * Top-k sparsification (Stich et al. 2018; Aji and Heafield 2017): keeps the k = ceil(fraction
 * count) elements that are largest in magnitude, at least one; the others are taken for 0. Among
 * elements of equal magnitude it keeps those with lower indices; NaN counts as larger than
 * infinity. For float and double. An encoded vector has 8 bytes for each of k floats or 12 for each
 * of k doubles (4 more from 2^32 elements on).
 *
 * The codec encodes a vector as a whole, so that an allreduce is an allgather of P k elements.
 *
 * May be called by any thread at any time.
 *
 * @param codec     gets the codec; the caller has set its field `size`
 * @param fraction  above 0, at most 1
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: codec is NULL, its size is not known to the library, or the fraction
 * is out of range.
 */
NCOLL_API int ncoll_codec_topk(ncoll_codec *codec, double fraction);

/**
 * Rounding to 16 bits, to nearest, ties to even. For float and double; 2 bytes an element. Numbers
 * that are too large become infinite: from 65520 on with NCOLL_HALF, and close to the largest float
 * with NCOLL_BFLOAT16; NaN stays NaN. The sum of an allreduce is calculated in the type of the
 * vector, and rounded to 16 bits once more. May be called by any thread at any time.
 *
 * @param codec  gets the codec; the caller has set its field `size`
 * @param to     NCOLL_HALF or NCOLL_BFLOAT16
 *
 * ERRORS: NCOLL_ERR_ARGUMENT: codec is NULL, its size is not known to the library, or `to` is
 * another type.
 */
NCOLL_API int ncoll_codec_round16(ncoll_codec *codec, ncoll_type to);

/** A codec at work: with the residual, and memory for encoded vectors. Opaque; owned by its
 * context. */
typedef struct ncoll_compressor ncoll_compressor;

/**
 * Makes a compressor. The call is local, and returns at once. A compressor is for vectors of one
 * length and type. It serves one call at a time; several may be used side by side on a group.
 *
 * A compressor has memory for P + 1 encoded vectors, and for one vector to decode to, which a codec
 * with add() needs only with feedback. With NCOLL_CODEC_CHUNKS it has memory for two encoded
 * vectors, and three chunks. Feedback takes two vectors more.
 *
 * @param group       the group of its calls; ncoll_group_free() makes the compressor useless
 * @param codec       copied
 * @param count       elements of each vector
 * @param type        type of the elements, one that the codec takes
 * @param feedback    1: with error feedback, for types that NCOLL_SUM is defined for; 0: without.
 *                    May differ between ranks
 * @param compressor  gets the compressor; set on NCOLL_OK only
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: codec is NULL or incomplete, the codec does not
 * take the type, an unknown type, a vector larger than memory can be, feedback with a type that has
 * no sum, or compressor is NULL; NCOLL_ERR_MEMORY.
 */
NCOLL_API int ncoll_compressor_create(ncoll_group *group, const ncoll_codec *codec, size_t count,
                                      ncoll_type type, int feedback, ncoll_compressor **compressor);

/**
 * Frees a compressor, and its residual with it. Local. Compressors that are not freed are freed
 * with their context.
 *
 * @param compressor  the compressor, which is set to NULL on NCOLL_OK
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_BUSY: a call with it is unfinished, or a persistent request
 * uses it.
 */
NCOLL_API int ncoll_compressor_free(ncoll_compressor **compressor);

/**
 * Copies the residual of this rank: what its calls that ended with NCOLL_OK have lost so far. At
 * first the residual is all zeroes. With NCOLL_CODEC_CHUNKS the residual also has what was lost
 * when this rank encoded its chunk of the sum (as in Tang et al., "DoubleSqueeze", 2019).
 *
 * An element whose residual would be infinite or NaN, since the input or what was decoded is, gets
 * a residual of 0.
 *
 * @param compressor  with feedback
 * @param out         gets count elements
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: the compressor has no feedback, or out is NULL;
 * NCOLL_ERR_BUSY: a call with it is unfinished.
 */
NCOLL_API int ncoll_compressor_residual(ncoll_compressor *compressor, void *out);

/**
 * Sets the residual of this rank: to zeroes, or to a residual that was copied before, for a program
 * that goes on from a checkpoint.
 *
 * @param compressor  with feedback
 * @param residual    count elements; NULL: zeroes
 *
 * ERRORS: NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: the compressor has no feedback; NCOLL_ERR_BUSY: a
 * call with it is unfinished.
 */
NCOLL_API int ncoll_compressor_reset(ncoll_compressor *compressor, const void *residual);

/**
 * Compressed allreduce: out = D(C(x_0)) + ... + D(C(x_{P-1})), in the order of ranks and in the
 * type of the vector. C and D stand for encode() and decode(); x_p is `in` of rank p, with the
 * residual of rank p added if there is one. Then this residual becomes x_p - D(C(x_p)).
 *
 * With NCOLL_CODEC_CHUNKS vectors are cut into P chunks, as even as can be. Rank q gets chunk q of
 * all ranks, decodes and adds them, encodes the sum, and sends it to all: out is D(C(s)), with s
 * the sum above, and s - D(C(s)) is added to the residual of rank q. Otherwise all ranks get all
 * encoded vectors.
 *
 * The call consists of collectives of its own, which run in order: an alltoall of bytes, if there
 * are chunks, and an allgather of bytes; and further ones for lengths and for the vote of the
 * ranks, unless the codec's flags save them. Later calls on the group start when the last of these
 * collectives has started. The mode of synchronisation of the group holds for the call as a whole.
 * An algorithm that the user forces for alltoall or allgather is used for the encoded data.
 *
 * The residual changes only when the call ends with NCOLL_OK. After an error, out is undefined.
 *
 * @param group       the group; all its ranks make this call
 * @param compressor  this rank's compressor, made for the group
 * @param in          count elements
 * @param out         count elements; in == out is allowed
 * @param count       as in ncoll_compressor_create()
 * @param type        as in ncoll_compressor_create()
 * @param op          NCOLL_SUM. Others are refused: what a codec loses can be made up for in a
 *                    later sum, but in no other operation
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_allreduce(); NCOLL_ERR_HANDLE; NCOLL_ERR_ARGUMENT: another operation; the
 * compressor is for another group, count or type; NCOLL_ERR_MISMATCH: codecs or their parameters
 * differ between ranks; NCOLL_ERR_CODEC: a codec failed on some rank; NCOLL_ERR_BUSY: another call
 * with the compressor is unfinished.
 */
NCOLL_API int ncoll_allreduce_compressed(ncoll_group *group, ncoll_compressor *compressor,
                                         const void *in, void *out, size_t count, ncoll_type type,
                                         ncoll_op op, int64_t timeout_ns);
/** Starts ncoll_allreduce_compressed() as a request. Until the request is over, the compressor
 * serves no other call. */
NCOLL_API int ncoll_allreduce_compressed_start(ncoll_group *group, ncoll_compressor *compressor,
                                               const void *in, void *out, size_t count,
                                               ncoll_type type, ncoll_op op,
                                               ncoll_request **request);
/** Makes a persistent request of ncoll_allreduce_compressed(). */
NCOLL_API int ncoll_allreduce_compressed_init(ncoll_group *group, ncoll_compressor *compressor,
                                              const void *in, void *out, size_t count,
                                              ncoll_type type, ncoll_op op,
                                              ncoll_request **request);

/**
 * Compressed bcast: out = D(C(x)) on all ranks, the root included, where x is `in` of the root,
 * with the residual of the root added if there is one. Then the residual of the root becomes x -
 * D(C(x)); those of other ranks stay. The vector is encoded as a whole.
 *
 * @param group       the group; all its ranks make this call
 * @param compressor  this rank's compressor, made for the group
 * @param in          count elements; read on the root only
 * @param out         count elements; in == out is allowed
 * @param count       as in ncoll_compressor_create()
 * @param type        as in ncoll_compressor_create()
 * @param root        the rank whose vector is sent
 * @param timeout_ns  NCOLL_BLOCK, NCOLL_TEST or nanoseconds; after NCOLL_TIMEOUT call again
 *
 * ERRORS: those of ncoll_bcast() and ncoll_allreduce_compressed().
 */
NCOLL_API int ncoll_bcast_compressed(ncoll_group *group, ncoll_compressor *compressor,
                                     const void *in, void *out, size_t count, ncoll_type type,
                                     int root, int64_t timeout_ns);
/** Starts ncoll_bcast_compressed() as a request. Until the request is over, the compressor serves
 * no other call. */
NCOLL_API int ncoll_bcast_compressed_start(ncoll_group *group, ncoll_compressor *compressor,
                                           const void *in, void *out, size_t count, ncoll_type type,
                                           int root, ncoll_request **request);
/** Makes a persistent request of ncoll_bcast_compressed(). */
NCOLL_API int ncoll_bcast_compressed_init(ncoll_group *group, ncoll_compressor *compressor,
                                          const void *in, void *out, size_t count, ncoll_type type,
                                          int root, ncoll_request **request);

#ifdef __cplusplus
}
#endif

#endif
