/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of foreign types and operations, as a communicator registers them with its context. */
#ifndef NCOLL_INTEROP_MPI_ELEMENT_H
#define NCOLL_INTEROP_MPI_ELEMENT_H

#include <stddef.h>

struct comm;

size_t element_stride(unsigned class);
int ops_make(struct comm *c);
void ops_free(struct comm *c);

#endif
