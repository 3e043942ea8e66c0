/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define COUNT 50000

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void by_replacing(void)
{
    int value = me;

    OK(MPI_Sendrecv_replace(&value, 1, MPI_INT, (me + 1) % ranks, 3, (me + ranks - 1) % ranks, 3,
                            MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(value == (me + ranks - 1) % ranks, "replaced by %d", value);
}

static void by_a_window(void)
{
    static int memory;
    MPI_Win win;

    OK(MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_free(&win));
}

/* A long reduction by the program's operation is under way, and goes on, while rank 0 waits in a call of MPI that is not
 * a collective of the usual kind. The others come to that call when the reduction has ended. */
PROGRAM(progress_elsewhere, "progress while a rank waits in calls of other kinds", .ranks = 2)
{
    static int in[COUNT], out[COUNT];
    void (*const calls[])(void) = {by_replacing, by_a_window};
    MPI_Request request;
    MPI_Op op;

    OK(MPI_Op_create(add, 1, &op));
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = me + i;
        OK(MPI_Iallreduce(in, out, COUNT, MPI_INT, op, MPI_COMM_WORLD, &request));
        if (me == 0)
            calls[time]();
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (me != 0)
            calls[time]();
        for (int i = 0; i < COUNT; i += 777)
            CHECK(out[i] == ranks * (ranks - 1) / 2 + ranks * i, "element %d: %d", i, out[i]);
    }
    OK(MPI_Op_free(&op));
}
