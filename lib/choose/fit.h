/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the algorithms that can run a call, and chooses by the fit that each of them declares: see
 * algos/choice.h. */
#ifndef NCOLL_LIB_CHOOSE_FIT_H
#define NCOLL_LIB_CHOOSE_FIT_H

#include "algos/choice.h"
#include "lib/base/group.h"
#include "lib/compute/op.h"

struct choice;

/* A call for which an algorithm is to be chosen. */
struct candidacy {
    struct ncoll_group *g;
    const struct call_args *args;
    const struct op *op;
    size_t longest; /* elements of the longest block */
    struct situation situation;
    bool any_peers; /* the budget of peers is ignored, since no algorithm stays within it */
};

/* Returns true if the algorithm computes the right result for this operation and these counts. */
bool ncoll__serves(const struct algorithm *a, const struct call_args *args, const struct op *op);

/* True if the call, a setting or a tool asks for an algorithm or a radix. */
bool ncoll__is_asked(const struct ncoll_group *g, const struct call_args *args);

/* Returns true if the floating-point results of the call must have the same bits on all ranks. */
bool ncoll__needs_same_bits(const struct ncoll_group *g, const struct call_args *args,
                            const struct op *op);

/* Returns true if blocks of `bytes` bytes fit the window, whole or in segments. If the algorithm
 * pads the blocks of an alltoall (PADS_BLOCKS), they must fit whole. */
bool ncoll__fits_window(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *algorithm, const struct shape *shape, size_t bytes);

/* Returns true if the algorithm can run the call: it serves the operation and the counts, it exists
 * for these ranks, its peers stay within the budget and can be connected, and the window has room
 * for at least one segment of the call. */
bool ncoll__can_run(const struct candidacy *c, const struct algorithm *algorithm, unsigned radix);

/* Chooses the algorithm with the best fit of all that can run, except `without` (may be NULL), and
 * sets out->algorithm and out->why. Returns false if there is none. */
bool ncoll__choose_fit(const struct candidacy *c, const struct algorithm *without,
                       struct choice *out);

/* Replaces the choice in `out`, whose estimated time is `ns`, if the estimate of another algorithm
 * is lower by the factor that this algorithm demands (struct fit, `gain`). Sets algorithm, radix
 * and why. */
void ncoll__choose_rival(const struct candidacy *c, double ns, struct choice *out);

/* Records why no algorithm can run the call. Returns NCOLL_ERR_UNSUPPORTED. */
int ncoll__refuse_all(const struct candidacy *c);

#endif
