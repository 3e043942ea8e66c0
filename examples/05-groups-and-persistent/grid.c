/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks in a grid, as in a matrix product: each adds up its row and its column in every step. The
 * two groups are made once by split. So are the requests: a persistent one is checked and planned
 * when it is made, and each step only starts it.
 */
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 3

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

int main(void)
{
    ncoll_context *ctx;
    ncoll_error error;

    if (ncoll_context_create(NULL, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    ncoll_group *world = ncoll_world(ctx), *row_group, *column_group;
    int rank = ncoll_group_rank(world), ranks = ncoll_group_size(world), columns = ranks;
    for (int c = 1; c * c <= ranks; c++)
        if (ranks % c == 0)
            columns = ranks / c;
    int rows = ranks / columns, row = rank / columns, column = rank % columns;

    /* Equal colors meet in a group; the key is the order in it. */
    check(ctx, ncoll_group_split(world, row, column, &row_group, NCOLL_BLOCK));
    check(ctx, ncoll_group_split(world, column, row, &column_group, NCOLL_BLOCK));

    int64_t mine, row_sum = 0, column_sum = 0;
    ncoll_request *by_row, *by_column;
    check(ctx,
          ncoll_allreduce_init(row_group, &mine, &row_sum, 1, NCOLL_INT64, NCOLL_SUM, &by_row));
    check(ctx, ncoll_allreduce_init(column_group, &mine, &column_sum, 1, NCOLL_INT64, NCOLL_SUM,
                                    &by_column));
    int good = 1;
    for (int step = 1; step <= STEPS; step++) {
        /* The library reads it when the requests are started, and until they are over. */
        mine = step * (rank + 1);
        check(ctx, ncoll_start(by_row));
        check(ctx, ncoll_start(by_column));
        /* Both go on at once, whichever is waited for first. */
        check(ctx, ncoll_wait(&by_column, NCOLL_BLOCK));
        check(ctx, ncoll_wait(&by_row, NCOLL_BLOCK));

        int64_t of_row = 0, of_column = 0;
        for (int c = 0; c < columns; c++)
            of_row += step * (row * columns + c + 1);
        for (int r = 0; r < rows; r++)
            of_column += step * (r * columns + column + 1);
        good = good && row_sum == of_row && column_sum == of_column;
        if (rank == 0)
            printf("step %d on a %d x %d grid: row %d, column %d\n", step, rows, columns,
                   (int)row_sum, (int)column_sum);
    }
    check(ctx, ncoll_request_free(&by_row));
    check(ctx, ncoll_request_free(&by_column));
    check(ctx, ncoll_group_free(&row_group, NCOLL_BLOCK));
    check(ctx, ncoll_group_free(&column_group, NCOLL_BLOCK));
    ncoll_context_destroy(ctx);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
