/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: collectives. See snippets.h. */
#include "snippets.h"
#include <string.h>

static void to_all(ncoll_group *group)
{
    double local = 1 + ncoll_group_rank(group), sum = 0;

    /* [ncoll_allreduce] The sum of one number of each rank, on every rank: */
    int status = ncoll_allreduce(group, &local, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && sum == 10);
}

static void from_root(ncoll_group *group)
{
    int32_t settings[3] = {0};

    /* [ncoll_bcast] Rank 0 tells the others three numbers: */
    if (ncoll_group_rank(group) == 0)
        memcpy(settings, (int32_t[]){640, 480, 60}, sizeof settings);
    int status = ncoll_bcast(group, settings, 3, NCOLL_INT32, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && settings[2] == 60);
}

static void to_root(ncoll_group *group)
{
    double residual = 1 + ncoll_group_rank(group), largest = 0;

    /* [ncoll_reduce] Rank 0 prints the largest residual of all ranks: */
    int status =
        ncoll_reduce(group, &residual, &largest, 1, NCOLL_DOUBLE, NCOLL_MAX, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK && ncoll_group_rank(group) == 0)
        printf("residual %g\n", largest);
    /* [] */
    EXPECT(status == NCOLL_OK && (ncoll_group_rank(group) != 0 || largest == RANKS));
}

static void gather(ncoll_group *group)
{
    double seconds = 0.5 * ncoll_group_rank(group), times[RANKS] = {0};

    /* [ncoll_gather] Rank 0 gets the times of all ranks; the others need no memory for them: */
    int rank = ncoll_group_rank(group);
    int status =
        ncoll_gather(group, &seconds, rank == 0 ? times : NULL, 1, NCOLL_DOUBLE, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK && rank == 0)
        for (int q = 0; q < ncoll_group_size(group); q++)
            printf("rank %d: %g s\n", q, times[q]);
    /* [] */
    EXPECT(status == NCOLL_OK && (rank != 0 || times[RANKS - 1] == 0.5 * (RANKS - 1)));
}

static void scatter(ncoll_group *group)
{
    enum { COLUMNS = 3 };
    double matrix[2 * RANKS * COLUMNS];

    for (int i = 0; i < 2 * RANKS * COLUMNS; i++)
        matrix[i] = ncoll_group_rank(group) == 0 ? i : -1;
    /* [ncoll_scatter] Each rank gets two rows of a matrix that rank 0 has: */
    double rows[2][COLUMNS];
    int status = ncoll_scatter(group, matrix, rows, sizeof rows / sizeof(double), NCOLL_DOUBLE, 0,
                               NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && rows[1][0] == (2 * ncoll_group_rank(group) + 1) * COLUMNS);
}

