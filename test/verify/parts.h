/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A call in parts, as one schedule: the steps of its parts one after the other, each with slots and
 * scratch of its own, so that no part finds there what another has left. That slots may be used again
 * is the business of mixed.h. Parts that FOLLOW are done in this order on every rank. Of the others it
 * is asked that they read no OUT, and that they are right in the opposite order as well: then what a
 * part does follows from IN alone, and no two write the same, whatever the interleaving.
 */
#ifndef NCOLL_TEST_VERIFY_PARTS_H
#define NCOLL_TEST_VERIFY_PARTS_H

#include "test/verify/schedules.h"

/* Writes out all ranks; shape->parts > 1. Returns NULL, or what is wrong with some part. */
const char *parts_write(const struct algorithm *algorithm, const struct shape *shape,
                        bool backwards, struct schedule *out);

#endif
