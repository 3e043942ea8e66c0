/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll-bench plot: pictures of what ncoll-bench has written as JSON, drawn by gnuplot.
 *
 *     load.c     rows of all files
 *     charts.c   which pictures there are, and what is in each
 *     figures.c  lines: of which rows, under which name
 *     axis.c     where ticks are, and what they say
 *     script.c   a picture as a gnuplot script with its data
 *     draw.c     gnuplot, and the files that it makes
 */
#ifndef NCOLL_TOOLS_PLOT_PLOT_H
#define NCOLL_TOOLS_PLOT_PLOT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* ------------------------------------------------------------------ rows --------------------- */

/* A row of a file. Text belongs to the JSON. NAN: the file does not say. */
struct row_figures {
    unsigned file;
    const char *subject, *collective, *transport;
    const char *distribution; /* NULL: none */
    int64_t bytes, ranks, nodes;
    double p50, low, high; /* us; the interval of the median */
    double mb_per_s;
    const json_t *samples; /* us; NULL: none */
    const json_t *row;
};

struct figures {
    json_t **trees; /* one for each file */
    char **names;   /* of the files, without folder and ending */
    unsigned n_files;
    struct row_figures *rows;
    unsigned n_rows;
};

/* false: it has been said which file is none of ncoll-bench's, and why. */
bool figures_load(char *const *files, unsigned n_files, struct figures *out);
void figures_free(struct figures *f);

/* A number of an object, NAN if it is not there or none. */
double number_of(const json_t *object, const char *key);

/* Limits that are measured beside collectives, and not libraries: raw, flags, copy, pull. */
bool is_limit(const struct row_figures *row);

/* A library that ncoll is compared with. */
bool is_library(const struct row_figures *row);

/* ------------------------------------------------------------------ charts ------------------- */

enum unit {
    UNIT_BYTES,
    UNIT_RANKS,
    UNIT_TIME, /* us */
    UNIT_RATIO,
    UNIT_SHARE, /* f, as -log10(1 - f): of the slowest calls one sees as much as of the others */
    UNIT_RATE,  /* MB/s */
};

struct point {
    double x, y, low, high; /* low, high: NAN if there is no interval */
};

enum line_kind {
    LINE_FIGURES, /* points and lines between them */
    LINE_STEPS,   /* a distribution */
    LINE_LIMIT,   /* dashed, grey */
};

struct line {
    char name[128];
    char subject[32]; /* which colour it has */
    enum line_kind kind;
    unsigned look; /* of its points and dashes; lines of one subject may differ in it */
    struct point *points;
    unsigned n_points, room;
};

#define LINES_MAX 24
#define COLOURS   8 /* lines that differ by their colour alone */

struct chart {
    char file[128]; /* without ending */
    char title[160], below[256];
    const char *x_label, *y_label;
    enum unit x, y;
    double mark;    /* a line across at this y; NAN: none */
    double no_size; /* the x at which something stands that has no size; NAN: nothing does */
    bool dodge;     /* lines stand a little beside each other, so that intervals do */
    struct line lines[LINES_MAX];
    unsigned n_lines;
    unsigned left_out; /* lines for which there was no room */
    bool failed;       /* out of memory */
};

/* Calls draw(arg, chart) for each chart that the figures are enough for, until it fails. Returns
 * how many there were, -1 for a failure. */
int charts_make(const struct figures *f, bool (*draw)(void *arg, const struct chart *chart),
                void *arg);

/* A new line; NULL: no room. */
struct line *chart_line(struct chart *chart, enum line_kind kind, const char *subject);
void chart_point(struct chart *chart, struct line *line, struct point point);
void chart_free(struct chart *chart);

/* What a chart is of: rows of one collective, ranks and nodes; of any where it says NULL or 0. */
struct topic {
    const char *collective, *distribution;
    int64_t ranks, nodes;
};
bool is_of(const struct row_figures *row, const struct topic *topic);

/* The smallest and largest bytes of the topic's rows that are no limits; false: there are no two.
 */
bool sizes_of(const struct figures *f, const struct topic *topic, double *low, double *high);

/* Lines of rows that share their subject and file, by size: latency, or rate. */
void add_by_size(const struct figures *f, const struct topic *topic, enum unit y,
                 struct chart *chart);
void add_limits(const struct figures *f, const struct topic *topic, enum unit y,
                struct chart *chart);
/* Those of several numbers of ranks, by these, and the limits for so many bytes. */
void add_by_ranks(const struct figures *f, const struct topic *topic, int64_t bytes, unsigned look,
                  struct chart *chart);
/* Of all calls, and those of the limits. */
void add_distributions(const struct figures *f, const struct topic *topic, int64_t bytes,
                       struct chart *chart);
void add_ratios(const struct figures *f, const struct topic *topic, const char *to,
                struct chart *chart);

/* The name of the library that comes after that one, in the order of names; NULL for the first of
 * them, and if there is none. */
const char *next_library(const struct figures *f, const struct topic *topic, const char *last);

/* ------------------------------------------------------------------ drawing ------------------ */

/* 4096 bytes: "4K"; 0.5 us: "500 ns". Returns text. */
const char *unit_text(enum unit unit, double value, char *text, size_t size);

/* Ticks of a logarithmic axis, low to high: ('512' 512, '1K' 1024). */
void axis_print_ticks(FILE *out, const char *axis, enum unit unit, double low, double high);

enum format {
    FORMAT_SVG,
    FORMAT_PNG,
};
extern const char *const format_endings[2];

/* The script that makes `picture`. */
void script_print(const struct chart *chart, enum format format, const char *picture, FILE *out);

#define PLOT_NAME "ncoll-bench plot" /* in messages */

/* What `ncoll-bench plot` does; argv[0] is "plot", and is changed. Returns the exit status. */
int plot_main(int argc, char **argv);

#endif
