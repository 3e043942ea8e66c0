/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-cg-openmpi, ncoll-cg-mpich: solve with an MPI, with ncoll or with both, on ranks that the
 * MPI's launcher has started.
 */
#include <mpi.h>
#include <stdlib.h>

#include "support.h"
#include "mpi_board.h"
#include "cg.h"

static const struct comm *const libraries[CG_LIBRARIES] = {&comm_ncoll, &comm_mpi};

static int run(const struct cg_options *options, int rank)
{
    struct mpi_board *bootstraps[2] = {mpi_board_open(), mpi_board_open()};
    ncoll_params params[2];
    int exit_status = EXIT_FAILURE;

    failure_launched(rank);
    if (bootstraps[0] != NULL && bootstraps[1] != NULL) {
        mpi_board_params(bootstraps[0], &params[0]);
        mpi_board_params(bootstraps[1], &params[1]);
        exit_status = cg_rank(params, options, libraries);
    } else {
        failure_no_memory();
    }
    for (int i = 0; i < 2; i++)
        if (bootstraps[i] != NULL)
            mpi_board_close(bootstraps[i]);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct cg_options options;
    int rank;

    output_open();
    /* This comes before MPI starts, so that MPI does not report an abort after a mistake or
     * --help. */
    cg_options_parse(argc, argv, true, failure_launcher_rank() > 0, &options);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int exit_status = run(&options, rank);
    /* Without the abort, other ranks might wait for this one for ever. */
    if (exit_status != EXIT_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, exit_status);
    MPI_Finalize();
    return exit_status;
}
