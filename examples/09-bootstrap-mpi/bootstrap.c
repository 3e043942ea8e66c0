/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that has MPI already: ranks find each other by one function, an allgather. The same
 * program then uses both, MPI for what it has always done and ncoll for some of its collectives. A
 * runtime with an allgather of its own puts that in place of MPI's.
 */
#include <mpi.h>
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>

static int allgather(void *arg, const void *in, size_t bytes, void *out)
{
    return MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, *(MPI_Comm *)arg);
}

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    /* The library's messages travel in a communicator that nobody else uses. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    check(NULL, ncoll_params_init(&params, sizeof params));
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.allgather = allgather;
    params.allgather_arg = &comm;
    MPI_Comm_rank(comm, &params.rank);
    MPI_Comm_size(comm, &params.ranks);
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        MPI_Abort(comm, EXIT_FAILURE);
    }

    int in = params.rank + 1, by_ncoll = 0, by_mpi = 0;
    check(ctx, ncoll_allreduce(ncoll_world(ctx), &in, &by_ncoll, 1, NCOLL_INT32, NCOLL_SUM,
                               NCOLL_BLOCK));
    MPI_Allreduce(&in, &by_mpi, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (params.rank == 0)
        printf("the sum of the numbers of %d ranks: %d by ncoll, %d by MPI\n", params.ranks,
               by_ncoll, by_mpi);

    ncoll_context_destroy(ctx);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return by_ncoll == by_mpi ? EXIT_SUCCESS : EXIT_FAILURE;
}
