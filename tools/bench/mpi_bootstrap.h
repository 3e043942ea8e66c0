/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll's bootstrap callbacks over MPI, for any MPI: what all ranks have put travels by an
 * allgather in the fence.
 */
#ifndef NCOLL_TOOLS_BENCH_MPI_BOOTSTRAP_H
#define NCOLL_TOOLS_BENCH_MPI_BOOTSTRAP_H

#include "ncoll.h"

struct mpi_bootstrap;

/* NULL: out of memory. MPI is initialised before and finalised after. */
struct mpi_bootstrap *mpi_bootstrap_open(void);
/* For a context over it: one, since each needs keys of its own. */
void mpi_bootstrap_params(struct mpi_bootstrap *b, ncoll_params *out);
void mpi_bootstrap_close(struct mpi_bootstrap *b);

#endif
