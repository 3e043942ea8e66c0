/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process failures as the PMIx launcher reports them.
 *
 * PMIx calls event handlers on its progress thread, which is PMIx's own (this library starts none).
 * The handler appends a rank to a list with room for all and raises a count; the user's thread
 * looks at the count when it waits. Nothing can overflow and nobody takes a lock. The order counts:
 * those that come later may have ended because of those before.
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
    _Atomic int reported; /* entries of the list that the handler has written; */
    int taken;            /* that the user's thread has taken */
    int *list;            /* [ranks] */
    bool *known;          /* [ranks] the handler's own: a launcher may report a rank twice */
};

/* PMIX_SUCCESS or what went wrong. */
pmix_status_t ncoll__pmix_failures_open(struct pmix_failures *f, const pmix_proc_t *self,
                                        int ranks);
/* Returns when the handler neither runs nor will run any more. */
void ncoll__pmix_failures_close(struct pmix_failures *f);

/* A rank that failed, each once; -1: none. */
int ncoll__pmix_failures_take(struct pmix_failures *f);

#endif
