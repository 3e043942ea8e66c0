/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "own.h"

#define MANY 70 /* more than there are places for reductions by operations that differ */

/* A library that makes non-blocking calls by generalised requests gets none once. */
static bool fails;

__attribute__((visibility("default"))) int PMPI_Grequest_start(MPI_Grequest_query_function *query,
                                                               MPI_Grequest_free_function *release,
                                                               MPI_Grequest_cancel_function *cancel,
                                                               void *state, MPI_Request *request)
{
    if (fails)
        return MPI_ERR_NO_MEM;
    return OWN(Grequest_start)(query, release, cancel, state, request);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

PROGRAM(errors_of_requests, "a call that gets no request leaves nothing behind", .alone = true)
{
    int in[8], out[8];
    MPI_Request request;
    MPI_Op op, other;

    OK(MPI_Op_create(add, 1, &op));
    OK(MPI_Op_create(add, 1, &other));
    for (int i = 0; i < 8; i++)
        in[i] = me + i;
    fails = true;
    int rc = MPI_Iallreduce(in, out, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
    fails = false;
    if (rc == MPI_SUCCESS) {
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(out[0] == ranks * (ranks - 1) / 2, "the sum is %d", out[0]);
    }
    OK(MPI_Op_free(&op));
    for (int i = 0; i < MANY; i++) {
        OK(MPI_Iallreduce(in, out, 8, MPI_INT, other, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EACH(j, 8, out, ranks * (ranks - 1) / 2 + ranks * j, "call %d", i);
    }
    OK(MPI_Op_free(&other));
}
