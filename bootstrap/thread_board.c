/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap/thread_board.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct ncoll_thread_board {
    _Atomic int holders;  /* the number of users: the program, and each context */
    pthread_mutex_t lock; /* held to note that a rank is gone */
    struct shared_channels channels;
    struct ncoll_fork_board ends[]; /* [ranks] each rank's end of the board */
};

int ncoll__thread_board_create(int ranks, struct ncoll_thread_board **out)
{
    struct ncoll_fork_board board;
    struct ncoll_thread_board *b = calloc(1, sizeof *b + (size_t)ranks * sizeof b->ends[0]);

    if (b == NULL)
        return ENOMEM;
    int error = ncoll__board_create(ranks, &board);
    if (error != 0) {
        free(b);
        return error;
    }
    b->holders = 1;
    pthread_mutex_init(&b->lock, NULL);
    pthread_mutex_init(&b->channels.lock, NULL);
    for (int r = 0; r < ranks; r++)
        b->ends[r] = (struct ncoll_fork_board){.rank = r,
                                               .ranks = ranks,
                                               .channels_fd = board.channels_fd,
                                               .blobs_fd = board.blobs_fd,
                                               .header = board.header,
                                               .shared = &b->channels,
                                               .threads = b};
    *out = b;
    return 0;
}

void ncoll__thread_board_hold(struct ncoll_thread_board *board)
{
    atomic_fetch_add_explicit(&board->holders, 1, memory_order_relaxed);
}

void ncoll__thread_board_release(struct ncoll_thread_board *board)
{
    if (atomic_fetch_sub_explicit(&board->holders, 1, memory_order_acq_rel) > 1)
        return;
    ncoll__board_destroy(&board->ends[0]);
    pthread_mutex_destroy(&board->channels.lock);
    pthread_mutex_destroy(&board->lock);
    free(board);
}

int ncoll__thread_board_ranks(const struct ncoll_thread_board *board)
{
    return board->ends[0].ranks;
}

struct ncoll_fork_board *ncoll__thread_board_end(struct ncoll_thread_board *board, int rank)
{
    return &board->ends[rank];
}

void ncoll__thread_board_miss(struct ncoll_thread_board *board, int rank)
{
    struct channel *channel;

    if (rank < 0 || rank >= ncoll__thread_board_ranks(board))
        return;
    if (ncoll__channel_open(&board->ends[rank], &channel) == 0)
        ncoll__channel_close(&board->ends[rank], channel);
    else
        atomic_fetch_add(&board->ends[rank].contexts, 1);
}

void ncoll__thread_board_give_up(struct ncoll_thread_board *board, int rank)
{
    struct ncoll_fork_board *end = &board->ends[rank];

    pthread_mutex_lock(&board->lock);
    if (!ncoll__board_has_end(end, rank))
        ncoll__board_note_end(end, (struct end){rank, GIVEN_UP});
    pthread_mutex_unlock(&board->lock);
}
