/* SPDX-License-Identifier: BSD-3-Clause */
/* Fetches the data that one rank has published, without blocking. PMIx_Get() may block, whatever
 * its time-out, for as long as the launcher looks for a rank that was killed. */
#ifndef NCOLL_BOOTSTRAP_PMIX_FETCH_H
#define NCOLL_BOOTSTRAP_PMIX_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include <pmix.h>

struct pmix_fetch;

/* Starts a fetch. Returns NULL if there is no memory. */
struct pmix_fetch *ncoll__pmix_fetch_start(const pmix_proc_t *self, int rank, const char *key);
/* Returns false while there is no answer. If *status is PMIX_SUCCESS, *bytes (from malloc, never
 * NULL) belong to the caller. */
bool ncoll__pmix_fetch_test(struct pmix_fetch *f, pmix_status_t *status, unsigned char **bytes,
                            size_t *len);
/* Ends a fetch, answered or not. */
void ncoll__pmix_fetch_end(struct pmix_fetch *f);

#endif
