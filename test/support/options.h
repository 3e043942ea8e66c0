/* SPDX-License-Identifier: BSD-3-Clause */
/* Values on the command lines of test programs. */
#ifndef NCOLL_TEST_OPTIONS_H
#define NCOLL_TEST_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

bool option_number(const char *text, uint64_t *value);

/* "2,5-7": sets wanted[2], [5], [6] and [7], and clears the rest of 1..max. */
bool option_ranks(const char *list, unsigned max, bool wanted[]);

#endif
