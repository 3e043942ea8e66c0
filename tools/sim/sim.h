/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of ncoll-sim: options.c reads the command line, costs.c finds the costs of messages,
 * sweep.c makes the runs, and report.c and picture.c print and draw the results. */
#ifndef NCOLL_TOOLS_SIM_SIM_H
#define NCOLL_TOOLS_SIM_SIM_H

#include <stdio.h>

#include <jansson.h>

#include "loggp/loggp.h"

#define LIST_MAX  4096
#define RADII_MAX 64
#define REPEATS   1000
#define TRACE_MAX 1000000

struct options {
    uint64_t given;
    const struct algorithm *algorithms[ALGORITHMS_MAX];
    unsigned n_algorithms;
    bool all_algorithms;
    unsigned collectives; /* bits 1u << enum collective */
    unsigned ranks[LIST_MAX], n_ranks;
    size_t sizes[LIST_MAX];
    unsigned n_sizes;
    unsigned radii[RADII_MAX], n_radii;
    bool best, quiet;
    unsigned per_node, lanes, repeat, root;
    uint64_t seed;
    size_t segment_bytes;
    const char *far, *near, *noise_text, *json, *plot;
    double hop_ns;
    struct loggp_costs costs;
    struct loggp_network network;
    struct loggp_noise noise;
    struct loggp_detour *trace;
};

void options_parse(int argc, char **argv, struct options *out);

/* Reads costs: the name of a set, a file, or numbers such as L=..,o=..,G=... Returns NULL on
 * success, otherwise the mistake, in `text`. *is_file is set if the mistake is in a file, and not
 * in the command line. */
const char *costs_read(const char *from, struct loggp_cost *out, double *local_byte_ns,
                       bool *is_file, char text[256]);
/* Writes the names of the sets, "qdr, fdr, ..", to text. Returns text. */
const char *costs_names(char text[128]);
json_t *costs_json(const struct loggp_cost *cost);

/* A point: one collective, algorithm, radix, size and number of ranks. */
struct row {
    enum collective collective;
    const struct algorithm *algorithm;
    unsigned ranks, nodes, radix;
    size_t bytes;
    bool exists;
    double *samples_ns;       /* [repeat], ascending; from the entry of the last rank */
    double first_ns, mean_ns; /* when the first rank ends, and the mean, in the first run */
    uint64_t messages;
    double sent_bytes;
};

struct sweep {
    const struct options *options;
    struct row *rows;
    size_t n_rows;
    uint64_t events;
    double processor_s;
};

/* Runs all points. Returns 0, or EXIT_FAILURE after printing the reason on stderr. */
int sweep_run(const struct options *o, struct sweep *out);
void sweep_free(struct sweep *s);
static inline double median_ns(const struct sweep *s, const struct row *row)
{
    return row->samples_ns[(s->options->repeat - 1) / 2];
}

int report_print(const struct sweep *s);
int report_json(const struct sweep *s, int argc, char **argv);
/* Draws the medians over the number of ranks, or over the size if there is only one number of
 * ranks. */
int picture_draw(const struct sweep *s);

#endif
