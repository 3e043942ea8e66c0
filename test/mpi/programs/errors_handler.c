/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static int called, seen_class;
static MPI_Comm seen_comm;

static void handler(MPI_Comm *comm, int *code, ...)
{
    called++;
    seen_comm = *comm;
    MPI_Error_class(*code, &seen_class);
}

/* The program's own handler is called once for each error, with the communicator of the call. */
PROGRAM(errors_handler, "a handler of the program's own")
{
    MPI_Errhandler mine;
    MPI_Comm comm, twin;
    int data = 0, all[64];

    called = 0;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_create_errhandler(handler, &mine));
    OK(MPI_Comm_set_errhandler(comm, mine));
    OK(MPI_Errhandler_free(&mine));
    CHECK(MPI_Bcast(&data, 1, MPI_INT, ranks + 1, comm) != MPI_SUCCESS, "a wrong root is taken");
    CHECK(called == 1 && seen_comm == comm && seen_class == MPI_ERR_ROOT,
          "called %d times, class %d", called, seen_class);
    CHECK(MPI_Allgather(&data, -1, MPI_INT, all, 1, MPI_INT, comm) != MPI_SUCCESS,
          "a wrong count is taken");
    CHECK(called == 2 && seen_class == MPI_ERR_COUNT, "called %d times, class %d", called,
          seen_class);
    OK(MPI_Comm_dup(comm, &twin)); /* it inherits the handler */
    CHECK(MPI_Allreduce(&data, all, 1, MPI_INT, MPI_OP_NULL, twin) != MPI_SUCCESS,
          "no operation is taken");
    CHECK(called == 3 && seen_comm == twin && seen_class == MPI_ERR_OP, "called %d times, class %d",
          called, seen_class);
    OK(MPI_Comm_free(&twin));
    OK(MPI_Comm_free(&comm));
}
