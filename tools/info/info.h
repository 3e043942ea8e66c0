/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ncoll-info knows, each section as a JSON value: the same for people (print.c) and programs.
 */
#ifndef NCOLL_TOOLS_INFO_INFO_H
#define NCOLL_TOOLS_INFO_INFO_H

#include <jansson.h>
#include <stdio.h>

json_t *info_build(void);
json_t *info_limits(void);
json_t *info_topology(void);
json_t *info_settings(void);
json_t *info_algorithms(void);

/* A section for people: an object as "key: value" lines, an array of objects as a table. Keys lose
 * their underscores. 0, or -1 if it could not be written. */
int info_print(const char *title, const json_t *section, FILE *out);

#endif
