/* SPDX-License-Identifier: BSD-3-Clause */
/* A constant that prepare.c and prepare_v.c share. */
#ifndef NCOLL_INTEROP_MPI_PREPARE_H
#define NCOLL_INTEROP_MPI_PREPARE_H

/* 1: the same buffer for input and output, without MPI_IN_PLACE, is an error, as in MPICH. 0: it is
 * taken for data in place, as in Open MPI. */
#if defined(OPEN_MPI)
#define ALIASES_ARE_ERRORS 0
#else
#define ALIASES_ARE_ERRORS 1
#endif

#endif
