/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of ranks that are threads of one process. It is the board of fork_board.h, of which each
 * rank has its own end as a forked rank has. But all ranks have one mapping of a channel, and what
 * the parent of forked ranks notes, that a rank is gone, the program tells itself.
 *
 * It lives until the program has destroyed it and the last context on it is closed.
 */
#ifndef NCOLL_BOOTSTRAP_THREAD_BOARD_H
#define NCOLL_BOOTSTRAP_THREAD_BOARD_H

#include "bootstrap/fork_board.h"

#define GIVEN_UP (-1) /* in place of the exit code of a rank */

/* Makes a board. Returns 0 or an errno. */
int ncoll__thread_board_create(int ranks, struct ncoll_thread_board **out);
/* Called by each context that uses the board. */
void ncoll__thread_board_hold(struct ncoll_thread_board *board);
/* Ends what create() or hold() has begun; the last one frees the board. */
void ncoll__thread_board_release(struct ncoll_thread_board *board);

int ncoll__thread_board_ranks(const struct ncoll_thread_board *board);
/* Counts as an attempt of a rank that has failed before it could open the board: the others are told. */
void ncoll__thread_board_miss(struct ncoll_thread_board *board, int rank);
/* Returns the end of a rank. */
struct ncoll_fork_board *ncoll__thread_board_end(struct ncoll_thread_board *board, int rank);
/* Notes that a rank is gone, once. */
void ncoll__thread_board_give_up(struct ncoll_thread_board *board, int rank);

#endif
