/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll's bootstrap callbacks over MPI, for any MPI: what ranks have put travels by an allgather in
 * the fence. ncoll-bench uses this file as well.
 */
#ifndef NCOLL_EXAMPLES_CG_MPI_BOARD_H
#define NCOLL_EXAMPLES_CG_MPI_BOARD_H

#include <ncoll.h>

struct mpi_board;

/* Between MPI_Init and MPI_Finalize; a collective call. NULL: no memory. */
struct mpi_board *mpi_board_open(void);
void mpi_board_close(struct mpi_board *b);
/* Parameters of a context on all ranks of MPI_COMM_WORLD. One board for each context. */
void mpi_board_params(struct mpi_board *b, ncoll_params *out);

#endif
