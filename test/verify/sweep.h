/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TEST_VERIFY_SWEEP_H
#define NCOLL_TEST_VERIFY_SWEEP_H

#include "test/verify/model.h"

/* What to go through. */
struct sweep {
    const struct algorithm *only; /* NULL: the registry */
    unsigned max_p, radix;        /* radix 0: 1..8, and 9..16 up to RADIX_WIDE_P ranks */
};

struct tally {
    uint64_t schedules; /* proven */
    uint64_t alike;     /* of these, step by step the same as one that was run */
    uint64_t steps, edges;
    uint64_t wrong;
};

/* Everything for P ranks; what is wrong is printed. */
void sweep_size(const struct sweep *sweep, unsigned P, struct model *model, struct tally *tally);

#endif
