/* SPDX-License-Identifier: BSD-3-Clause */
/* The failure of the job, as this rank knows it. The first one stays, and every later call returns
 * it. */
#ifndef NCOLL_LIB_BASE_FAILURE_H
#define NCOLL_LIB_BASE_FAILURE_H

#include "lib/base/group.h"

/* Returns NCOLL_OK if the job has not failed. Otherwise records the failure as the error, tells it
 * to all peers if that has not been done, and returns its status. */
static inline int ncoll__failure(struct ncoll_context *ctx)
{
    return ctx->failure.kind == CONTROL_NONE ? NCOLL_OK : ctx->watch->failed(ctx);
}

/* Records that the job is broken for this rank. */
void ncoll__broken(struct ncoll_context *ctx, const struct failure *failure);
/* Makes a failure of the job from the error that ncoll__fail() recorded last. */
struct failure ncoll__failure_of_error(const struct ncoll_context *ctx);
/* Breaks the job with the error recorded last: this rank cannot go on, and tells the others, which
 * wait for it. Returns the status of the failure. */
int ncoll__break_job(struct ncoll_context *ctx);
/* Returns true if the failure breaks the first unfinished run of the group. A mismatch in a later
 * run does not. */
bool ncoll__is_broken(const struct ncoll_group *g);
/* Records a mismatch: this rank called `mine`, and `rank` (a world rank) called `theirs`. Returns
 * NCOLL_ERR_MISMATCH. */
int ncoll__mismatch(struct ncoll_group *g, struct signature mine, int rank,
                    struct signature theirs);
/* Records a mismatch in the run of the given epoch. */
void ncoll__mismatch_at(struct ncoll_group *g, uint64_t epoch, struct signature mine, int rank,
                        struct signature theirs);

#endif
