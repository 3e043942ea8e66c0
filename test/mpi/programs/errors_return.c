/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "own.h"

static int class_of(int code)
{
    int class;

    PMPI_Error_class(code, &class);
    return class;
}

/* The class of the error is that of MPI's own call with the same arguments, if this one checks them. */
#define SAME(name, ...)                                                                            \
    {                                                                                              \
        int own = class_of(OWN(name)(__VA_ARGS__)), got = class_of(MPI_##name(__VA_ARGS__));       \
        CHECK(own == got, "MPI_" #name "(" #__VA_ARGS__ "): error class %d, not %d", got, own);    \
        errors += own != MPI_SUCCESS;                                                              \
    }

/* Arguments that are wrong alike on all ranks, so that nobody waits. */
static void wrong_arguments(MPI_Comm comm, int size)
{
    int in[4] = {0}, out[64] = {0}, errors = 0;
    MPI_Request request;

    SAME(Bcast, in, -1, MPI_INT, 0, comm)
    SAME(Bcast, in, 1, MPI_INT, size, comm)
    SAME(Bcast, in, 1, MPI_INT, -9, comm)
    SAME(Bcast, in, 1, MPI_DATATYPE_NULL, 0, comm)
    SAME(Reduce, in, out, 1, MPI_INT, MPI_OP_NULL, 0, comm)
    SAME(Reduce, in, out, 1, MPI_INT, MPI_SUM, size + 3, comm)
    SAME(Allreduce, in, out, 1, MPI_DATATYPE_NULL, MPI_SUM, comm)
    SAME(Allreduce, in, out, 1, MPI_INT, MPI_OP_NULL, comm)
    SAME(Allgather, in, -1, MPI_INT, out, 1, MPI_INT, comm)
    SAME(Alltoall, in, 1, MPI_INT, out, 1, MPI_DATATYPE_NULL, comm)
    SAME(Gather, in, 1, MPI_INT, out, 1, MPI_INT, size, comm)
    SAME(Scatter, in, 1, MPI_INT, out, 1, MPI_INT, -4, comm)
#ifndef MPICH /* 4.0 does not look at this count, and aborts */
    SAME(Reduce_scatter_block, in, out, -1, MPI_INT, MPI_SUM, comm)
#endif
    SAME(Ibcast, in, -1, MPI_INT, 0, comm, &request)
    SAME(Iallreduce, in, out, 1, MPI_INT, MPI_OP_NULL, comm, &request)
    SAME(Allreduce, in, out, 1, MPI_FLOAT, MPI_BAND, comm)
    CHECK(errors > 10, "only %d errors were found", errors);
}

PROGRAM(errors_return, "wrong arguments give the same class of error as MPI's own call")
{
    MPI_Errhandler before;
    MPI_Comm comm;
    int code, sum;

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    wrong_arguments(comm, ranks);
    code = MPI_Barrier(MPI_COMM_NULL);
    CHECK(class_of(code) == MPI_ERR_COMM, "a null communicator gives class %d", class_of(code));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, before));
    OK(MPI_Errhandler_free(&before));
    OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == ranks * (ranks - 1) / 2, "after errors the sum is %d", sum);
    OK(MPI_Comm_free(&comm));
}
