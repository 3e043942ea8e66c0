/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define MANY 100

/* Starting a call waits for nobody: rank 0 starts a hundred before the others start their first, which wait for a
 * message of rank 0 that it sends after that. All are done by a pair type, and by the program's
 * operation. */
static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

PROGRAM(outstanding_local, "many calls started before any other rank starts one", .ranks = 2)
{
    static struct {
        long value;
        int place;
    } in[MANY], out[MANY];
    static int mine[MANY], sums[MANY];
    MPI_Request requests[2 * MANY];
    MPI_Op op;

    OK(MPI_Op_create(add, 1, &op));
    if (me != 0)
        OK(MPI_Recv(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < MANY; i++) {
        in[i].value = me == i % ranks ? 1000 + i : me;
        in[i].place = me;
        mine[i] = me + i;
        OK(MPI_Iallreduce(&in[i], &out[i], 1, MPI_LONG_INT, MPI_MAXLOC, MPI_COMM_WORLD,
                          &requests[2 * i]));
        OK(MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, op, MPI_COMM_WORLD,
                          &requests[2 * i + 1]));
    }
    for (int to = 1; me == 0 && to < ranks; to++)
        OK(MPI_Send(NULL, 0, MPI_INT, to, 5, MPI_COMM_WORLD));
    OK(MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        CHECK(out[i].value == 1000 + i && out[i].place == i % ranks, "maxloc %d: %ld at %d", i,
              out[i].value, out[i].place);
        CHECK(sums[i] == ranks * (ranks - 1) / 2 + ranks * i, "sum %d: %d", i, sums[i]);
    }
    OK(MPI_Op_free(&op));
}
