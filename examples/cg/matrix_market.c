/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads Matrix Market files. Memory grows with the entries that have been read, and not with the
 * number that the file announces, which may be wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "matrix.h"

#define BLANKS      " \t\r"
#define INTEGER_MAX (INT64_C(1) << 53) /* a double holds all integers up to this one exactly */
#define ROWS_MAX    INT32_MAX
/* The format allows 1024 characters. Longer lines are accepted, but not lines without end. */
#define LINE_LONGEST 65536

struct entry {
    int64_t row, column; /* from 0 */
    double value;
    int64_t line;
};

struct reader {
    FILE *in;
    const char *name;
    char *line;     /* [LINE_LONGEST + 1] the latest line, without its end */
    int64_t number; /* of that line, from 1 */
    bool whole;     /* values are integers */
    bool symmetric; /* only the lower triangle is in the file */
    int64_t n, announced;
    struct entry *entries;
    int64_t n_entries, n_room;
    char *error;
    size_t size;
};

__attribute__((format(printf, 3, 4))) static bool wrong(struct reader *r, int64_t line,
                                                        const char *format, ...)
{
    int used = snprintf(r->error, r->size, "%s:%" PRId64 ": ", r->name, line);
    va_list list;

    va_start(list, format);
    if (used >= 0 && (size_t)used < r->size)
        vsnprintf(r->error + used, r->size - (size_t)used, format, list);
    va_end(list);
    return false;
}

static bool no_memory(struct reader *r)
{
    return wrong(r, r->number, "out of memory");
}

/* Reads the next line into r->line. Sets *end if there is none. Returns false if it cannot be
 * read. */
static bool next_line(struct reader *r, bool *end)
{
    size_t len = 0;
    int c;

    errno = 0;
    while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
        if (c == '\0')
            return wrong(r, r->number + 1, "a byte 0: this is no text");
        if (len == LINE_LONGEST)
            return wrong(r, r->number + 1, "a line of more than %d characters", LINE_LONGEST);
        r->line[len++] = (char)c;
    }
    if (ferror(r->in))
        return wrong(r, r->number + 1, "cannot be read: %s", strerror(errno));
    *end = c == EOF && len == 0;
    r->number += !*end;
    r->line[len] = '\0';
    return true;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, BLANKS)] == '\0';
}

/* Takes the next word from *rest; "" if there is none. */
static char *word(char **rest)
{
    char *start = *rest + strspn(*rest, BLANKS), *end = start + strcspn(start, BLANKS);

    *rest = *end != '\0' ? end + 1 : end;
    *end = '\0';
    return start;
}

/* Reads an integer in low..high, in decimal digits. */
static bool integer(struct reader *r, const char *what, const char *text, int64_t low, int64_t high,
                    int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    char *end;

    if (*digits == '\0' || digits[strspn(digits, "0123456789")] != '\0')
        return wrong(r, r->number, "%s is not a whole number: '%.40s'", what, text);
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (errno != 0 || value < low || value > high)
        return wrong(r, r->number, "%s is %.40s, not in %" PRId64 "..%" PRId64, what, text, low,
                     high);
    *out = value;
    return true;
}

static bool real(struct reader *r, const char *text, double *out)
{
    char *end;
    double value = strtod(text, &end);

    /* strtod() also accepts what the format does not allow: hexadecimal digits, infinity, nan. */
    if (*text == '\0' || *end != '\0' || text[strspn(text, "+-.0123456789eE")] != '\0')
        return wrong(r, r->number, "not a number: '%.40s'", text);
    if (!isfinite(value))
        return wrong(r, r->number, "%.40s is too large for a double", text);
    *out = value;
    return true;
}

/* Reads the line %%MatrixMarket matrix coordinate real|integer general|symmetric. */
static bool read_banner(struct reader *r)
{
    bool end;

    if (!next_line(r, &end))
        return false;
    if (end)
        return wrong(r, 1, "the file is empty");
    char *rest = r->line;
    if (strcasecmp(word(&rest), "%%MatrixMarket") != 0)
        return wrong(r, 1, "not a Matrix Market file: it does not begin with %%%%MatrixMarket");
    const char *object = word(&rest), *format = word(&rest), *field = word(&rest),
               *symmetry = word(&rest);
    if (strcasecmp(object, "matrix") != 0 || strcasecmp(format, "coordinate") != 0)
        return wrong(r, 1, "'%.20s %.20s' is not supported: only 'matrix coordinate' is", object,
                     format);
    r->whole = strcasecmp(field, "integer") == 0;
    if (!r->whole && strcasecmp(field, "real") != 0)
        return wrong(r, 1, "field '%.20s' is not supported: only real and integer are", field);
    r->symmetric = strcasecmp(symmetry, "symmetric") == 0;
    if (!r->symmetric && strcasecmp(symmetry, "general") != 0)
        return wrong(r, 1, "symmetry '%.20s' is not supported: only general and symmetric are",
                     symmetry);
    return is_blank(rest) ? true : wrong(r, 1, "more words than belong here: '%.40s'", rest);
}

