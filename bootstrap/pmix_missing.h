/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has not come to a PMIx fence. A fence does not tell, but each rank's value can be asked for:
 * the server answers for those that have committed it, and goes on waiting for the others.
 */
#ifndef NCOLL_BOOTSTRAP_PMIX_MISSING_H
#define NCOLL_BOOTSTRAP_PMIX_MISSING_H

#include <pmix.h>

/* The lowest other rank whose value of `key` is not known after a fifth of a second; -1: none. */
int ncoll__pmix_missing(const pmix_proc_t *self, int ranks, const char *key);

#endif
