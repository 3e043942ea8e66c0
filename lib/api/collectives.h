/* SPDX-License-Identifier: BSD-3-Clause */
/* What the calls of lib/api/stale.c have in common with all collectives. Their caller has entered the
 * context. */
#ifndef NCOLL_LIB_API_COLLECTIVES_H
#define NCOLL_LIB_API_COLLECTIVES_H

#include "lib/base/group.h"

int ncoll__check_timeout(struct ncoll_group *g, int64_t timeout_ns);
/* Makes a blocking, loose allreduce, or goes on with one that has timed out. */
int ncoll__call_allreduce(struct ncoll_group *g, const void *in, void *out, size_t count,
                          ncoll_type type, ncoll_op op, int64_t timeout_ns);
/* The same for a call that begins from `known`, with these arguments, which are checked. */
int ncoll__call_blocking_known(struct ncoll_group *g, struct known_call *known,
                               const struct call_args *args, int64_t timeout_ns);
/* Makes a request of a call with SYNC_STALE, and starts it; or a persistent request. */
int ncoll__request_of(struct ncoll_group *g, const struct call_args *args, bool start,
                      ncoll_request **request);

#endif
