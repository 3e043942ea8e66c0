/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench-mpi: ncoll and an MPI side by side, on ranks that the MPI's launcher made.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/bench/bench.h"
#include "tools/bench/failure.h"
#include "tools/bench/mpi_bootstrap.h"

static const struct subject *const subjects[] = {
    &subject_raw,   &subject_flags,      &subject_copy,    &subject_pull,
    &subject_ncoll, &subject_persistent, &subject_overlap, &subject_entry,
    &subject_exit,  &subject_strict,     &subject_mpi,     NULL};

static int run(const struct options *options, int rank)
{
    struct mpi_bootstrap *bootstrap = mpi_bootstrap_open();
    ncoll_params params;

    failure_launched(rank);
    if (bootstrap == NULL) {
        failure_say(NCOLL_ERR_MEMORY, ncoll_status_text(NCOLL_ERR_MEMORY));
        return EXIT_FAILURE;
    }
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = mpi_bootstrap_callbacks(bootstrap);
    params.rank = rank;
    MPI_Comm_size(MPI_COMM_WORLD, &params.ranks);
    int exit_status = bench_rank(&params, options, subjects, false);
    mpi_bootstrap_close(bootstrap);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct options options;
    int rank;

    /* Before MPI starts, so that a mistake or --help ends the job without a complaint of MPI's. */
    options_parse(argc, argv, false, failure_launcher_rank() > 0, &options);
    if (options.transport != NULL)
        setenv("NCOLL_TRANSPORT", options.transport, 1);
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
