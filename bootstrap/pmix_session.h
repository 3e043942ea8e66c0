/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The session of this process with PMIx. PMIx counts the users in a process: those that have called
 * PMIx_Init(), and not yet PMIx_Finalize(). When the last user finalizes, the server believes that
 * the process has left the job: later fences of the others end without it, even if it initialises
 * PMIx again (PMIx 5: PMIX_ERR_PARTIAL_SUCCESS). Contexts may be created and destroyed at any time,
 * so the first context opens a session that lasts until the process exits.
 */
#ifndef NCOLL_BOOTSTRAP_PMIX_SESSION_H
#define NCOLL_BOOTSTRAP_PMIX_SESSION_H

#include <pmix.h>
#include <stdatomic.h>
#include <stdint.h>

/* A futex, raised whenever PMIx has called back: ranks that wait for PMIx sleep on it. Callbacks
 * may come after their context was destroyed, so the word belongs to the process. */
extern _Atomic uint32_t ncoll__pmix_news;
void ncoll__pmix_raise_news(void);

pmix_status_t ncoll__pmix_enter(pmix_proc_t *self);
void ncoll__pmix_leave(void);

#endif
