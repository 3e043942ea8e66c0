/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON of what may hold any bytes, of files of the system, and into files.
 */
#ifndef NCOLL_TOOLS_JSON_H
#define NCOLL_TOOLS_JSON_H

#include <jansson.h>
#include <stdio.h>

/* Arguments and the environment may hold any bytes, JSON only UTF-8: bytes beyond ASCII become '?'
 * if it is not. */
json_t *json_text(const char *bytes);

/* The first line of a file; or what stands behind "key:" in the first line that begins with it.
 * Null if there is none, or it is empty. */
json_t *json_line_of(const char *file, const char *key);

/* Writes by `dump`, which returns 0, or -1 with a reason in errno, into a file that appears whole or
 * not at all, or to standard output for "-". 0, or -1, and says why. */
int json_write(const char *file, int (*dump)(const void *what, FILE *out), const void *what);
/* A dump for json_write(): of a json_t. */
int json_dump(const void *tree, FILE *out);

#endif
