/* SPDX-License-Identifier: BSD-3-Clause */
/* The tuning table as rules that a person can change: NCOLL_RULES with them, and without the table,
 * makes the same choices. */
#ifndef NCOLL_LIB_RULES_TABLE_H
#define NCOLL_LIB_RULES_TABLE_H

#include "lib/choose/rules.h"
#include "lib/choose/tune_table.h"

/* Takes a line of a file of rules, without its end, and the key of the section that it is of. */
typedef void rule_line(void *arg, const struct tune_key *key, const char *text);

/* Hands each entry for this machine and version, and for groups of so many ranks (0: any), to the
 * function; entries that go on with the same choice are one rule. Returns the number of sections
 * with entries that are for other machines or versions. */
unsigned ncoll__rules_of_table(const struct tune_table *table, uint64_t ranks, rule_line *each,
                               void *arg);

/* Does the same with a file; *left_out gets the number of sections. Returns false, and why, if the
 * file cannot be read. */
bool ncoll__rules_of_file(const char *path, uint64_t ranks, rule_line *each, void *arg,
                          unsigned *left_out, char why[TUNE_WHY]);

#endif
