/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes objects of stale-synchronous and partial allreduces, together with their groups. */
#ifndef NCOLL_LIB_GROUP_MAILBOXES_H
#define NCOLL_LIB_GROUP_MAILBOXES_H

#include "lib/stale/stale.h"

/* Makes an object, or goes on with making one after a time-out. wanted: set by
 * ncoll__stale_measure(). hash: of the parameters that must be the same on all ranks. Sets *out on
 * NCOLL_OK. */
int ncoll__stale_create(struct ncoll_group *parent, const struct ncoll_stale *wanted, uint64_t hash,
                        struct ncoll_stale **out, int64_t timeout_ns);

#endif
