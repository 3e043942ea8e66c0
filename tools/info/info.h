/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ncoll-info knows, each section as a JSON value: the same for people (print.c) and programs.
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

/* What runs for calls on forked ranks, or on those that a launcher made. */
struct info_choices_wish {
    int ranks;             /* to fork; 0: 4, unless they are there */
    const char *transport; /* NULL: as the library chooses */
    ncoll_type type;
    unsigned collectives; /* bits 1u << enum collective; 0: all */
    bool json;
};
/* Prints them; returns the exit status. */
int info_choices(struct info_choices_wish *wish);

/* A section for people: an object as "key: value" lines, an array of objects as a table. Keys lose
 * their underscores. 0, or -1 if it could not be written. */
int info_print(const char *title, const json_t *section, FILE *out);

#endif
