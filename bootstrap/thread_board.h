/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board of ranks that are threads of one process. It is a board as in fork_board.h, and each
 * rank has its own end of it, as a forked rank has. But all ranks share one mapping of each
 * channel; and the program itself has to tell that a rank is gone, while forked ranks have a parent
 * that notes it.
 *
 * It lives until the program has destroyed it and the last context on it is closed.
 */
#ifndef NCOLL_BOOTSTRAP_THREAD_BOARD_H
#define NCOLL_BOOTSTRAP_THREAD_BOARD_H

#include "bootstrap/fork_board.h"

#define GIVEN_UP (-1) /* code of a rank that the program has given up */

/* Makes a board. Returns 0 or an errno. */
int ncoll__thread_board_create(int ranks, struct ncoll_thread_board **out);
/* Adds a user of the board: called by each context. */
void ncoll__thread_board_hold(struct ncoll_thread_board *board);
/* Removes a user: the program, or a context. The last one frees the board. */
void ncoll__thread_board_release(struct ncoll_thread_board *board);

int ncoll__thread_board_ranks(const struct ncoll_thread_board *board);
/* Notes that a rank has failed before it could open its next channel on the board, so that the
 * other ranks learn of it. */
void ncoll__thread_board_miss(struct ncoll_thread_board *board, int rank);
/* Returns a rank's end of the board. */
struct ncoll_fork_board *ncoll__thread_board_end(struct ncoll_thread_board *board, int rank);
/* Notes that a rank is gone, since the program has given it up. Further calls do nothing. */
void ncoll__thread_board_give_up(struct ncoll_thread_board *board, int rank);

#endif
