/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Standard streams that may be closed, and output that may not arrive.
 */
#ifndef NCOLL_TOOLS_OUTPUT_H
#define NCOLL_TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* At the start of main(): puts /dev/null where a standard stream is closed, so that no descriptor
 * of the library's takes its number and what is printed ends up there. Reading finds the end,
 * writing to standard output fails, messages are lost. */
void output_open(void);

/* Whether all that was printed to stdout or stderr could be written; says on stderr if not, and
 * why. */
bool output_written(FILE *out);

#endif
