/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sparse matrices, which are read from a Matrix Market file or computed.
 */
#ifndef NCOLL_EXAMPLES_CG_MATRIX_H
#define NCOLL_EXAMPLES_CG_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Some rows of a square matrix, row by row (compressed sparse rows). Numbers count from 0. */
struct matrix {
    int64_t n;        /* number of rows, and of columns, of the whole matrix */
    int64_t first;    /* the first of these rows */
    int64_t rows;     /* number of these rows */
    int64_t *starts;  /* [rows + 1] where each row begins in columns[] and values[] */
    int64_t *columns; /* ascending within a row */
    double *values;
};

/* Allocates rows with `nonzeros` nonzeros. Returns false if there is no memory. */
bool matrix_make(int64_t n, int64_t first, int64_t rows, int64_t nonzeros, struct matrix *out);
void matrix_free(struct matrix *m);

static inline int64_t matrix_nonzeros(const struct matrix *m)
{
    return m->starts[m->rows];
}

/*
 * Reads a matrix that conjugate gradients can be used for: coordinate, real or integer, general or
 * symmetric; square, symmetric by its values, with a positive diagonal. Errors call the file
 * `name`. Returns false after writing "NAME:LINE: what is wrong" to error; *out is not set then.
 * Source of the format: Boisvert, Pozo and Remington, NISTIR 5935, 1996.
 */
bool matrix_market_read(FILE *in, const char *name, struct matrix *out, char *error, size_t size);

/* Points of a grid in three dimensions. */
struct grid {
    int64_t x, y, z;
};

/* The most points of a grid. */
#define GRID_MAX (INT64_C(1) << 40)

/*
 * The Laplace operator on a grid, with zeros around it: 6 on the diagonal, and -1 for each
 * neighbour along an axis. Row (k y + j) x + i belongs to point (i, j, k). Returns the number of
 * rows.
 */
int64_t poisson_rows(const struct grid *grid);
int64_t poisson_nonzeros(const struct grid *grid);
int64_t poisson_length(const struct grid *grid, int64_t row); /* number of nonzeros of the row */

/* Makes its rows first .. first + rows - 1. Returns false if there is no memory. */
bool poisson_make(const struct grid *grid, int64_t first, int64_t rows, struct matrix *out);

/* Writes all of it as a Matrix Market file: coordinate, integer, symmetric. Returns false on
 * failure; see errno. */
bool poisson_write(const struct grid *grid, FILE *out);

#endif
