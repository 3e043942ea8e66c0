/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: from the start of a job to its end. See snippets.h. */
#include "snippets.h"
#include <pthread.h>

/* [ncoll_context_create, ncoll_fork_ranks] What a rank does from its start to its end: */
static int rank_main(const ncoll_params *params, void *arg)
{
    int (*work)(ncoll_context *) = *(int (**)(ncoll_context *))arg;
    ncoll_context *ctx;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int status = work(ctx);
    if (status != NCOLL_OK)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
/* [] */

static int work(ncoll_context *ctx)
{
    ncoll_group *world = ncoll_world(ctx);

    show_collectives(ctx, world);
    show_requests(ctx, world);
    show_contexts(ctx, world);
    show_groups(ctx, world);
    show_data(ctx, world);
    show_eventual(ctx, world);
    show_compressed(ctx, world);
    return ncoll_barrier(world, NCOLL_BLOCK);
}

/* [ncoll_thread_board_create] Ranks that are threads of one process; each has a context of its own: */
static ncoll_thread_board *board;

static void *thread_main(void *arg)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    ncoll_params_init(&params, sizeof params);
    params.thread_board = board;
    params.rank = *(int *)arg;
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return NULL;
    }
    int status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK ? arg : NULL;
}

static void run_threads(pthread_t threads[], int ranks[], int n)
{
    if (ncoll_thread_board_create(n, &board, NULL) != NCOLL_OK)
        return;
    for (int r = 0; r < n; r++) {
        ranks[r] = r;
        if (pthread_create(&threads[r], NULL, thread_main, &ranks[r]) != 0)
            ncoll_thread_board_give_up(board, r); /* the others do not wait for it */
    }
    /* ... pthread_join() */
    /* [] */
    for (int r = 0; r < n; r++) {
        void *done;
        EXPECT(pthread_join(threads[r], &done) == 0 && done == &ranks[r]);
    }
    /* [ncoll_thread_board_create] */
    ncoll_thread_board_destroy(board);
}
/* [] */

int main(void)
{
    int (*function)(ncoll_context *) = work;
    pthread_t threads[RANKS];
    int ranks[RANKS];

    run_threads(threads, ranks, RANKS);
    return ncoll_fork_ranks(RANKS, NULL, rank_main, &function, NULL) == NCOLL_OK ? EXIT_SUCCESS
                                                                                 : EXIT_FAILURE;
}
