/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-sim: predicts how long collectives take on machines that one does not have. The schedules
 * are those of the library. The simulator in loggp/ runs them on all ranks, each of which has a
 * clock of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/cg/support.h"
#include "tools/arguments.h"
#include "tools/json.h"
#include "tools/sim/sim.h"

/* Reports that none of the requested schedules exists. It is a mistake of the command line, which
 * has everything that this depends on.
 * */
static int check_any(const struct sweep *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (s->rows[i].exists)
            return 0;
    fprintf(stderr, "%s: there is no such schedule for these numbers of ranks and radices%s\n",
            program_invocation_short_name,
            s->options->per_node > 1 ? "" : "; some need ranks that share nodes (--per-node)");
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static struct options o;
    struct sweep s = {0};

    output_open();
    options_parse(argc, argv, &o);
    json_require(o.json);
    json_require(o.plot);
    json_require(o.trace_file);
    int status = sweep_run(&o, &s);
    if (status == 0)
        status = report_print(&s);
    if (status == 0 && o.json != NULL)
        status = report_json(&s, argc, argv);
    if (status == 0 && o.plot != NULL)
        status = picture_draw(&s);
    if (status == 0)
        status = check_any(&s);
    sweep_free(&s);
    free(o.trace);
    return output_written(stdout) ? status : EXIT_FAILURE;
}
