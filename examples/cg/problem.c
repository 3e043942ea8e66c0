/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "cg.h"

#define ROOT 0

void cut_blocks(int64_t n, int64_t nonzeros, int64_t (*length)(const void *arg, int64_t row),
                const void *arg, unsigned blocks, int64_t *bounds)
{
    int64_t row = 0, before = 0; /* row, and the nonzeros of the rows before it */

    for (unsigned b = 0; b < blocks; b++) {
        /* b / blocks of all nonzeros; nonzeros * b might overflow. */
        int64_t share = nonzeros / blocks * b + nonzeros % blocks * b / blocks;
        while (row < n && before < share)
            before += length(arg, row++);
        bounds[b] = row;
    }
    bounds[blocks] = n;
}

static int64_t length_in_grid(const void *arg, int64_t row)
{
    return poisson_length(arg, row);
}

static int64_t length_in_matrix(const void *arg, int64_t row)
{
    const struct matrix *m = arg;

    return m->starts[row + 1] - m->starts[row];
}

static bool read_whole(const char *file, struct matrix *out)
{
    char error[512];
    FILE *in = fopen(file, "re");

    if (in == NULL)
        snprintf(error, sizeof error, "%s: %s", file, strerror(errno));
    bool ok = in != NULL && matrix_market_read(in, file, out, error, sizeof error);
    if (in != NULL)
        fclose(in);
    if (!ok)
        fprintf(stderr, "%s\n", error);
    return ok;
}

/* Facts of the matrix that the root sends to all ranks. */
struct outline {
    int64_t ok, n, nonzeros;
};

static struct outline outline_of(const struct cg_options *options, struct matrix *whole)
{
    if (options->file == NULL)
        return (struct outline){true, poisson_rows(&options->grid),
                                poisson_nonzeros(&options->grid)};
    if (!read_whole(options->file, whole))
        return (struct outline){false, 0, 0};
    return (struct outline){true, whole->n, matrix_nonzeros(whole)};
}

/* Computes counts and displacements of the ranks' parts of the whole matrix: in nonzeros if
 * `starts` is given, otherwise in rows. */
static void layout(const struct problem *p, const int64_t *starts, size_t *counts, size_t *displs)
{
    for (int r = 0; r < p->ranks; r++) {
        int64_t first = p->bounds[first_block(p, r)], end = p->bounds[first_block(p, r + 1)];
        displs[r] = (size_t)(starts != NULL ? starts[first] : first);
        counts[r] = (size_t)(starts != NULL ? starts[end] : end) - displs[r];
    }
}

/* Sends the rows of the whole matrix from the root to the ranks to which they belong. */
static int deal_out(struct problem *p, const struct matrix *whole)
{
    struct matrix *a = &p->a;
    size_t *counts = calloc(2 * (size_t)p->ranks, sizeof *counts), *displs = counts + p->ranks;
    int64_t first = p->bounds[first_block(p, p->rank)], n = a->n;
    int64_t rows = p->bounds[first_block(p, p->rank + 1)] - first, *starts = NULL;
    int status = NCOLL_ERR_MEMORY;

    /* All ranks get the place of each row of the whole matrix, since all have to know the counts of
     * the other two scatters. */
    if (counts == NULL || (starts = calloc((size_t)n + 1, sizeof *starts)) == NULL)
        goto out;
    if (p->rank == ROOT)
        memcpy(starts, whole->starts, ((size_t)n + 1) * sizeof *starts);
    status = ncoll_bcast(p->world, starts, (size_t)n + 1, NCOLL_INT64, ROOT, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        goto out;
    if (!matrix_make(n, first, rows, starts[first + rows] - starts[first], a)) {
        status = NCOLL_ERR_MEMORY;
        goto out;
    }
    for (int64_t row = 0; row <= rows; row++)
        a->starts[row] = starts[first + row] - starts[first];
    layout(p, starts, counts, displs);
    status = ncoll_scatterv(p->world, whole->columns, counts, displs, a->columns, NCOLL_INT64, ROOT,
                            NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_scatterv(p->world, whole->values, counts, displs, a->values, NCOLL_DOUBLE,
                                ROOT, NCOLL_BLOCK);
out:
    free(starts);
    free(counts);
    return status;
}

static int get_rows(const struct cg_options *options, struct problem *p, const struct matrix *whole)
{
    int64_t first = p->bounds[first_block(p, p->rank)];
    int64_t rows = p->bounds[first_block(p, p->rank + 1)] - first;

    if (options->file != NULL)
        return deal_out(p, whole);
    return poisson_make(&options->grid, first, rows, &p->a) ? NCOLL_OK : NCOLL_ERR_MEMORY;
}

/* Called when all ranks have the outline: agrees which rank has which rows, and gets this rank's
 * rows. */
static int distribute(const struct cg_options *options, struct problem *p,
                      const struct matrix *whole)
{
    p->bounds = calloc(p->blocks + 1, sizeof *p->bounds);
    if (p->bounds == NULL)
        return NCOLL_ERR_MEMORY;
    if (p->rank == ROOT && options->file != NULL)
        cut_blocks(p->a.n, p->nonzeros, length_in_matrix, whole, p->blocks, p->bounds);
    else if (p->rank == ROOT)
        cut_blocks(p->a.n, p->nonzeros, length_in_grid, &options->grid, p->blocks, p->bounds);
    int status = ncoll_bcast(p->world, p->bounds, p->blocks + 1, NCOLL_INT64, ROOT, NCOLL_BLOCK);
    return status == NCOLL_OK ? get_rows(options, p, whole) : status;
}

int problem_make(const struct cg_options *options, ncoll_context *ctx, struct problem *out)
{
    ncoll_group *world = ncoll_world(ctx);
    struct problem p = {
        .ctx = ctx,
        .world = world,
        .rank = ncoll_group_rank(world),
        .ranks = ncoll_group_size(world),
    };
    struct matrix whole = {0};
    struct outline outline = {0};

    if (options->blocks > 0 && options->blocks < (unsigned)p.ranks) {
        failure_say(NCOLL_ERR_ARGUMENT, "more ranks than blocks of rows: see --blocks");
        return NCOLL_ERR_ARGUMENT;
    }
    p.blocks = options->blocks > 0 ? options->blocks : (unsigned)p.ranks;
    if (p.rank == ROOT)
        outline = outline_of(options, &whole);
    int status = ncoll_bcast(world, &outline, 3, NCOLL_INT64, ROOT, NCOLL_BLOCK);
    p.a.n = outline.n;
    p.nonzeros = outline.nonzeros;
    if (status == NCOLL_OK && !outline.ok)
        status = NCOLL_ERR_ARGUMENT; /* the root has printed the reason */
    else if (status == NCOLL_OK)
        status = failure_of_call(ctx, distribute(options, &p, &whole));
    matrix_free(&whole);
    if (status == NCOLL_OK)
        status = halo_make(&p);
    if (status == NCOLL_OK)
        *out = p;
    else
        problem_free(&p);
    return status;
}

void problem_free(struct problem *p)
{
    struct halo *h = &p->halo;

    ncoll_free(p->ctx, p->direction);
    ncoll_free(p->ctx, h->send);
    free(h->send_rows);
    free(h->send_counts);
    free(p->columns);
    free(p->bounds);
    matrix_free(&p->a);
    *p = (struct problem){0};
}
