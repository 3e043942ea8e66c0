/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Implements ncoll's bootstrap callbacks with MPI calls, for any MPI. The fence exchanges what
 * ranks have put by an allgather. ncoll-bench uses this file as well.
 */
#ifndef NCOLL_EXAMPLES_CG_MPI_BOARD_H
#define NCOLL_EXAMPLES_CG_MPI_BOARD_H

#include <ncoll.h>

struct mpi_board;

/* Makes a board. A collective call, between MPI_Init and MPI_Finalize. Returns NULL if there is no
 * memory. */
struct mpi_board *mpi_board_open(void);
void mpi_board_close(struct mpi_board *b);
/* Returns NCOLL_OK, or NCOLL_ERR_SYSTEM after printing the error of a call of MPI. */
int mpi_said(int mpi_error);
/* Fills in the parameters of a context on all ranks of MPI_COMM_WORLD. Each context needs a board
 * of its own. */
void mpi_board_params(struct mpi_board *b, ncoll_params *out);

#endif
