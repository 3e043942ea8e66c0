/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ranks that have not published a value, which a fence does not tell. The value of each
 * rank is asked for: the server answers for ranks that have committed it, and waits for the
 * others. */
#ifndef NCOLL_BOOTSTRAP_PMIX_MISSING_H
#define NCOLL_BOOTSTRAP_PMIX_MISSING_H

#include <pmix.h>
#include <stdbool.h>

/* Asks n other ranks for their value of `key`. missing[i] becomes true if that of ranks[i] has not
 * come within a fifth of a second. Returns the number of such ranks; -1: there is no memory. */
int ncoll__pmix_missing(const pmix_proc_t *self, const int *ranks, int n, const char *key,
                        bool *missing);

#endif
