/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define GAP 2 /* blanks between columns */

void table_column(struct table *t, bool right, const char *title)
{
    if (t->n_columns == TABLE_COLUMNS) {
        t->failed = true;
        return;
    }
    t->right[t->n_columns] = right;
    t->titles[t->n_columns] = strdup(title);
    t->failed |= t->titles[t->n_columns++] == NULL;
}

static void add(struct table *t, char *text)
{
    if (t->n_cells == t->room) {
        size_t room = 2 * t->room + 64;
        char **more = realloc(t->cells, room * sizeof *more);
        if (more == NULL) {
            t->failed = true;
            free(text);
            return;
        }
        t->cells = more;
        t->room = room;
    }
    t->cells[t->n_cells++] = text;
}

void table_cell(struct table *t, const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    t->failed |= text == NULL;
    if (!t->failed)
        add(t, text);
    else
        free(text);
}

void table_heading(struct table *t, const char *text)
{
    table_cell(t, "%s", text);
    for (unsigned c = 1; c < t->n_columns && !t->failed; c++)
        add(t, NULL);
}

void print_wrapped(const char *text, size_t at, size_t indent, FILE *out)
{
    for (bool first = true; *text != '\0'; first = false) {
        size_t word = strcspn(text, " ");
        bool fits = at + !first + word <= TABLE_WIDTH;
        fprintf(out, fits || first ? "%*s" : "\n%*s", first ? 0 : fits ? 1 : (int)indent, "");
        at = (fits || first ? at + !first : indent) + word;
        fprintf(out, "%.*s", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', out);
}

static bool is_heading(const struct table *t, size_t row)
{
    return t->n_columns > 1 && t->cells[row * t->n_columns + 1] == NULL;
}

static size_t column_width(const struct table *t, unsigned column)
{
    size_t width = strlen(t->titles[column]);

    for (size_t row = 0; row < t->n_cells / t->n_columns; row++) {
        const char *cell = t->cells[row * t->n_columns + column];
        if (cell != NULL && !is_heading(t, row) && strlen(cell) > width)
            width = strlen(cell);
    }
    return width;
}

size_t table_width(const struct table *t)
{
    size_t width = 0;

    for (unsigned c = 0; c + 1 < t->n_columns; c++)
        width += column_width(t, c) + GAP;
    return width;
}

/* Prints a row, without blanks at the end of the line. */
static void print_row(const struct table *t, char *const *row, const size_t *widths, FILE *out)
{
    for (unsigned c = 0; c < t->n_columns; c++) {
        bool is_last = c + 1 == t->n_columns;
        if (t->right[c])
            fprintf(out, "%*s", (int)widths[c], row[c]);
        else if (!is_last)
            fprintf(out, "%-*s", (int)widths[c], row[c]);
        else if (strlen(row[c]) > widths[c] && widths[c] > 2)
            fprintf(out, "%.*s..", (int)widths[c] - 2, row[c]);
        else
            fputs(row[c], out);
        fprintf(out, is_last ? "\n" : "%*s", GAP, "");
    }
}

int table_print(struct table *t, unsigned indent, size_t width, FILE *out)
{
    size_t widths[TABLE_COLUMNS], used = indent + table_width(t), last = t->n_columns - 1;
    int status = t->failed ? -1 : 0;

    for (unsigned c = 0; status == 0 && c < t->n_columns; c++)
        widths[c] = column_width(t, c);
    if (status == 0 && width > used && widths[last] > width - used)
        widths[last] = width - used;
    if (status == 0) {
        fprintf(out, "%*s", (int)indent, "");
        print_row(t, t->titles, widths, out);
    }
    for (size_t row = 0; status == 0 && row < t->n_cells / t->n_columns; row++) {
        char *const *cells = &t->cells[row * t->n_columns];
        fprintf(out, "%*s", (int)indent, "");
        if (is_heading(t, row))
            fprintf(out, "%s\n", cells[0]);
        else
            print_row(t, cells, widths, out);
    }
    for (unsigned c = 0; c < t->n_columns; c++)
        free(t->titles[c]);
    for (size_t i = 0; i < t->n_cells; i++)
        free(t->cells[i]);
    free(t->cells);
    *t = (struct table){0};
    return status;
}

/* Returns the decimals that give three significant digits: 0.148, 1.48, 14.8, 148. */
static int decimals_of(double value)
{
    int decimals = 2 - (int)floor(log10(value * 1.0005));

    return !(value > 0) ? 0 : decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

/* Returns the unit for a value: 999.5 and more of one unit is written in the next. */
static unsigned unit_of(double value, double step, unsigned units)
{
    unsigned unit = 0;

    for (; unit + 1 < units && value >= step * 0.9995; value /= step)
        unit++;
    return unit;
}

static const char *const time_units[] = {"us", "ms", "s"};

const char *time_text(double us, char text[FIGURE_TEXT])
{
    unsigned unit = unit_of(us, 1000, 3);
    double value = us / pow(1000, unit);

    snprintf(text, FIGURE_TEXT, "%.*f %s", decimals_of(value), value, time_units[unit]);
    return text;
}

const char *interval_text(double us, double low_us, double high_us, char text[FIGURE_TEXT])
{
    double scale = pow(1000, unit_of(us, 1000, 3));
    int decimals = decimals_of(us / scale);

    snprintf(text, FIGURE_TEXT, "%.*f-%.*f", decimals, low_us / scale, decimals, high_us / scale);
    return text;
}

const char *size_text(size_t bytes, char text[FIGURE_TEXT])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    unsigned unit = unit_of((double)bytes, 1024, 5);
    double value = (double)bytes / pow(1024, unit);

    snprintf(text, FIGURE_TEXT, "%.*f %s", value == floor(value) ? 0 : decimals_of(value), value,
             units[unit]);
    return text;
}
