/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ranks that have not come to a PMIx fence. The fence does not tell. But each rank's
 * value can be asked for: the server answers for ranks that have committed it, and waits for the
 * others. */
#ifndef NCOLL_BOOTSTRAP_PMIX_MISSING_H
#define NCOLL_BOOTSTRAP_PMIX_MISSING_H

#include <pmix.h>

/* Returns the lowest other rank whose value of `key` is not known after a fifth of a second, and
 * how many there are; -1: none. */
int ncoll__pmix_missing(const pmix_proc_t *self, int ranks, const char *key, int *count);

#endif
