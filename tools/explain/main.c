/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-explain: prints what algorithms do, in the form of their papers.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/arguments.h"
#include "tools/bench/names.h"
#include "tools/explain/explain.h"
#include "tools/table.h"

#define LIST_INDENT 22

/* Returns the smallest number of elements that shows the whole schedule: one, or P if a vector is
 * cut into a slice for each rank. */
static size_t explained_count(const struct algorithm *a, struct shape g)
{
    if (g.collective == COLL_BARRIER)
        return 0;
    g.count = 1;
    size_t message = a->footprint(&g).message;
    g.count = g.size;
    return a->footprint(&g).message < g.size * message ? g.size : 1;
}

static void list_registry(void)
{
    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        char served[256];
        int used = printf("%-*s ", LIST_INDENT - 1, a->name);
        print_wrapped(a->summary, (size_t)used, LIST_INDENT, stdout);
        printf("%*s", LIST_INDENT, "");
        print_wrapped(a->source, LIST_INDENT, LIST_INDENT, stdout);
        collectives_text(a->collectives, served, sizeof served - 16);
        strcat(served, a->properties & TAKES_LIST   ? "; n or a list"
                       : a->properties & USES_RADIX ? "; n"
                                                    : "");
        printf("%*s", LIST_INDENT, "");
        print_wrapped(served, LIST_INDENT, LIST_INDENT, stdout);
    }
}

/* Prints why there is no schedule. It is a mistake of the command line, which has everything that
 * this depends on. */
static int say_none(const struct algorithm *a, const struct shape *g)
{
    char radix[RADIX_TEXT];
    struct shape on_two = *g;

    fprintf(stderr, "%s: %s does not exist for %u ranks and radix %s%s",
            program_invocation_short_name, a->name, g->size, ncoll__radix_text(g->radix, radix),
            g->nodes != NULL ? " on these nodes" : "");
    if (g->nodes == NULL && g->size > 1) {
        on_two.nodes = nodes_of_halves(g->size);
        if (algorithm_exists(a, &on_two))
            fprintf(stderr, ": it depends on which ranks share a node: give --nodes or --node-of");
    }
    fputc('\n', stderr);
    return EXIT_USAGE;
}

/* True if the output would be written over one of the files that are read. */
static bool is_input(const struct options *o)
{
    struct stat out, in;

    if (o->output == NULL || stat(o->output, &out) != 0)
        return false;
    for (unsigned f = 0; f < o->n_files; f++)
        if (stat(o->files[f], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return true;
    return false;
}

/* Writes the picture of a schedule, or a time-line, to the output. Returns the exit status. */
static int write_output(const struct options *o, const struct shape *g)
{
    struct merged *timeline = NULL;

    if (o->command == COMMAND_TIMELINE) { /* a mistake in the files leaves the output as it is */
        if (is_input(o)) {
            warnx("%s is one of the files to read: give --output another name", o->output);
            return EXIT_FAILURE;
        }
        timeline = timeline_read(o->files, o->n_files);
    }
    FILE *out = o->output != NULL ? fopen(o->output, "we") : stdout;

    if (out == NULL) {
        warn("cannot write %s", o->output);
        return EXIT_FAILURE;
    }
    if (timeline != NULL)
        timeline_write(timeline, out, out != stdout ? stdout : NULL);
    else if (o->data)
        draw_data(o->algorithm, g, out);
    else
        draw_rounds(o->algorithm, g, out);
    bool failed = out != stdout && (ferror(out) != 0) + (fclose(out) != 0) > 0;
    if (failed)
        warn("cannot write %s", o->output);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int explain_schedule(const struct options *o)
{
    struct shape g = {
        .collective = o->collective,
        .rank = o->rank < 0 ? 0 : (unsigned)o->rank,
        .size = o->size,
        .root = o->root,
        .radix = o->radix,
        .inverse = !o->no_inverse,
        .nodes = nodes_given(),
        .places = o->places,
    };

    ncoll__divide(o->algorithm, &g, o->slots > 0 ? o->slots : SLOTS_MAX);
    if (!algorithm_exists(o->algorithm, &g))
        return say_none(o->algorithm, &g);
    if (g.nodes != NULL && o->command == COMMAND_SCHEDULE)
        nodes_print();
    g.count = explained_count(o->algorithm, g);
    if (o->command == COMMAND_DRAW)
        return write_output(o, &g);
    if (o->rank >= 0)
        explain_rank(o->algorithm, &g);
    else
        explain_table(o->algorithm, &g);
    if (o->far != NULL)
        explain_costs(o->algorithm, &g, &o->costs);
    return 0;
}

static int run(const struct options *o)
{
    switch (o->command) {
    case COMMAND_SCHEDULE:
    case COMMAND_DRAW:
        return explain_schedule(o);
    case COMMAND_TUPLE:
        if (o->count > 0)
            count_tuples(o->count, o->radix);
        else
            explain_tuple(o->size, o->radix);
        return 0;
    case COMMAND_TIMELINE:
        return write_output(o, NULL);
    default:
        list_registry();
        return 0;
    }
}

int main(int argc, char **argv)
{
    struct options o;

    output_open();
    options_parse(argc, argv, &o);
    int status = run(&o);
    return output_written(stdout) ? status : EXIT_FAILURE;
}
