/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrices: read from a Matrix Market file, or made.
 */
#ifndef NCOLL_EXAMPLES_CG_MATRIX_H
#define NCOLL_EXAMPLES_CG_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Some rows of a square matrix, row by row (compressed sparse rows). Numbers count from 0. */
struct matrix {
    int64_t n;        /* rows, and columns, of the whole */
    int64_t first;    /* the first row that is here */
    int64_t rows;     /* rows that are here */
    int64_t *starts;  /* rows + 1: where each begins in columns[] and values[] */
    int64_t *columns; /* ascending within a row */
    double *values;
};

/* Memory for rows whose starts[rows] is `nonzeros`; false: there is none. */
bool matrix_make(int64_t n, int64_t first, int64_t rows, int64_t nonzeros, struct matrix *out);
void matrix_free(struct matrix *m);

static inline int64_t matrix_nonzeros(const struct matrix *m)
{
    return m->starts[m->rows];
}

/*
 * Reads a matrix that conjugate gradients can be used for: coordinate, real or integer, general or
 * symmetric; square, symmetric by its values, with a positive diagonal. `name` is what the file is
 * called in errors. false: error says "NAME:LINE: what is wrong", and *out is not set. Source of
 * the format: Boisvert, Pozo and Remington, NISTIR 5935, 1996.
 */
bool matrix_market_read(FILE *in, const char *name, struct matrix *out, char *error, size_t size);

/* Points of a grid in three dimensions. */
struct grid {
    int64_t x, y, z;
};

/* Most points that a grid may have. */
#define GRID_MAX (INT64_C(1) << 40)

/*
 * The Laplace operator on a grid, with zeros around it: 6 on the diagonal, -1 for each neighbour in
 * a direction. Row (k y + j) x + i is point (i, j, k).
 */
int64_t poisson_rows(const struct grid *grid);
int64_t poisson_nonzeros(const struct grid *grid);
int64_t poisson_length(const struct grid *grid, int64_t row); /* nonzeros of the row */

/* Rows first .. first + rows - 1 of it. false: no memory. */
bool poisson_make(const struct grid *grid, int64_t first, int64_t rows, struct matrix *out);

/* All of it as a Matrix Market file: coordinate, integer, symmetric. false: see errno. */
bool poisson_write(const struct grid *grid, FILE *out);

#endif
