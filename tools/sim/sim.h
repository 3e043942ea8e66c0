/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of ncoll-sim: options.c reads the command line, costs.c finds the costs of messages,
 * sweep.c makes the runs, report.c and picture.c print and draw the results, and trace.c writes the
 * time-line of a run. */
#ifndef NCOLL_TOOLS_SIM_SIM_H
#define NCOLL_TOOLS_SIM_SIM_H

#include <jansson.h>

#include "loggp/loggp.h"
#include "tools/bench/measure/distribution.h"
#include "tools/inside.h"

#define LIST_MAX  4096
#define RADII_MAX 64
#define REPEATS   1000
#define TRACE_MAX 1000000

struct options {
    uint64_t given;
    const struct algorithm *algorithms[ALGORITHMS_MAX];
    unsigned radix_of[ALGORITHMS_MAX]; /* of each of them; 0: those of all */
    unsigned n_algorithms;
    bool all_algorithms;
    unsigned collectives;           /* bits 1u << code (tools/bench/names.h) */
    enum distribution distribution; /* of the blocks of collectives with counts */
    unsigned ranks[LIST_MAX], n_ranks;
    size_t sizes[LIST_MAX];
    unsigned n_sizes;
    unsigned radii[RADII_MAX], n_radii;
    bool best, total, quiet;
    unsigned per_node, lanes, repeat, root;
    unsigned slots;  /* that a part may use; 0: all */
    double fraction; /* of the ranks, for algorithms that take a part of them; 0: all */
    uint64_t seed;
    size_t segment_bytes;
    const char *far, *near, *noise_text, *json, *plot, *trace_file;
    double hop_ns;
    struct loggp_costs costs;
    struct loggp_network network;
    struct loggp_noise noise;
    struct loggp_detour *trace;
};

void options_parse(int argc, char **argv, struct options *out);

/* The costs of a machine, as far as they are known. Below 0: not known. */
struct known_costs {
    struct loggp_cost cost;
    double local_byte_ns, call_ns;
};

/* Reads costs: the name of a set, a file, or numbers such as L=..,o=..,G=... Returns NULL on
 * success, otherwise the mistake, in `text`. *is_file is set if the mistake is in a file, and not
 * in the command line. */
const char *costs_read(const char *from, struct known_costs *out, bool *is_file, char text[256]);
/* Writes the names of the sets, "qdr, fdr, ..", to text. Returns text. */
const char *costs_names(char text[128]);
json_t *costs_json(const struct loggp_cost *cost);

/* A point: one collective, algorithm, radix, size and number of ranks. */
struct row {
    enum collective collective;
    enum distribution distribution;
    const struct algorithm *algorithm;
    unsigned ranks, nodes, radix;
    size_t bytes, size; /* of the vector or of each block; as asked for */
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

/* Returns the name of the collective: "allgatherv decreasing". */
#define ROW_NAME 64
const char *row_name(const struct row *row, char text[ROW_NAME]);
int report_print(const struct sweep *s);
int report_json(const struct sweep *s, int argc, char **argv);
/* Draws the medians over the number of ranks, or over the size if there is only one number of
 * ranks. */
int picture_draw(const struct sweep *s);

/* The steps of one run. */
struct steps {
    struct loggp_step *of;
    size_t n;
    bool lacks_room;
};

/* Makes the job note its steps. */
void trace_begin(struct steps *steps, struct loggp_job *job);
/* Writes them as a time-line, and frees them. Returns 0, or EXIT_FAILURE after printing the reason
 * on stderr. */
int trace_write(struct steps *steps, const struct row *row, const struct options *o);

#endif
