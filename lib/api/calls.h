/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of collectives.c that make calls from their arguments. The caller has entered the
 * context (ncoll__enter()). */
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
 * Returns the status of the call. */
int ncoll__request_end(ncoll_request **request);

/* Goes on with the blocking call that has begun. Returns its status, or NCOLL_TIMEOUT. */
int ncoll__call_go_on(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns);

/* Returns true if the call is the one that followed the latest call the last time, is plain (struct
 * known_call), and nothing is pending in the context. Calls with arrays are looked up instead,
 * since the contents of the arrays must be compared. */
static inline __attribute__((always_inline)) bool
ncoll__call_is_expected(const struct ncoll_group *g, const struct plain_args *args)
{
    const struct known_call *k = g->known.latest->then;

    return g->ctx->pending == 0 && k->plain && args->sync == NCOLL_LOOSE &&
           ncoll__same_plain(&k->args, args);
}

/* Makes a blocking call that is plain (struct known_call), while nothing is pending in the context.
 * Returns its status, or NCOLL_TIMEOUT. */
static inline int ncoll__call_plain(struct ncoll_group *g, struct known_call *k, int64_t timeout_ns)
{
    int rc = ncoll__begin_again(g, k, timeout_ns == NCOLL_BLOCK);

    return __builtin_expect(rc == NCOLL_TIMEOUT, 0) ? ncoll__call_go_on(g, k, timeout_ns) : rc;
}

/* The next four functions look up the call among the known calls of the group. If it is not there,
 * they check its arguments, and add it. */

/* Makes a blocking call, or goes on with the one that has timed out. */
int ncoll__call(struct ncoll_group *g, const struct call_args *args, int64_t timeout_ns);
/* Does the same for a loose allreduce that ncoll__call_is_expected() has refused. */
int ncoll__call_allreduce(struct ncoll_group *g, const void *in, void *out, size_t count,
                          ncoll_type type, ncoll_op op, int64_t timeout_ns);
int ncoll__call_start(struct ncoll_group *g, const struct call_args *args, ncoll_request **request);
int ncoll__call_init(struct ncoll_group *g, const struct call_args *args, ncoll_request **request);

/*
 * The next two functions are for calls of an object (a compressor, or one of lib/stale), which are
 * not among the known calls of the group. The arguments have been checked.
 */

/* Makes a blocking call, or goes on with the one that has timed out. known: owned by the object;
 * gets the arguments. */
int ncoll__call_blocking_known(struct ncoll_group *g, struct known_call *known,
                               const struct call_args *args, int64_t timeout_ns);
/* Makes a request: one that is started, if start is true, else a persistent one. */
int ncoll__request_of(struct ncoll_group *g, const struct call_args *args, bool start,
                      ncoll_request **request);

#endif
