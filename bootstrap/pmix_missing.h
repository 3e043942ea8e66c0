/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the ranks that have not published a value. A fence does not tell. But each rank's value can
 * be asked for: the server answers for ranks that have committed it, and waits for the others. */
#ifndef NCOLL_BOOTSTRAP_PMIX_MISSING_H
#define NCOLL_BOOTSTRAP_PMIX_MISSING_H

#include <pmix.h>
#include <stdbool.h>

/* Says of n other ranks whether their value of `key` is not known after a fifth of a second.
 * Returns how many there are; -1: there is no memory. */
int ncoll__pmix_missing(const pmix_proc_t *self, const int *ranks, int n, const char *key,
                        bool *missing);

#endif
