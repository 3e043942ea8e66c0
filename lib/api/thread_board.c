/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls for the board of ranks that are threads (bootstrap/thread_board.h). */
#include "bootstrap/thread_board.h"

#include <errno.h>
#include <string.h>

#include "lib/base/context.h"

#define RANKS_MAX 65536

static int create(struct ncoll_context *reporter, int ranks, ncoll_thread_board **board)
{
    if (board == NULL)
        return ncoll__fail(reporter, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the board",
                           "board is NULL");
    if (ranks < 1 || ranks > RANKS_MAX)
        return ncoll__fail(reporter, NCOLL_ERR_ARGUMENT, -1, "pass the number of threads",
                           "the number of ranks is %d, which is not in 1..%d", ranks, RANKS_MAX);
    int error = ncoll__thread_board_create(ranks, board);
    if (error == ENOMEM)
        return ncoll__fail(reporter, NCOLL_ERR_MEMORY, -1, NULL,
                           "no memory for the board of %d ranks", ranks);
    if (error != 0)
        return ncoll__fail(reporter, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), -1,
                           "look for limits on memory and on open files (ulimit -a)",
                           "no shared memory for the board of %d ranks: %s", ranks,
                           strerror(error));
    return NCOLL_OK;
}

int ncoll_thread_board_create(int ranks, ncoll_thread_board **board, ncoll_error *error)
{
    /* holds the error, since there is no context yet */
    struct ncoll_context reporter = {.rank = -1, .error = {.rank = -1, .peer = -1}};
    int rc = create(&reporter, ranks, board);

    if (error != NULL)
        *error = reporter.error;
    return rc;
}

int ncoll_thread_board_give_up(ncoll_thread_board *board, int rank)
{
    if (board == NULL)
        return NCOLL_ERR_HANDLE;
    if (rank < 0 || rank >= ncoll__thread_board_ranks(board))
        return NCOLL_ERR_ARGUMENT;
    ncoll__thread_board_give_up(board, rank);
    return NCOLL_OK;
}

void ncoll_thread_board_destroy(ncoll_thread_board *board)
{
    if (board != NULL)
        ncoll__thread_board_release(board);
}