static void scatter_unevenly(ncoll_group *group)
{
    int32_t items[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, mine[3] = {0};
    const int32_t first[RANKS] = {0, 3, 6, 8};
    size_t counts[RANKS], total = 10;

    /* [ncoll_scatterv] Items of rank 0 are dealt out as evenly as can be: */
    size_t size = (size_t)ncoll_group_size(group);
    for (size_t q = 0; q < size; q++)
        counts[q] = total / size + (q < total % size); /* the same on all ranks */
    int status = ncoll_scatterv(group, items, counts, NULL, mine, NCOLL_INT32, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && mine[0] == first[ncoll_group_rank(group)]);
}

static void rows(ncoll_group *group)
{
    size_t counts[RANKS], total = 0;
    float mine[RANKS] = {0}, all[RANKS * (RANKS + 1) / 2];
    int rank = ncoll_group_rank(group);

    for (int i = 0; i <= rank; i++)
        mine[i] = (float)rank;
    /* [ncoll_gatherv] Rank q has q + 1 elements; rank 0 gets all of them in order: */
    for (int q = 0; q < ncoll_group_size(group); q++)
        total += counts[q] = (size_t)q + 1;
    int status = ncoll_gatherv(group, mine, all, counts, NULL, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && total == 10 && (rank != 0 || all[9] == 3));
}

static void counts_of_all(ncoll_group *group)
{
    int rank = ncoll_group_rank(group);
    size_t all[RANKS];

    /* [ncoll_allgather] Each rank tells all others how many items it has. They are sent as bytes, since
     * there is no type for size_t: */
    size_t mine = 1 + (size_t)rank; /* all[q] gets that of rank q */
    int status = ncoll_allgather(group, &mine, all, sizeof mine, NCOLL_UINT8, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && all[RANKS - 1] == RANKS);
}

static void items_of_all(ncoll_group *group)
{
    size_t mine = 1 + (size_t)ncoll_group_rank(group), counts[RANKS];
    int64_t own[RANKS] = {0}, all[RANKS * (RANKS + 1) / 2];

    for (size_t i = 0; i < mine; i++)
        own[i] = (int64_t)(10 * mine + i);
    /* [ncoll_allgatherv] Every rank gets the items of all ranks. Each has `mine` of its own, and first
     * tells the others how many these are: */
    int status = ncoll_allgather(group, &mine, counts, sizeof mine, NCOLL_UINT8, NCOLL_BLOCK);
    if (status == NCOLL_OK) /* all: the items of rank 0, then those of rank 1, and so on */
        status = ncoll_allgatherv(group, own, all, counts, NULL, NCOLL_INT64, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && all[0] == 10 && all[9] == 43);
}

static void transpose(ncoll_group *group)
{
    double row[RANKS], column[RANKS];

    for (int q = 0; q < RANKS; q++)
        row[q] = 10 * ncoll_group_rank(group) + q;
    /* [ncoll_alltoall] A matrix is transposed. Rank p has row p of it, and gets column p: */
    int status = ncoll_alltoall(group, row, column, 1, NCOLL_DOUBLE, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && column[3] == 30 + ncoll_group_rank(group));
}

static void to_owners(ncoll_group *group)
{
    int rank = ncoll_group_rank(group);
    int64_t items[RANKS * RANKS], received[RANKS * RANKS];
    size_t to[RANKS], from[RANKS];

    for (int q = 0; q < RANKS; q++)
        to[q] = (size_t)(q + 1);
    for (int i = 0; i < RANKS * RANKS; i++)
        items[i] = rank;
    /* [ncoll_alltoallv] Items, sorted by their new owners, go to these. There are to[q] for rank q, and
     * each rank first tells the others how many to expect from it: */
    size_t total = 0;
    int status = ncoll_alltoall(group, to, from, sizeof(size_t), NCOLL_UINT8, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status =
            ncoll_alltoallv(group, items, to, NULL, received, from, NULL, NCOLL_INT64, NCOLL_BLOCK);
    for (int q = 0; status == NCOLL_OK && q < ncoll_group_size(group); q++)
        total += from[q]; /* items that this rank owns now */
    /* [] */
    EXPECT(status == NCOLL_OK && total == RANKS * to[rank]);
    EXPECT(received[0] == 0 && received[total - 1] == RANKS - 1);
}

static void parts_of_sum(ncoll_group *group)
{
    int rank = ncoll_group_rank(group);
    float vector[RANKS * (RANKS + 1) / 2], part[RANKS];
    size_t counts[RANKS];

    for (int i = 0; i < RANKS * (RANKS + 1) / 2; i++)
        vector[i] = (float)i;
    /* [ncoll_reduce_scatter] The sum of the vectors of all ranks. Rank q gets a part of q + 1 elements: */
    for (int q = 0; q < ncoll_group_size(group); q++)
        counts[q] = (size_t)q + 1; /* the same on all ranks */
    int status =
        ncoll_reduce_scatter(group, vector, part, counts, NCOLL_FLOAT, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && part[0] == (float)(RANKS * rank * (rank + 1) / 2));
}

static void blocks_of_sum(ncoll_group *group)
{
    float forces[2 * RANKS], own[2];

    for (int i = 0; i < 2 * RANKS; i++)
        forces[i] = (float)i;
    /* [ncoll_reduce_scatter_block] Each rank has calculated forces on all particles, of which two are
     * its own. It gets the sums for these: */
    int status =
        ncoll_reduce_scatter_block(group, forces, own, 2, NCOLL_FLOAT, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && own[1] == (float)(RANKS * (2 * ncoll_group_rank(group) + 1)));
}

static void records_before(ncoll_group *group)
{
    int64_t rank = ncoll_group_rank(group), records = 1 + rank;

    /* [ncoll_exscan] Ranks write records to one file, one rank's after those of the ranks before it.
     * Rank 0 gets no result, so its place is set before the call: */
    int64_t place = 0;
    int status = ncoll_exscan(group, &records, &place, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        printf("%lld records from %lld on\n", (long long)records, (long long)place);
    /* [] */
    EXPECT(status == NCOLL_OK && place == rank * (rank + 1) / 2);
}

static void records_so_far(ncoll_group *group)
{
    int64_t rank = ncoll_group_rank(group), records = 1 + rank;

    /* [ncoll_scan] The number of records of this rank and of all before it: */
    int64_t so_far;
    int status = ncoll_scan(group, &records, &so_far, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && so_far == (rank + 1) * (rank + 2) / 2);
}

void show_collectives(ncoll_context *ctx, ncoll_group *group)
{
    (void)ctx;
    to_all(group);
    from_root(group);
    to_root(group);
    gather(group);
    scatter(group);
    scatter_unevenly(group);
    rows(group);
    counts_of_all(group);
    items_of_all(group);
    transpose(group);
    to_owners(group);
    parts_of_sum(group);
    blocks_of_sum(group);
    records_before(group);
    records_so_far(group);
}
