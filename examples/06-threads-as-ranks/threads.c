/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are threads of one process. The library has no global state: each thread has a context
 * of its own, which no other thread uses. They find each other on a board of the process.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS 4

static ncoll_thread_board *board;

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE); /* the whole job, since all ranks are this process */
}

static void *rank_main(void *arg)
{
    int rank = (int)(intptr_t)arg;
    int64_t own = rank + 1, sum = 0;
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    check(NULL, ncoll_params_init(&params, sizeof params));
    params.thread_board = board;
    params.rank = rank;
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return (void *)"no context";
    }
    check(ctx,
          ncoll_allreduce(ncoll_world(ctx), &own, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK));
    if (rank == 0)
        printf("%d threads of one process: the sum of their numbers is %d\n", RANKS, (int)sum);
    ncoll_context_destroy(ctx);
    return sum != RANKS * (RANKS + 1) / 2 ? (void *)"wrong sum" : NULL;
}

int main(void)
{
    pthread_t threads[RANKS];
    int started = 0, status = EXIT_SUCCESS;
    ncoll_error error;

    if (ncoll_thread_board_create(RANKS, &board, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    for (intptr_t r = 0; r < RANKS; r++)
        if (pthread_create(&threads[started], NULL, rank_main, (void *)r) == 0)
            started++;
        else /* the others are told, and do not wait for it */
            ncoll_thread_board_give_up(board, (int)r);
    for (int i = 0; i < started; i++) {
        void *wrong;
        if (pthread_join(threads[i], &wrong) != 0 || wrong != NULL)
            status = EXIT_FAILURE;
    }
    ncoll_thread_board_destroy(board);
    return started == RANKS ? status : EXIT_FAILURE;
}
