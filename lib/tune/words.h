/* SPDX-License-Identifier: BSD-3-Clause */
/* What reader and writer of tuning tables share. */
#ifndef NCOLL_LIB_TUNE_WORDS_H
#define NCOLL_LIB_TUNE_WORDS_H

#include <stddef.h>

#define TUNE_HEAD      "ncoll tuning "
#define TUNE_SAME_BITS "/same-bits"

#define TUNE_SUM_LINE 21 /* bytes: "sum ", 16 digits, the end */

/* The last line: writes that for a text, and a 0 behind it. */
void ncoll__tune_sum(const char *text, size_t len, char line[TUNE_SUM_LINE + 1]);

#endif
