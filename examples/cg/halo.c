/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo: elements of a vector that a rank's rows need and other ranks have.
 *
 * Each rank gets exactly these by an alltoallv. An allgatherv of the whole vector would be simpler,
 * but it moves P times as much as needed by a matrix whose rows refer to nearby points: for a cube
 * of n points in slabs, a rank needs 2 n^(2/3) elements, not n. The counts never change, so the
 * request is persistent: it is checked, compared with those of other ranks, and planned only once.
 */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "cg.h"

static int ascending(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

    return a < b ? -1 : a > b;
}

static bool is_own(const struct problem *p, int64_t column)
{
    return column >= p->a.first && column < p->a.first + p->a.rows;
}

/* Lists the columns that other ranks own, each once, in ascending order, so that those of a rank
 * are contiguous. Returns NULL if there is no memory. */
static int64_t *foreign_columns(const struct problem *p, size_t *count)
{
    int64_t nonzeros = matrix_nonzeros(&p->a);
    size_t n = 0, once = 0;
    int64_t *columns = calloc((size_t)nonzeros + 1, sizeof *columns);

    if (columns == NULL)
        return NULL;
    for (int64_t i = 0; i < nonzeros; i++)
        if (!is_own(p, p->a.columns[i]))
            columns[n++] = p->a.columns[i];
    qsort(columns, n, sizeof *columns, ascending);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || columns[i] != columns[i - 1])
            columns[once++] = columns[i];
    *count = once;
    return columns;
}

/* Computes the places of the elements of all columns: own ones first, then others in the order of
 * `foreign`. NCOLL_ERR_UNSUPPORTED: there are too many for one rank. */
static int localise(struct problem *p, const int64_t *foreign, size_t n)
{
    int64_t nonzeros = matrix_nonzeros(&p->a);

    if (p->a.rows + (int64_t)n > INT32_MAX)
        return NCOLL_ERR_UNSUPPORTED;
    p->columns = calloc((size_t)nonzeros + 1, sizeof *p->columns);
    if (p->columns == NULL)
        return NCOLL_ERR_MEMORY;
    for (int64_t i = 0; i < nonzeros; i++) {
        int64_t column = p->a.columns[i];
        if (is_own(p, column)) {
            p->columns[i] = (int32_t)(column - p->a.first);
        } else {
            const int64_t *at = bsearch(&column, foreign, n, sizeof column, ascending);
            p->columns[i] = (int32_t)(p->a.rows + (at - foreign));
        }
    }
    return NCOLL_OK;
}

static size_t set_displs(const size_t *counts, size_t *displs, int ranks)
{
    size_t sum = 0;

    for (int r = 0; r < ranks; r++) {
        displs[r] = sum;
        sum += counts[r];
    }
    return sum;
}

/* Finds how many elements this rank gets from each other rank, and sends to each. */
static int agree_on_counts(struct problem *p, const int64_t *foreign, size_t n)
{
    struct halo *h = &p->halo;
    size_t at = 0;

    for (int r = 0; r < p->ranks; r++) {
        int64_t end = p->bounds[first_block(p, r + 1)];
        for (; at < n && foreign[at] < end; at++)
            h->recv_counts[r]++;
    }
    int status =
        ncoll_alltoall(p->world, h->recv_counts, h->send_counts, 1, NCOLL_UINT64, NCOLL_BLOCK);
    h->n_recv = set_displs(h->recv_counts, h->recv_displs, p->ranks);
    h->n_send = set_displs(h->send_counts, h->send_displs, p->ranks);
    return status;
}

/* Each rank tells the others the elements that it needs from them. */
static int agree_on_rows(struct problem *p, const int64_t *foreign)
{
    struct halo *h = &p->halo;
    int64_t *asked = calloc(h->n_send + 1, sizeof *asked);

    h->send_rows = calloc(h->n_send + 1, sizeof *h->send_rows);
    if (asked == NULL || h->send_rows == NULL) {
        free(asked);
        return NCOLL_ERR_MEMORY;
    }
    int status = ncoll_alltoallv(p->world, foreign, h->recv_counts, h->recv_displs, asked,
                                 h->send_counts, h->send_displs, NCOLL_INT64, NCOLL_BLOCK);
    for (size_t i = 0; i < h->n_send && status == NCOLL_OK; i++)
        h->send_rows[i] = (int32_t)(asked[i] - p->a.first);
    free(asked);
    return status;
}

/* Allocates the exchanged vectors with ncoll_alloc(), so that long messages are written directly
 * behind a rank's own elements. */
static int make_buffers(struct problem *p)
{
    struct halo *h = &p->halo;
    size_t own = (size_t)p->a.rows;
    void *memory;
    int status = ncoll_alloc(p->ctx, (own + h->n_recv + 1) * sizeof(double), &memory);

    if (status != NCOLL_OK)
        return status;
    p->direction = memory;
    h->recv = p->direction + own;
    status = ncoll_alloc(p->ctx, (h->n_send + 1) * sizeof(double), &memory);
    if (status == NCOLL_OK)
        h->send = memory;
    return status;
}

int halo_make(struct problem *p)
{
    struct halo *h = &p->halo;
    size_t n = 0, ranks = (size_t)p->ranks;
    int64_t *foreign = foreign_columns(p, &n);
    int status = NCOLL_ERR_MEMORY;

    h->send_counts = calloc(4 * ranks, sizeof *h->send_counts);
    if (foreign != NULL && h->send_counts != NULL) {
        h->send_displs = h->send_counts + ranks;
        h->recv_counts = h->send_displs + ranks;
        h->recv_displs = h->recv_counts + ranks;
        status = localise(p, foreign, n);
    }
    if (status == NCOLL_OK)
        status = agree_on_counts(p, foreign, n);
    if (status == NCOLL_OK)
        status = agree_on_rows(p, foreign);
    if (status == NCOLL_OK)
        status = make_buffers(p);
    free(foreign);
    return failure_of_call(p->ctx, status);
}
