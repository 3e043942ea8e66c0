/* SPDX-License-Identifier: BSD-3-Clause */
/* What one rank has published, fetched without blocking: PMIx_Get() may, whatever time-out it is
 * given, for as long as the launcher looks for a rank that was killed. */
#ifndef NCOLL_BOOTSTRAP_PMIX_FETCH_H
#define NCOLL_BOOTSTRAP_PMIX_FETCH_H

#include <stdbool.h>
#include <stddef.h>

#include <pmix.h>

struct pmix_fetch;

/* NULL: no memory. */
struct pmix_fetch *ncoll__pmix_fetch_start(const pmix_proc_t *self, int rank, const char *key);
/* False: there is no answer yet. Status PMIX_SUCCESS: *bytes (at least one, from malloc) are the
 * caller's. */
bool ncoll__pmix_fetch_test(struct pmix_fetch *f, pmix_status_t *status, unsigned char **bytes,
                            size_t *len);
/* Ends it, answered or not. */
void ncoll__pmix_fetch_end(struct pmix_fetch *f);

#endif
