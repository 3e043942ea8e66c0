/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the tuning table as rules that a person can change. If NCOLL_RULES names a file with these
 * rules, ncoll makes the same choices without the table. */
#ifndef NCOLL_LIB_RULES_TABLE_H
#define NCOLL_LIB_RULES_TABLE_H

#include "lib/choose/rules.h"
#include "lib/choose/tune_table.h"

/* A function that receives a rule as a line of text without its newline, and the key of the section
 * that the rule comes from. */
typedef void rule_line(void *arg, const struct tune_key *key, const char *text);

/* Calls `each` with the rules of all sections for this machine, this version and groups of `ranks`
 * ranks (0: any number). Entries for adjoining sizes with the same choice become one rule. Returns
 * the number of sections, not counting empty ones, that are left out because they are for other
 * machines or versions. */
unsigned ncoll__rules_of_table(const struct tune_table *table, uint64_t ranks, rule_line *each,
                               void *arg);

/* Does the same for the table in a file, and sets *left_out to the number of sections left out.
 * Returns false, and says why, if the file cannot be read. */
bool ncoll__rules_of_file(const char *path, uint64_t ranks, rule_line *each, void *arg,
                          unsigned *left_out, char why[TUNE_WHY]);

#endif
