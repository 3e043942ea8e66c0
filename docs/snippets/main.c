/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: from the start of a job to its end. See snippets.h. */
#include "snippets.h"
#include <pthread.h>

/* [ncoll_context_create, ncoll_context_destroy, ncoll_fork_ranks] A rank from its start to its end: */
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

/* [ncoll_fork_ranks] This process forks the ranks, and waits until all of them have ended: */
static int run(int ranks, int codes[], int (*work)(ncoll_context *))
{
    int status = ncoll_fork_ranks(ranks, NULL, rank_main, &work, codes);

    if (status == NCOLL_ERR_PEER)
        for (int r = 0; r < ranks; r++)
            if (codes[r] != EXIT_SUCCESS)
                fprintf(stderr, "rank %d ended with %d\n", r, codes[r]);
    return status;
}
/* [] */

/* The runtime that ncoll is part of in the next examples. */
struct runtime {
    int rank, size;
    ncoll_group *group;
};

static int own_allgather(void *arg, const void *in, size_t bytes, void *out)
{
    const struct runtime *runtime = arg;

    return ncoll_allgather(runtime->group, in, out, bytes, NCOLL_UINT8, NCOLL_BLOCK);
}

/* [ncoll_radix_list] A barrier in two rounds: a rank tells three others that it has come, and then one
 * more. It is for 8 ranks: */
static int set_rounds(ncoll_params *params)
{
    int radix = ncoll_radix_list((const int[]){3, 1}, 2);

    if (radix < 0) /* an error */
        return radix;
    params->barrier_algorithm = "dissemination";
    params->radix = radix;
    return NCOLL_OK;
}
/* [] */

/* [ncoll_params_init, ncoll_context_create] A runtime that knows its ranks, and has an allgather of its
 * own, makes a context. With MPI, own_allgather() would call MPI_Allgather(): */
static int join(struct runtime *runtime, ncoll_context **ctx)
{
    ncoll_params params;
    ncoll_error error;
    int status = ncoll_params_init(&params, sizeof params);

    if (status != NCOLL_OK) {
        fprintf(stderr, "%s\n", ncoll_status_text(status));
        return status;
    }
    params.rank = runtime->rank;
    params.ranks = runtime->size;
    params.allgather = own_allgather;
    params.allgather_arg = runtime;
    params.log_level = NCOLL_LOG_ERROR; /* no warnings */
    /* [] */
    if (set_rounds(&params) != NCOLL_OK)
        return NCOLL_ERR_ARGUMENT;
    /* [ncoll_params_init, ncoll_context_create] */
    status = ncoll_context_create(&params, ctx, &error);
    if (status != NCOLL_OK)
        fprintf(stderr, "%s\n", error.text);
    return status;
}
/* [] */

static void in_runtime(ncoll_group *world)
{
    struct runtime runtime = {ncoll_group_rank(world), ncoll_group_size(world), world};
    ncoll_context *ctx;

    EXPECT(join(&runtime, &ctx) == NCOLL_OK);
    EXPECT(ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK) == NCOLL_OK);
    ncoll_context_destroy(ctx);
}

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
    in_runtime(world);
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
    pthread_t threads[RANKS];
    int ranks[RANKS], codes[RANKS];

    run_threads(threads, ranks, RANKS);
    return run(RANKS, codes, work) == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
