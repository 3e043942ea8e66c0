/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sections of ncoll-info. Each is a JSON value, which is the source of the text for people
 * (print.c) as well as of the JSON for programs.
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
json_t *info_waiting(void);
json_t *info_settings(void);
/* The rules that the environment names; an object with "error" if they are wrong. */
json_t *info_rules(void);
json_t *info_algorithms(void);

/* The options of --choices, which asks for the choices on forked ranks, or on those of a launcher. */
struct info_choices_wish {
    int ranks;             /* number of ranks to fork; 0: 4, or those that a launcher has started */
    const char *transport; /* NULL: as the library chooses */
    ncoll_type type;
    unsigned collectives; /* bits 1u << enum collective; 0: all */
    bool json, wide;      /* wide: all columns */
    bool checks;          /* --selftest: results, too */
};
/* Runs the function on the ranks of a job: that of the launcher, or as many forked ones as were asked for,
 * else `ranks`. Returns the exit status. */
int info_in_job(struct info_choices_wish *wish, int ranks, ncoll_rank_main body);
/* Prints the choices. Returns the exit status. */
int info_choices(struct info_choices_wish *wish);
/* Prints which nodes reach each other, and how fast. Returns the exit status. */
int info_fabric(struct info_choices_wish *wish);

/* Prints a section for people: an object as "key = value" lines, an array of objects as one block
 * for each. Settings that are not at their default come first. Returns 0, or -1 if it could not be
 * written. */
int info_print(const char *title, const json_t *section, FILE *out);
/* Prints members of rows as a table. columns: their names, ended by NULL. The last column may be
 * cut at `width` (0: never). Returns 0, or -1 if there is no memory. */
int info_print_rows(const json_t *rows, const char *const *columns, size_t width, FILE *out);

#endif
