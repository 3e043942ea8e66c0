/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures of processes that the PMIx launcher reports.
 *
 * PMIx calls event handlers on its own progress thread (this library starts none). The handler
 * appends a rank to a list that has room for all, and raises a count. The user's thread reads the
 * count when it waits. So the list cannot overflow, and no lock is needed. The order matters: ranks
 * later in the list may have ended because of earlier ones.
 */
#ifndef NCOLL_BOOTSTRAP_PMIX_FAILURES_H
#define NCOLL_BOOTSTRAP_PMIX_FAILURES_H

#include <pmix.h>
#include <stdatomic.h>
#include <stdbool.h>

struct pmix_failures {
    pmix_proc_t self;
    int ranks;
    size_t handler;       /* PMIx's number for the handler */
    _Atomic int reported; /* entries of the list that the handler has written */
    int taken;            /* entries that the user's thread has read */
    int *list;            /* [ranks] the failed ranks, in the order of the reports */
    bool *known;          /* [ranks] used by the handler: a launcher may report a rank twice */
};

/* Returns PMIX_SUCCESS or an error. */
pmix_status_t ncoll__pmix_failures_open(struct pmix_failures *f, const pmix_proc_t *self,
                                        int ranks);
/* Returns when the handler is not running and will not run any more. */
void ncoll__pmix_failures_close(struct pmix_failures *f);

/* Returns a rank that failed, each rank once; -1: none. */
int ncoll__pmix_failures_take(struct pmix_failures *f);

#endif
