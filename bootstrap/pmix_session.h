/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process as a client of PMIx. PMIx counts who uses it, and its server takes a client that
 * lets go of it wholly for one that has left the job: fences of the others then end without it,
 * even if it comes back (PMIx 5: PMIX_ERR_PARTIAL_SUCCESS). So that contexts may be created and
 * destroyed at will, the first one takes a hold on PMIx that lasts until the process exits.
 */
#ifndef NCOLL_BOOTSTRAP_PMIX_SESSION_H
#define NCOLL_BOOTSTRAP_PMIX_SESSION_H

#include <pmix.h>

pmix_status_t ncoll__pmix_enter(pmix_proc_t *self);
void ncoll__pmix_leave(void);

#endif
