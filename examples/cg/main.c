/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-cg: solves with ncoll, on ranks that it forks or that a launcher has started.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "cg.h"

static const struct comm *const libraries[CG_LIBRARIES] = {&comm_ncoll};

static int forked_rank(const ncoll_params *params, void *arg)
{
    const ncoll_params both[2] = {*params, *params};

    return cg_rank(both, arg, libraries);
}

static int write_matrix(const struct cg_options *options)
{
    FILE *out = fopen(options->write, "we");
    bool ok = out != NULL && poisson_write(&options->grid, out);

    if (out != NULL)
        ok = fclose(out) == 0 && ok;
    if (!ok)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name,
                options->write, strerror(errno));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct cg_options options;
    int rank = failure_launcher_rank();

    output_open();
    ncoll_params params[2];
    ncoll_params_init(&params[0], sizeof params[0]);
    ncoll_params_init(&params[1], sizeof params[1]);
    cg_options_parse(argc, argv, false, rank > 0, &options);
    if (options.write != NULL)
        return write_matrix(&options);
    if (options.ranks > 0)
        return fork_ranks(options.ranks, true, params, forked_rank, &options);
    failure_launched(rank);
    return cg_rank(params, &options, libraries);
}
