/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names, for input and output, of values that the library has as numbers.
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
extern const struct name names_of_interference[]; /* options.in_bursts */
extern const struct name names_of_companions[];   /* MPIs first */

/* Added to an enum collective: its variant in which each block has its own count. */
#define WITH_COUNTS 16
#define CODES       (2 * WITH_COUNTS)
#define NAME_ALL    (CODES - 1) /* "all": every entry before it in a table */

/* Returns the code of a name; -1: it is not in the table. */
int name_code(const struct name *table, const char *text);

/* Returns the name of a code; "?": it is not in the table. */
const char *name_text(const struct name *table, int code);

/* Writes the names of collectives, as in "bcast, reduce", to text. collectives: bits 1u << enum
 * collective. Returns text. */
const char *collectives_text(unsigned collectives, char *text, size_t size);

/* Appends a name to a list, which turns "int8" into "int8, int16". Does nothing if there is no
 * room. */
void name_append(char *list, size_t size, const char *name);

/* Returns the number in a text such as "64K"; the suffixes K, M and G are powers of 1024. 0: it is
 * not such a number, or too large. */
size_t parse_bytes(const char *text);

#endif
