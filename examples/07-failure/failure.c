/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank dies; the others are told which, and go on without it.
 *
 * A failure ends a context on all its ranks: every later call on it, on any group, gives the same
 * error. What is possible is a new context of the survivors. The program gives them new numbers, and
 * they meet by the tcp bootstrap: the board where forked ranks meet has places for all of them.
 *
 *     failure [PORT]
 *
 * NCOLL_RANK, NCOLL_SIZE and NCOLL_ROOT must not be set: they take precedence over what the program
 * asks for.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define RANKS  4
#define VICTIM 2
#define STEPS  10
#define DEATH  5 /* the step in which the victim dies */

static int fail(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    return EXIT_FAILURE;
}

/* Adds up 1 from each rank in the steps that are left. *step is the one that was not finished. */
static int work(ncoll_context *ctx, int *step, int64_t *sum)
{
    const int64_t one = 1;

    for (; *step < STEPS; ++*step) {
        int64_t ranks = 0;
        if (ncoll_group_size(ncoll_world(ctx)) == RANKS && *step == DEATH &&
            ncoll_group_rank(ncoll_world(ctx)) == VICTIM)
            raise(SIGKILL);
        int status =
            ncoll_allreduce(ncoll_world(ctx), &one, &ranks, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
        if (status != NCOLL_OK)
            return status;
        *sum += ranks;
    }
    return NCOLL_OK;
}

/* The survivors' context. The error has named the same rank to all of them, if only one has died. If
 * several die at once, it may name either: survivors that disagree do not meet here, and time out. */
static int without(int gone, const ncoll_params *old, const char *root, ncoll_context **ctx)
{
    ncoll_params params = *old;
    ncoll_error error;

    params.bootstrap = NCOLL_BOOTSTRAP_TCP;
    params.board = NULL;
    params.root = root; /* where the lowest survivor is */
    params.rank = old->rank - (old->rank > gone);
    params.ranks = old->ranks - 1;
    params.bootstrap_timeout_ns = INT64_C(20000000000);
    int status = ncoll_context_create(&params, ctx, &error);
    if (status != NCOLL_OK)
        fprintf(stderr, "%s\n", error.text);
    return status;
}

static int rank_main(const ncoll_params *params, void *root)
{
    ncoll_context *ctx;
    ncoll_error error;
    int step = 0, first;
    int64_t sum = 0;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int status = work(ctx, &step, &sum);
    if (status != NCOLL_ERR_PEER)
        return fail(ctx, status);
    int gone = ncoll_last_error(ctx)->peer; /* before the context that keeps it is destroyed */
    ncoll_context_destroy(ctx);

    if (without(gone, params, root, &ctx) != NCOLL_OK)
        return EXIT_FAILURE;
    /* A call may have ended well on some ranks and not on others: they repeat what any lacks. */
    status =
        ncoll_allreduce(ncoll_world(ctx), &step, &first, 1, NCOLL_INT32, NCOLL_MIN, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        return fail(ctx, status);
    sum -= (int64_t)(step - first) * RANKS;
    step = first;
    status = work(ctx, &step, &sum);
    if (status != NCOLL_OK)
        return fail(ctx, status);
    if (params->rank == 0)
        printf("rank %d died: %d ranks went on from step %d to a sum of %d\n", gone,
               ncoll_group_size(ncoll_world(ctx)), first, (int)sum);
    ncoll_context_destroy(ctx);
    return sum == first * RANKS + (STEPS - first) * (RANKS - 1) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    char root[64];
    int codes[RANKS], well = 1;

    snprintf(root, sizeof root, "localhost:%s", argc > 1 ? argv[1] : "7007");
    /* Its own status is an error here, since a rank is to die. */
    if (ncoll_fork_ranks(RANKS, NULL, rank_main, root, codes) != NCOLL_ERR_PEER)
        return EXIT_FAILURE;
    for (int r = 0; r < RANKS; r++)
        well = well && codes[r] == (r == VICTIM ? 128 + SIGKILL : EXIT_SUCCESS);
    return well ? EXIT_SUCCESS : EXIT_FAILURE;
}
