/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives that are left to MPI while requests of ncoll are unfinished. MPI's blocking
 * function is called, and not a non-blocking one during which ncoll could be driven: another rank
 * may have no request and make the blocking call, and MPI does not match the two. So the helper
 * thread advances the requests (progress.c), and may call operations of the program. To keep that
 * apart from calls by MPI, MPI gets an operation that waits for the helper thread.
 */
#include "interop/mpi/dropin.h"

/* The program's operation in the call that MPI makes now. There is one such call at a time, since
 * with MPI_THREAD_MULTIPLE this is not used. */
static MPI_Op left_op;

#ifdef HAVE_LARGE
static void call_left(void *in, void *inout, MPI_Count *n, MPI_Datatype *type)
{
    operations_lock();
    PMPI_Reduce_local_c(in, inout, *n, *type, left_op);
    operations_unlock();
}
#define CREATE PMPI_Op_create_c
#else
static void call_left(void *in, void *inout, int *n, MPI_Datatype *type)
{
    operations_lock();
    PMPI_Reduce_local(in, inout, *n, *type, left_op);
    operations_unlock();
}
#define CREATE PMPI_Op_create
#endif

void left_begins(MPI_Op *op)
{
    static MPI_Op guarded[2];
    static bool made[2];
    int commutes;

    if (op != NULL && !world.threads && !op_is_mpis(*op) &&
        PMPI_Op_commutative(*op, &commutes) == MPI_SUCCESS) {
        commutes = commutes != 0;
        if (!made[commutes])
            made[commutes] = CREATE(call_left, commutes, &guarded[commutes]) == MPI_SUCCESS;
        left_op = *op;
        if (made[commutes])
            *op = guarded[commutes];
    }
    inside_begins();
}
