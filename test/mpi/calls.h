/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of every collective, as a blocking, a non-blocking or a persistent one, on memory of its own. Programs that
 * are about when calls begin and end take their calls from here. */
#ifndef MPI_TEST_CALLS_H
#define MPI_TEST_CALLS_H

#include "check.h"

#if MPI_VERSION < 4 && defined OPEN_MPI
#include <mpi-ext.h>
#endif

enum collective {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    COLLECTIVES
};

extern const char *const collective_names[COLLECTIVES];

struct call {
    enum collective collective;
    MPI_Comm comm;
    int rank, size, count, root, salt;
    int *in, *out, *counts, *starts, *bytes;
    MPI_Datatype *types;
};

/* Makes the arguments: blocks of `count` ints, whose values depend on the salt. */
void call_make(struct call *call, enum collective collective, MPI_Comm comm, int count, int root,
               int salt);
void call_fill(struct call *call, int salt); /* before another start with the same arguments */
void call_block(struct call *call);
void call_start(struct call *call, MPI_Request *request);
/* Whether this MPI has persistent collectives; the request is inactive. */
bool call_init(struct call *call, MPI_Request *request);
void call_check(const struct call *call);
void call_free(struct call *call);

#endif
