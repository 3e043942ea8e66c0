/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that users type and read, for the library's numbers.
 */
#ifndef NCOLL_TOOLS_BENCH_NAMES_H
#define NCOLL_TOOLS_BENCH_NAMES_H

#include <stddef.h>

struct name {
    const char *text;
    int code;
};

/* Tables end with a NULL text. */
extern const struct name names_of_types[];
extern const struct name names_of_ops[];
extern const struct name names_of_collectives[]; /* codes: enum collective, + WITH_COUNTS */
extern const struct name names_of_distributions[];
extern const struct name names_of_memory[];
extern const struct name names_of_mpis[];
extern const struct name names_of_companions[]; /* MPIs as well */

/* Added to an enum collective: the one in which blocks have counts of their own. */
#define WITH_COUNTS 16
#define CODES       (2 * WITH_COUNTS)

/* The code of a name; -1 if the table has none. */
int name_code(const struct name *table, const char *text);

/* The name of a code; "?" if the table has none. */
const char *name_text(const struct name *table, int code);

/* "int8, int16, ..." into text: names of codes below `end`. Returns text. */
const char *name_list(const struct name *table, int end, char *text, size_t size);

/* "64K" and the like; suffixes K, M, G count in 1024. 0 if it is no such number or too large. */
size_t parse_bytes(const char *text);

/* Decimal number in low..high; -1 if it is not. */
long parse_number(const char *text, long low, long high);

#endif
