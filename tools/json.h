/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes JSON from arbitrary bytes and from files of the system, and writes JSON into files.
 */
#ifndef NCOLL_TOOLS_JSON_H
#define NCOLL_TOOLS_JSON_H

#include <jansson.h>
#include <stdio.h>

/* Returns a text as JSON. Arguments and the environment may hold any bytes, but JSON only UTF-8. If
 * the text is not UTF-8, its bytes beyond ASCII become '?'. */
json_t *json_text(const char *bytes);

/* Returns null for 0 and less, which mean not known. */
json_t *json_real_or_null(double value);

/* Adds the members of `more`, which it releases. */
void json_add(json_t *out, json_t *more);

/* Returns the first line of a file. With a key it returns the text behind "key:" in the first line
 * that begins with this. Null if there is no such line, or if it is empty. */
json_t *json_line_of(const char *file, const char *key);

/* Writes a file by calling `dump`, which returns 0, or -1 with a reason in errno. The file appears
 * whole or not at all; "-" is standard output. Returns 0, or -1 after printing the reason. */
int json_write(const char *file, int (*dump)(const void *what, FILE *out), const void *what);
/* Ends the program with an error if the file cannot be written: a long run should not end so. Does
 * nothing if the name is NULL. */
void json_require(const char *file);
/* The `dump` of json_write() for a json_t. */
int json_dump(const void *tree, FILE *out);

#endif
