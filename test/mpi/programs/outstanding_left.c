/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define COUNT 50000
#define TIMES 10

/* Blocking calls between two groups, while a call inside a group, or on all ranks, is under way on some of the ranks or
 * on all. */
static int running;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    CHECK(__atomic_fetch_add(&running, 1, __ATOMIC_ACQ_REL) == 0,
          "the operation runs twice at once");
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
    __atomic_fetch_sub(&running, 1, __ATOMIC_ACQ_REL);
}

/* The sum over the ranks of the other group. */
static int others_sum(void)
{
    int sum = 0;

    for (int r = 1 - me % 2; r < ranks; r += 2)
        sum += r;
    return sum;
}

static void reduce_between(MPI_Comm inter, MPI_Op op)
{
    static int in[COUNT], out[COUNT];

    for (int i = 0; i < COUNT; i++)
        in[i] = me;
    OK(MPI_Allreduce(in, out, COUNT, MPI_INT, op, inter));
    CHECK_EACH(i, COUNT, out, others_sum(), "allreduce between groups");
}

/* Rank 0 has a call of its own under way, the others have none. */
static void on_one_rank(MPI_Comm inter)
{
    int in[2] = {me, me}, out[2], *all = take((size_t)ranks * sizeof *all), one = 1, sum = 0;
    int root = me % 2 ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, size;
    MPI_Request request = MPI_REQUEST_NULL;

    OK(MPI_Comm_remote_size(inter, &size));
    for (int kind = 0; kind < 5; kind++) {
        if (me == 0)
            OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &request));
        if (kind == 0)
            OK(MPI_Barrier(inter));
        else if (kind == 1)
            OK(MPI_Bcast(in, 2, MPI_INT, root, inter));
        else if (kind == 2)
            OK(MPI_Reduce(in, out, 2, MPI_INT, MPI_MAX, root, inter));
        else if (kind == 3)
            OK(MPI_Allgather(&me, 1, MPI_INT, all, 1, MPI_INT, inter));
        else
            reduce_between(inter, MPI_SUM);
        if (kind == 3)
            CHECK_EACH(i, size, all, 2 * i + 1 - me % 2, "allgather between groups");
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK(me != 0 || sum == 1, "the sum of one rank is %d", sum);
    }
    give(all);
}

/* A long call of all ranks by the program's operation. Rank 0 waits for the others in another call, while they wait for
 * the end of the long one; or all make other calls meanwhile. */
static void on_all_ranks(MPI_Comm inter, MPI_Op by, int times)
{
    static int in[COUNT], out[COUNT];
    MPI_Request request;
    MPI_Op op;

    OK(MPI_Op_create(add, 1, &op));
    for (int i = 0; i < COUNT; i++)
        in[i] = me + i;
    OK(MPI_Iallreduce(in, out, COUNT, MPI_INT, op, MPI_COMM_WORLD, &request));
    if (me > 0 && times == 1)
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < times; i++)
        reduce_between(inter, by == MPI_OP_NULL ? op : by);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EACH(i, COUNT, out, ranks * (ranks - 1) / 2 + ranks * i, "allreduce of all ranks");
    OK(MPI_Op_free(&op));
}

PROGRAM(outstanding_left, "calls between groups while other calls are under way", .ranks = 2)
{
    MPI_Comm half, inter;

    OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 5, &inter));
    on_one_rank(inter);
    on_all_ranks(inter, MPI_SUM, 1);
    on_all_ranks(inter, MPI_OP_NULL, 1);
    on_all_ranks(inter, MPI_OP_NULL, TIMES);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}
