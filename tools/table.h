/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables for people. Columns are as wide as their longest cell; figures have three digits and a
 * unit.
 */
#ifndef NCOLL_TOOLS_TABLE_H
#define NCOLL_TOOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS 32
#define TABLE_WIDTH   80 /* columns of a terminal */

struct table {
    char *titles[TABLE_COLUMNS];
    bool right[TABLE_COLUMNS]; /* aligned right */
    unsigned n_columns;
    char **cells; /* row after row; a heading: its text, then NULL in all other cells */
    size_t n_cells, room;
    bool failed; /* out of memory */
};

/* Adds a column. All columns come before the first row. The cells of a row are added from left to
 * right, one for each column. */
void table_column(struct table *t, bool right, const char *title);
__attribute__((format(printf, 2, 3))) void table_cell(struct table *t, const char *format, ...);
/* Adds a line of text between two rows. */
void table_heading(struct table *t, const char *text);

/* Returns the width of the table without its last column, but with the gap in front of that. */
size_t table_width(const struct table *t);
/* Prints the table with `indent` blanks before each line, and frees its memory. The last column may
 * be cut at `width` (0: never). Returns 0, or -1 if there was no memory. */
int table_print(struct table *t, unsigned indent, size_t width, FILE *out);

/* Prints a text in TABLE_WIDTH columns. The first line goes on at column `at`; further lines begin
 * at `indent`. Ends the last line. */
void print_wrapped(const char *text, size_t at, size_t indent, FILE *out);

#define FIGURE_TEXT 32

/* Writes a time such as "0.148 us" or "12.3 ms". Returns text. */
const char *time_text(double us, char text[FIGURE_TEXT]);
/* Writes an interval such as "0.145-0.152", with the unit and the digits of time_text(us). Returns
 * text. */
const char *interval_text(double us, double low_us, double high_us, char text[FIGURE_TEXT]);
/* Writes a size such as "512 B", "64 KiB" or "1.5 MiB". Returns text. */
const char *size_text(size_t bytes, char text[FIGURE_TEXT]);

#endif
