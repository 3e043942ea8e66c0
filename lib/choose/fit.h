/* SPDX-License-Identifier: BSD-3-Clause */
/* The algorithms that can run a call, according to what they declare: see algos/choice.h. */
#ifndef NCOLL_LIB_CHOOSE_FIT_H
#define NCOLL_LIB_CHOOSE_FIT_H

#include "algos/choice.h"
#include "lib/base/group.h"
#include "lib/compute/op.h"

struct choice;

/* A call that an algorithm is chosen for. */
struct candidacy {
    struct ncoll_group *g;
    const struct call_args *args;
    const struct op *op;
    size_t longest; /* elements of the longest block */
    struct situation situation;
    bool any_peers; /* algorithms may exceed the budget of peers, since none stays within it */
};

/* Returns true if the algorithm computes the right result for this operation and these counts. */
bool ncoll__serves(const struct algorithm *a, const struct call_args *args, const struct op *op);

/* True if the call, a setting or a tool asks for an algorithm or a radix. */
bool ncoll__is_asked(const struct ncoll_group *g, const struct call_args *args);

/* Returns true if the floating-point results of the call must have the same bits on all ranks. */
bool ncoll__needs_same_bits(const struct ncoll_group *g, const struct call_args *args,
                            const struct op *op);

/* Returns true if blocks of so many bytes, or parts of them, fit the window. */
bool ncoll__fits_window(const struct ncoll_group *g, const struct call_args *args,
                        const struct algorithm *algorithm, const struct shape *shape, size_t bytes);

/* Returns true if the algorithm can run the call: it serves the operation and the counts, it exists
 * for these ranks, its peers stay within the budget and can be connected, and at least a part of the
 * call fits the window. */
bool ncoll__can_run(const struct candidacy *c, const struct algorithm *algorithm, unsigned radix);

/* Chooses the algorithm with the best fit of all that can run, except `without` (may be NULL), and
 * fills in algorithm and why. Returns false if there is none. */
bool ncoll__choose_fit(const struct candidacy *c, const struct algorithm *without,
                       struct choice *out);

/* Looks for an algorithm whose estimate is lower than `ns`, that of the algorithm chosen so far. If
 * there is one, fills in its name, radix and reason. */
void ncoll__choose_rival(const struct candidacy *c, double ns, struct choice *out);

/* Records why no algorithm can run the call. Returns NCOLL_ERR_UNSUPPORTED. */
int ncoll__refuse_all(const struct candidacy *c);

#endif
