/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-mf-sgd under virtual time: the program of examples/mf-sgd on ranks of one process, one on each
 * node. Iterations compute for virtual time (--compute-us), and messages take the time of the LogGP
 * model. So ranks do not share cores, however many they are, and the same options give the same times
 * again.
 */
#include <stdio.h>
#include <stdlib.h>

#include "examples/cg/support.h"
#include "examples/mf-sgd/mf.h"
#include "transport/sim/sim.h"

static void sleep_virtual(uint64_t at_ns)
{
    uint64_t now_ns = sim_now_ns();

    if (at_ns > now_ns)
        sim_sleep(at_ns - now_ns);
}

static const struct mf_clock clock_virtual = {.now_ns = sim_now_ns, .sleep_until = sleep_virtual};

static int rank_main(const ncoll_params *params, void *arg)
{
    return mf_rank(params, arg, &clock_virtual);
}

int main(int argc, char **argv)
{
    struct mf_options options;

    output_open();
    mf_options_parse(argc, argv, false, &options);
    if (options.ranks == 0 || options.write != NULL) {
        fprintf(stderr, "%s: give the number of ranks, -n; --write is for ncoll-mf-sgd\n", argv[0]);
        return EXIT_USAGE;
    }
    struct sim_config config = {
        .ranks = options.ranks, .node_ranks = 1, .seed = options.steps.seed, .jitter_ns = 2000};
    return sim_run(&config, NULL, rank_main, &options, NULL) ? EXIT_SUCCESS : EXIT_FAILURE;
}
