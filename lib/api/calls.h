/* SPDX-License-Identifier: BSD-3-Clause */
/* How calls are made from their arguments: collectives.c. Their caller has entered the context. */
#ifndef NCOLL_LIB_API_CALLS_H
#define NCOLL_LIB_API_CALLS_H

#include "lib/run/call.h"

static inline bool is_group(const struct ncoll_group *g)
{
    return g != NULL && g->magic == GROUP_MAGIC;
}

static inline bool is_request(const struct ncoll_request *r)
{
    return r != NULL && r->magic == REQUEST_MAGIC;
}

/* Ends a started request whose call has ended, and sets *request to NULL unless it is persistent.
 * Returns its status. */
int ncoll__request_end(ncoll_request **request);

/* Goes on with the blocking call of a group, which has begun. */
int ncoll__call_go_on(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns);

/* Returns true if nothing is pending and the call is the plain call that followed the latest one when
 * that was made before. Calls with arrays are looked up instead, since the contents of the arrays
 * must be compared. */
static inline __attribute__((always_inline)) bool
ncoll__call_is_expected(const struct ncoll_group *g, const struct plain_args *args)
{
    const struct known_call *k = g->known.latest->then;

    return g->ctx->pending == 0 && k->plain && args->sync == NCOLL_LOOSE &&
           ncoll__same_plain(&k->args, args);
}

/* Makes a plain call while nothing is pending. */
static inline int ncoll__call_plain(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns)
{
    int rc = ncoll__begin_again(g, k, timeout_ns == NCOLL_BLOCK);

    return __builtin_expect(rc == NCOLL_TIMEOUT, 0) ? ncoll__call_go_on(g, k, timeout_ns) : rc;
}

/* Calls among the known calls of the group. Arguments that are not known are checked. */

/* Makes a blocking call, or goes on with the one that has timed out. */
int ncoll__call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns);
/* Does so for a loose allreduce, which was not expected. */
int ncoll__call_allreduce(struct ncoll_group *g, const void *in, void *out, size_t count,
                          ncoll_type type, ncoll_op op, int64_t timeout_ns);
int ncoll__call_start(struct ncoll_group *g, const struct call_args *args, ncoll_request **request);
int ncoll__call_init(struct ncoll_group *g, const struct call_args *args, ncoll_request **request);

/*
 * Calls of an object (of a compressor, of mailboxes), which are not among the known calls of the
 * group. Their arguments have been checked.
 */

/* Makes a blocking call in `known`, which is the object's, or goes on with one that has timed out. */
int ncoll__call_blocking_known(struct ncoll_group *g, struct known_call *known,
                               const struct call_args *args, int64_t timeout_ns);
/* Makes a request and starts it; or a persistent request. */
int ncoll__request_of(struct ncoll_group *g, const struct call_args *args, bool start,
                      ncoll_request **request);

#endif
