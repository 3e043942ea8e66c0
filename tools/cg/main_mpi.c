/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-cg-openmpi, ncoll-cg-mpich: the same with an MPI to take instead, or beside, on ranks that
 * its launcher made.
 */
#include <mpi.h>
#include <stdlib.h>

#include "tools/bench/failure.h"
#include "tools/bench/mpi_bootstrap.h"
#include "tools/cg/cg.h"
#include "tools/output.h"

static const struct comm *const libraries[CG_LIBRARIES] = {&comm_ncoll, &comm_mpi};

static int run(const struct cg_options *options, int rank)
{
    struct mpi_bootstrap *bootstrap = mpi_bootstrap_open();
    ncoll_params params;

    failure_launched(rank);
    if (bootstrap == NULL) {
        cg_no_memory();
        return EXIT_FAILURE;
    }
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = mpi_bootstrap_callbacks(bootstrap);
    params.rank = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &params.ranks);
    int exit_status = cg_rank(&params, options, libraries);
    mpi_bootstrap_close(bootstrap);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct cg_options options;
    int rank;

    output_open();
    /* Before MPI starts, so that a mistake or --help ends the job without a complaint of MPI's. */
    cg_options_parse(argc, argv, true, failure_launcher_rank() > 0, &options);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int exit_status = run(&options, rank);
    /* Other ranks may wait for this one in a collective for ever. */
    if (exit_status != EXIT_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, exit_status);
    MPI_Finalize();
    return exit_status;
}
