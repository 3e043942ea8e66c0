/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that prepare.c and prepare_v.c share. */
#ifndef NCOLL_INTEROP_MPI_PREPARE_H
#define NCOLL_INTEROP_MPI_PREPARE_H

/* The same buffer for input and output, without MPI_IN_PLACE, is an error. MPICH says so; Open MPI
 * takes it for data in place, and so does ncoll. */
#if defined(OPEN_MPI)
#define ALIASES_ARE_ERRORS 0
#else
#define ALIASES_ARE_ERRORS 1
#endif

#endif