/* Reads the numbers of rows, columns and entries, which follow the comments. */
static bool read_size(struct reader *r)
{
    int64_t columns;
    bool end;

    do {
        if (!next_line(r, &end))
            return false;
        if (end)
            return wrong(r, r->number + 1, "ends before the line of rows, columns and entries");
    } while (r->line[0] == '%' || is_blank(r->line));
    char *rest = r->line;
    if (!integer(r, "the number of rows", word(&rest), 1, ROWS_MAX, &r->n) ||
        !integer(r, "the number of columns", word(&rest), 1, ROWS_MAX, &columns) ||
        !integer(r, "the number of entries", word(&rest), 0, INT64_MAX, &r->announced))
        return false;
    if (!is_blank(rest))
        return wrong(r, r->number, "more than rows, columns and entries: '%.40s'", rest);
    if (columns != r->n)
        return wrong(r, r->number, "not square: %" PRId64 " rows, %" PRId64 " columns", r->n,
                     columns);
    if (r->announced < r->n)
        return wrong(r, r->number,
                     "%" PRId64 " entries are too few for %" PRId64
                     " rows: the diagonal has to be positive",
                     r->announced, r->n);
    return true;
}

static bool add(struct reader *r, struct entry entry)
{
    if (r->n_entries == r->n_room) {
        int64_t room = r->n_room > 0 ? 2 * r->n_room : 1024;
        struct entry *more = realloc(r->entries, (size_t)room * sizeof *more);
        if (more == NULL)
            return no_memory(r);
        r->entries = more;
        r->n_room = room;
    }
    r->entries[r->n_entries++] = entry;
    return true;
}

static bool read_entry(struct reader *r)
{
    struct entry e = {.line = r->number};
    int64_t value = 0;
    char *rest = r->line;

    if (!integer(r, "the row", word(&rest), 1, r->n, &e.row) ||
        !integer(r, "the column", word(&rest), 1, r->n, &e.column))
        return false;
    const char *text = word(&rest);
    if (r->whole ? !integer(r, "the value", text, -INTEGER_MAX, INTEGER_MAX, &value)
                 : !real(r, text, &e.value))
        return false;
    if (r->whole)
        e.value = (double)value;
    if (!is_blank(rest))
        return wrong(r, r->number, "more than row, column and value: '%.40s'", rest);
    e.row--;
    e.column--;
    if (r->symmetric && e.column > e.row)
        return wrong(r, r->number, "above the diagonal, in a file of the lower triangle only");
    if (!add(r, e))
        return false;
    if (!r->symmetric || e.row == e.column)
        return true;
    return add(r, (struct entry){e.column, e.row, e.value, e.line});
}

static bool read_entries(struct reader *r)
{
    bool end;

    for (int64_t i = 0; i < r->announced; i++) {
        do {
            if (!next_line(r, &end))
                return false;
            if (end)
                return wrong(r, r->number + 1, "ends after %" PRId64 " of the %" PRId64 " entries",
                             i, r->announced);
        } while (is_blank(r->line));
        if (!read_entry(r))
            return false;
    }
    for (;;) {
        if (!next_line(r, &end))
            return false;
        if (end)
            return true;
        if (!is_blank(r->line))
            return wrong(r, r->number, "more than the %" PRId64 " entries announced", r->announced);
    }
}

static int by_place(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static const struct entry *find(const struct reader *r, int64_t row, int64_t column)
{
    int64_t low = 0, high = r->n_entries;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        const struct entry *e = &r->entries[middle];
        if (e->row < row || (e->row == row && e->column < column))
            low = middle + 1;
        else
            high = middle;
    }
    const struct entry *e = &r->entries[low];
    return low < r->n_entries && e->row == row && e->column == column ? e : NULL;
}

/* True if the sorted entries are a matrix for which conjugate gradients can be used. */
static bool check(struct reader *r)
{
    int64_t diagonal = 0; /* number of rows whose diagonal has been seen */

    for (int64_t i = 0; i < r->n_entries; i++) {
        const struct entry *e = &r->entries[i];
        if (i > 0 && e->row == e[-1].row && e->column == e[-1].column)
            return wrong(r, e->line,
                         "entry (%" PRId64 ", %" PRId64 ") is in line %" PRId64 " already",
                         e->row + 1, e->column + 1, e[-1].line);
        if (e->row == e->column && e->value > 0)
            diagonal++;
        if (e->row == e->column && e->value <= 0)
            return wrong(r, e->line, "not positive definite: %g on the diagonal", e->value);
        const struct entry *other = r->symmetric ? e : find(r, e->column, e->row);
        if (other == NULL)
            return wrong(r, e->line, "not symmetric: there is no entry (%" PRId64 ", %" PRId64 ")",
                         e->column + 1, e->row + 1);
        if (other->value != e->value)
            return wrong(r, e->line,
                         "not symmetric: %.17g here, %.17g in line %" PRId64 " on the other side",
                         e->value, other->value, other->line);
    }
    if (diagonal < r->n)
        return wrong(r, r->number, "not positive definite: %" PRId64 " zeros on the diagonal",
                     r->n - diagonal);
    return true;
}

static bool compress(struct reader *r, struct matrix *out)
{
    if (!matrix_make(r->n, 0, r->n, r->n_entries, out))
        return no_memory(r);
    for (int64_t i = 0; i < r->n_entries; i++) {
        out->starts[r->entries[i].row + 1]++;
        out->columns[i] = r->entries[i].column;
        out->values[i] = r->entries[i].value;
    }
    for (int64_t row = 0; row < r->n; row++)
        out->starts[row + 1] += out->starts[row];
    return true;
}

bool matrix_market_read(FILE *in, const char *name, struct matrix *out, char *error, size_t size)
{
    struct reader r = {.in = in, .name = name, .error = error, .size = size};

    r.line = malloc(LINE_LONGEST + 1);
    bool ok = r.line != NULL ? read_banner(&r) && read_size(&r) && read_entries(&r) : no_memory(&r);
    if (ok) {
        qsort(r.entries, (size_t)r.n_entries, sizeof *r.entries, by_place);
        ok = check(&r) && compress(&r, out);
    }
    free(r.entries);
    free(r.line);
    return ok;
}
