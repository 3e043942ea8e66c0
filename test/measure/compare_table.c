/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare-table FILE...: what ncoll-bench --mpi has written with --json in a run of `compare`, as
 * tables in Markdown: for each MPI, transport and number of ranks the ratio of ncoll's median to
 * the MPI's, with its interval, by collective and size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/measure/points.h"

#define SIZES_MAX 64

/* The sizes of a table's columns; a barrier is in the first. */
struct columns {
    size_t bytes[SIZES_MAX];
    unsigned n;
};

static int by_size(const void *left, const void *right)
{
    size_t a = *(const size_t *)left, b = *(const size_t *)right;

    return (a > b) - (a < b);
}

static void add_size(struct columns *c, size_t bytes)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->bytes[i] == bytes)
            return;
    if (c->n < SIZES_MAX)
        c->bytes[c->n++] = bytes;
}

static struct columns columns_of(const struct point *first, unsigned n)
{
    struct columns c = {.n = 0};

    for (unsigned i = 0; i < n; i++)
        if (first[i].bytes > 0)
            add_size(&c, first[i].bytes);
    if (c.n == 0)
        c.n = 1;
    qsort(c.bytes, c.n, sizeof c.bytes[0], by_size);
    return c;
}

static void print_size(size_t bytes)
{
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0)
        printf(" %zuM |", bytes >> 20);
    else if (bytes >= 1 << 10 && bytes % (1 << 10) == 0)
        printf(" %zuK |", bytes >> 10);
    else
        printf(" %zu |", bytes);
}

static void print_head(const struct point *first, unsigned n, const struct columns *c)
{
    double least_us = first->cores_us, most_us = first->cores_us;

    printf("\n## %s, %d ranks on %d node%s over %s", first->shape.mpi, first->shape.ranks,
           first->shape.nodes, first->shape.nodes == 1 ? "" : "s", first->shape.transport);
    for (unsigned i = 0; i < n; i++) {
        least_us = first[i].cores_us < least_us ? first[i].cores_us : least_us;
        most_us = first[i].cores_us > most_us ? first[i].cores_us : most_us;
    }
    if (first->shape.cores >= 0)
        printf(", cores %.3f to %.3f us apart", least_us, most_us);
    printf("\n\n| |");
    for (unsigned i = 0; i < c->n; i++)
        print_size(c->bytes[i]);
    printf("\n|---|");
    for (unsigned i = 0; i < c->n; i++)
        printf("---|");
    printf("\n");
}

/* Ratios of a hundredth have digits that say something, too. */
static void print_ratio(double ratio)
{
    printf("%.*f", ratio < 0.0095 ? 4 : ratio < 0.095 ? 3 : 2, ratio);
}

/* Bold: ncoll is faster; italic: slower; else the interval holds 1. */
static void print_cell(const struct point *p)
{
    const char *mark = p->high < 1 ? "**" : p->low > 1 ? "*" : "";

    printf(" %s", mark);
    print_ratio(p->ratio);
    printf("%s (", mark);
    print_ratio(p->low);
    printf("-");
    print_ratio(p->high);
    printf(") %.*f us |", p->us < 10 ? 2 : p->us < 100 ? 1 : 0, p->us);
}

static bool same_line(const struct point *a, const struct point *b)
{
    return strcmp(a->what, b->what) == 0 && strcmp(a->distribution, b->distribution) == 0;
}

/* Those from `line` on that are of the same collective. Returns their number. */
static unsigned print_line(const struct point *line, const struct point *end,
                           const struct columns *c)
{
    unsigned n = 0;

    while (line + n < end && same_line(line, line + n))
        n++;
    printf("| %s%s%s |", line->what, line->distribution[0] != '\0' ? " " : "", line->distribution);
    for (unsigned column = 0, i = 0; column < c->n; column++) {
        if (i < n && (line[i].bytes == 0 || line[i].bytes == c->bytes[column]))
            print_cell(&line[i++]);
        else
            printf(" |");
    }
    printf("\n");
    return n;
}

static void print_sum(const struct point *first, unsigned n)
{
    unsigned faster = 0, slower = 0;

    for (unsigned i = 0; i < n; i++) {
        faster += first[i].high < 1;
        slower += first[i].low > 1;
    }
    printf("\nOf %u points ncoll is faster on %u, slower on %u; on %u the interval holds 1.\n", n,
           faster, slower, n - faster - slower);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "?";
}

static void print_top(const json_t *environment)
{
    printf("# ncoll beside MPIs\n\n"
           "`./dev bench compare`, ncoll %s, %s, %s, kernel %s.\n\n"
           "Ratio of medians, ncoll's / the MPI's, each in the same job, on the same ranks and "
           "buffers, batches taking turns in\nrandom order; the time of a call is the maximum over "
           "ranks. Median over jobs and its interval, of at least 95 %%\n(of six jobs: from the "
           "least to the most), and ncoll's time. **Bold**: ncoll "
           "is faster; *italic*: slower; else "
           "the interval holds 1.\n",
           text_of(environment, "version"), text_of(environment, "date"),
           text_of(environment, "cpu_model"), text_of(environment, "kernel"));
}

static void print_cores(const struct points *p)
{
    if (p->rounds > 0)
        printf("\nHow far cores were apart: a bare exchange before and after each batch. Of %u "
               "rounds with these %u are left out, as\nthe cores moved, or as a job had fewer than "
               "three of a kind. A cell is empty where fewer than %d jobs are left.\n",
               p->rounds, p->left_out, JOBS_LEAST);
}

static void print_few(const struct points *p)
{
    unsigned few = 0;

    for (unsigned i = 0; i < p->n; i++)
        few += p->of[i].n_jobs < JOBS_LEAST;
    if (few > 0)
        printf("\n%u of %u points are of fewer than %d jobs: their intervals are what those of the "
               "jobs span, which promises less.\n",
               few, p->n, JOBS_LEAST);
}

static void print_tables(const struct points *p)
{
    const struct point *first = p->of, *end = p->of + p->n;

    while (first < end) {
        unsigned n = 0;
        while (first + n < end && same_shape(first, first + n))
            n++;
        struct columns c = columns_of(first, n);
        print_head(first, n, &c);
        for (const struct point *line = first; line < first + n;)
            line += print_line(line, first + n, &c);
        print_sum(first, n);
        first += n;
    }
}

int main(int argc, char **argv)
{
    static struct points points;

    if (argc < 2) {
        fprintf(stderr, "usage: compare-table FILE...\n");
        return 64;
    }
    for (int i = 1; i < argc; i++)
        if (!points_read(&points, argv[i]))
            return EXIT_FAILURE;
    points_settle(&points);
    print_top(points.environment);
    print_tables(&points);
    print_cores(&points);
    print_few(&points);
    json_decref(points.environment);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
