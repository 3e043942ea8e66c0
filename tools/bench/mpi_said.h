/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI says of a call, and what it cannot be asked for.
 */
#ifndef NCOLL_TOOLS_BENCH_MPI_SAID_H
#define NCOLL_TOOLS_BENCH_MPI_SAID_H

#include <stddef.h>

/* A ncoll_status for MPI's, whose words have been said if it is no success. */
int mpi_said(int mpi_error);

/* NCOLL_OK, if MPI can count so many elements; else NCOLL_ERR_UNSUPPORTED, and that has been said.
 */
int mpi_can_count(size_t elements);

#endif
