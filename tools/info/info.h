/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This header gives all that ncoll-info knows, each section as a JSON value: the same for people
 * (print.c) and programs.
 */
#ifndef NCOLL_TOOLS_INFO_INFO_H
#define NCOLL_TOOLS_INFO_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "ncoll.h"

json_t *info_build(void);
json_t *info_limits(void);
json_t *info_topology(void);
json_t *info_settings(void);
json_t *info_algorithms(void);

/* Asks for the choices on forked ranks, or on those that a launcher made. */
struct info_choices_wish {
    int ranks;             /* to fork; 0: 4, unless they are there */
    const char *transport; /* NULL: as the library chooses */
    ncoll_type type;
    unsigned collectives; /* bits 1u << enum collective; 0: all */
    bool json, wide;      /* wide: all columns */
};
/* Prints them; returns the exit status. */
int info_choices(struct info_choices_wish *wish);

/* A section for people: an object as "key = value" lines, an array of objects as a block for each;
 * of settings those that are not at their default first. 0, or -1 if it could not be written. */
int info_print(const char *title, const json_t *section, FILE *out);
/* Members of rows as a table, named up to NULL; the last column may be cut at `width` (0: never).
 * 0, or -1: no memory. */
int info_print_rows(const json_t *rows, const char *const *columns, size_t width, FILE *out);

#endif
