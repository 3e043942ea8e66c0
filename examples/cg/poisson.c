/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "matrix.h"

#define NEIGHBOURS 7 /* including the point itself */

int64_t poisson_rows(const struct grid *g)
{
    return g->x * g->y * g->z;
}

int64_t poisson_nonzeros(const struct grid *g)
{
    int64_t pairs = (g->x - 1) * g->y * g->z + g->x * (g->y - 1) * g->z + g->x * g->y * (g->z - 1);

    return poisson_rows(g) + 2 * pairs;
}

/* Writes the columns of a row in ascending order. Returns their number. */
static int columns_of(const struct grid *g, int64_t row, int64_t columns[NEIGHBOURS])
{
    int64_t i = row % g->x, j = row / g->x % g->y, k = row / g->x / g->y;
    int n = 0;

    if (k > 0)
        columns[n++] = row - g->x * g->y;
    if (j > 0)
        columns[n++] = row - g->x;
    if (i > 0)
        columns[n++] = row - 1;
    columns[n++] = row;
    if (i + 1 < g->x)
        columns[n++] = row + 1;
    if (j + 1 < g->y)
        columns[n++] = row + g->x;
    if (k + 1 < g->z)
        columns[n++] = row + g->x * g->y;
    return n;
}

static int value_at(int64_t row, int64_t column)
{
    return row == column ? 6 : -1;
}

int64_t poisson_length(const struct grid *g, int64_t row)
{
    int64_t columns[NEIGHBOURS];

    return columns_of(g, row, columns);
}

bool poisson_make(const struct grid *g, int64_t first, int64_t rows, struct matrix *out)
{
    int64_t columns[NEIGHBOURS], nonzeros = 0;

    for (int64_t row = first; row < first + rows; row++)
        nonzeros += poisson_length(g, row);
    if (!matrix_make(poisson_rows(g), first, rows, nonzeros, out))
        return false;
    int64_t at = 0;
    for (int64_t row = 0; row < rows; row++) {
        int n = columns_of(g, first + row, columns);
        for (int c = 0; c < n; c++, at++) {
            out->columns[at] = columns[c];
            out->values[at] = value_at(first + row, columns[c]);
        }
        out->starts[row + 1] = at;
    }
    return true;
}

bool poisson_write(const struct grid *g, FILE *out)
{
    int64_t rows = poisson_rows(g), columns[NEIGHBOURS];

    /* A symmetric file has the entries of the lower triangle only. */
    fprintf(out,
            "%%%%MatrixMarket matrix coordinate integer symmetric\n"
            "%% Laplace operator on a grid of %" PRId64 " x %" PRId64 " x %" PRId64 " points\n"
            "%" PRId64 " %" PRId64 " %" PRId64 "\n",
            g->x, g->y, g->z, rows, rows, rows + (poisson_nonzeros(g) - rows) / 2);
    for (int64_t row = 0; row < rows && !ferror(out); row++) {
        int n = columns_of(g, row, columns);
        for (int c = 0; c < n && columns[c] <= row; c++)
            fprintf(out, "%" PRId64 " %" PRId64 " %d\n", row + 1, columns[c] + 1,
                    value_at(row, columns[c]));
    }
    return fflush(out) == 0 && !ferror(out);
}
