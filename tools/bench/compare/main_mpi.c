/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench-openmpi, ncoll-bench-mpich: measure ncoll and an MPI, on ranks that the MPI's
 * launcher has started. With -n, which ncoll-bench --mpi passes on, ranks are bound to cores in the
 * same way as ncoll-bench binds forked ranks.
 */
#include <err.h>
#include <mpi.h>
#include <stdlib.h>

#include "examples/cg/mpi_board.h"
#include "examples/cg/support.h"
#include "tools/bench/bench.h"
#include "tools/bench/measure/placement.h"

static const struct subject *const subjects[] = {SUBJECTS_OF_NCOLL, &subject_mpi, NULL};

/* The names that Open MPI's launcher and Hydra use. */
static const char *const of_all[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
static const char *const of_node[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
static const char *const on_node[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", NULL};

/* Binds this rank to a core before MPI looks at its affinity. */
static bool bind_to_core(const struct options *options)
{
    struct options local = *options;

    local.ranks = number_in_environment(of_node);
    if (local.ranks <= 0 || (options->ranks == 0 && options->binding != BIND_ALWAYS))
        return false;
    struct placement placement = placement_plan(&local);
    bool bound = placement_apply(&placement, number_in_environment(on_node));
    placement_free(&placement);
    return bound;
}

/* True unless the launcher belongs to another MPI: then each rank would be alone in a job of this
 * MPI. */
static bool is_right_launcher(const struct options *options, int rank, int ranks)
{
    int launched = number_in_environment(of_all);

    failure_launched(rank);
    if (launched > 0 && launched != ranks) {
        if (failure_launcher_rank() <= 0)
            warnx(
                "%d ranks were launched, and MPI knows of %d: is this the launcher of another MPI?",
                launched, ranks);
        return false;
    }
    if (options->ranks == 0 || options->ranks == ranks)
        return true;
    if (rank == 0)
        warnx("-n %d, but %d ranks were launched", options->ranks, ranks);
    return false;
}

static int run(const struct options *options, bool bound)
{
    ncoll_params params;
    int rank, ranks;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!is_right_launcher(options, rank, ranks))
        return EXIT_FAILURE;
    struct mpi_board *bootstrap = mpi_board_open();
    if (bootstrap == NULL) {
        failure_say(NCOLL_ERR_MEMORY, "%s", ncoll_status_text(NCOLL_ERR_MEMORY));
        return EXIT_FAILURE;
    }
    mpi_board_params(bootstrap, &params);
    int exit_status = bench_rank(&params, options, subjects, bound);
    mpi_board_close(bootstrap);
    return exit_status;
}

int main(int argc, char **argv)
{
    struct options options;

    output_open();
    /* This comes before MPI starts, so that MPI does not report an abort after a mistake or
     * --help. */
    options_parse(argc, argv, failure_launcher_rank() > 0, &options);
    if (options.transport != NULL)
        setenv("NCOLL_TRANSPORT", options.transport, 1);
    bool bound = bind_to_core(&options);
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int exit_status = run(&options, bound);
    /* Without the abort, other ranks might wait for this one for ever. */
    if (exit_status != EXIT_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, exit_status);
    MPI_Finalize();
    return exit_status;
}
