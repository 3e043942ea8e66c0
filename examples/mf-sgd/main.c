/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-mf-sgd: ranks that it forks or that a launcher has started, in real time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../cg/support.h"
#include "mf.h"

static int forked_rank(const ncoll_params *params, void *arg)
{
    return mf_rank(params, arg, &mf_clock_real);
}

static int write_ratings(const struct mf_options *options)
{
    struct ratings ratings;

    if (!ratings_generate(&options->shape, options->steps.seed, &ratings)) {
        failure_no_memory();
        return EXIT_FAILURE;
    }
    FILE *out = fopen(options->write, "we");
    bool ok = out != NULL && ratings_write(&ratings, out);
    if (out != NULL)
        ok = fclose(out) == 0 && ok;
    if (!ok)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name,
                options->write, strerror(errno));
    ratings_free(&ratings);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct mf_options options;
    int rank = failure_launcher_rank();
    ncoll_params params;

    output_open();
    ncoll_params_init(&params, sizeof params);
    mf_options_parse(argc, argv, rank > 0, &options);
    if (options.write != NULL)
        return write_ratings(&options);
    if (options.ranks > 0)
        return fork_ranks(options.ranks, true, &params, forked_rank, &options);
    failure_launched(rank);
    return mf_rank(&params, &options, &mf_clock_real);
}
