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
extern const struct name names_of_starts[];
extern const struct name names_of_skews[];
extern const struct name names_of_companions[]; /* MPIs first */

/* Added to an enum collective: the one in which blocks have counts of their own. */
#define WITH_COUNTS 16
#define CODES       (2 * WITH_COUNTS)
#define NAME_ALL    (CODES - 1) /* no code of a collective: "all" of those before it in a table */

/* The code of a name; -1 if the table has none. */
int name_code(const struct name *table, const char *text);

/* The name of a code; "?" if the table has none. */
const char *name_text(const struct name *table, int code);

/* "bcast, reduce", of bits 1u << enum collective, into text. Returns text. */
const char *collectives_text(unsigned collectives, char *text, size_t size);

/* Makes "int8, int16" of "int8", as far as there is room. */
void name_append(char *list, size_t size, const char *name);

/* "64K" and the like; suffixes K, M, G count in 1024. 0 if it is no such number or too large. */
size_t parse_bytes(const char *text);

#endif
