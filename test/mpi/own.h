/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the MPI library itself, past whatever is preloaded: a second opinion. A preloaded library may define
 * PMPI_X as well as MPI_X, so neither name is sure to be MPI's own. */
#ifndef MPI_TEST_OWN_H
#define MPI_TEST_OWN_H

/* OWN(Allreduce)(..): PMPI_Allreduce() of the MPI library. */
#define OWN(name) ((__typeof__(&PMPI_##name))own_function("PMPI_" #name))

/* Ends the program if there is none. */
void *own_function(const char *name);

#endif
