/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench: measures collectives, on ranks that it forks or that a launcher has started.
 */
#include <string.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"
#include "tools/bench/compare/companion.h"
#include "tools/bench/interfere.h"
#include "tools/launch.h"

static const struct subject *const subjects[] = {SUBJECTS_OF_NCOLL, NULL};

int main(int argc, char **argv)
{
    struct options options;

    output_open();
    if (argc > 1 && strcmp(argv[1], "plot") == 0)
        companion_plot(argc - 1, argv + 1);
    options_parse(argc, argv, run_is_quiet(), &options);
    if (options.interfere > 0 && (options.ranks > 0 || !launch_is_done()))
        interfere_start(&options);
    if (options.companion != COMPANION_NONE)
        companion_exec(&options);
    int status = run_ranks(&options, subjects);
    interfere_stop();
    return status;
}
