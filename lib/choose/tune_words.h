/* SPDX-License-Identifier: BSD-3-Clause */
/* The words that both the reader and the writer of tuning tables use. */
#ifndef NCOLL_LIB_TUNE_WORDS_H
#define NCOLL_LIB_TUNE_WORDS_H

#include <stddef.h>

#define TUNE_HEAD      "ncoll tuning "
#define TUNE_SAME_BITS "/same-bits"

#define TUNE_SUM_LINE 21 /* bytes: "sum ", 16 digits, the line's end */

/* Writes the last line of a table, which has the checksum of the text before it, and a terminating
 * 0. */
void ncoll__tune_sum(const char *text, size_t len, char line[TUNE_SUM_LINE + 1]);

#endif
