/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the medians with gnuplot: a line for each collective, algorithm, radix and size, over the
 * number of ranks. If there is only one number of ranks, lines are drawn over the size. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/inside.h"
#include "tools/sim/sim.h"
#include "tools/table.h"

#define WIDE 30

/* True if lines are drawn over the number of ranks; false if all rows have the same number, and
 * lines are drawn over the size. */
static bool by_ranks(const struct sweep *s)
{
    return s->options->n_ranks > 1 || s->options->n_sizes == 1;
}

static bool is_drawn(const struct sweep *s, const struct row *row)
{
    return row->exists && (by_ranks(s) || row->size > 0);
}

static double place_of(const struct sweep *s, const struct row *row)
{
    return by_ranks(s) ? row->ranks : (double)row->size;
}

static bool same_line(const struct sweep *s, const struct row *a, const struct row *b)
{
    return a->collective == b->collective && a->distribution == b->distribution &&
           a->algorithm == b->algorithm && (s->options->best || a->radix == b->radix) &&
           (!by_ranks(s) || a->size == b->size);
}

/* True if no earlier row belongs to the same line. */
static bool begins_line(const struct sweep *s, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (same_line(s, &s->rows[i], &s->rows[j]) && is_drawn(s, &s->rows[j]))
            return false;
    return is_drawn(s, &s->rows[i]);
}

static bool has_own_radix(const struct sweep *s, const struct row *row)
{
    for (unsigned i = 0; i < s->options->n_algorithms; i++)
        if (s->options->algorithms[i] == row->algorithm)
            return s->options->radix_of[i] > 0;
    return false;
}

static void write_name(const struct sweep *s, const struct row *row, FILE *out)
{
    char radix[RADIX_TEXT], size[FIGURE_TEXT], name[ROW_NAME];

    fprintf(out, "%s, %s", row_name(row, name), row->algorithm->name);
    if (row->algorithm->properties & USES_RADIX && s->options->best && !has_own_radix(s, row))
        fprintf(out, ", best n");
    else if (row->algorithm->properties & USES_RADIX)
        fprintf(out, ", n = %s", ncoll__radix_text(row->radix, radix));
    if (by_ranks(s) && row->size > 0 && s->options->n_sizes > 1)
        fprintf(out, ", %s", size_text(row->size, size));
}

/* True if the longest time is so long that most of the others would be drawn as 0. */
static bool is_wide(const struct sweep *s)
{
    double least = HUGE_VAL, most = 0;

    for (size_t i = 0; i < s->n_rows; i++)
        if (is_drawn(s, &s->rows[i])) {
            least = fmin(least, median_ns(s, &s->rows[i]));
            most = fmax(most, median_ns(s, &s->rows[i]));
        }
    return most > WIDE * least;
}

static void write_script(const struct sweep *s, FILE *out)
{
    unsigned lines = 0;

    for (size_t i = 0; i < s->n_rows; i++) {
        if (!begins_line(s, i))
            continue;
        fprintf(out, "$line%u << END\n", lines++);
        for (size_t j = i; j < s->n_rows; j++)
            if (same_line(s, &s->rows[i], &s->rows[j]) && is_drawn(s, &s->rows[j]))
                fprintf(out, "%.9g %.9g\n", place_of(s, &s->rows[j]),
                        median_ns(s, &s->rows[j]) / 1e3);
        fputs("END\n", out);
    }
    fputs("set terminal svg noenhanced size 1000,560 font 'sans-serif,14' background '#ffffff'\n",
          out);
    fputs("set border 3 linecolor '#666666'\nset tics nomirror\nset grid linecolor '#dddddd' "
          "linewidth 0.7\n",
          out);
    fputs("set key outside right top vertical Left reverse samplen 3\n", out);
    fprintf(out, "set title 'simulated, %s'\nset ylabel 'time of a call in us'\n",
            strpbrk(s->options->far, "'\\") == NULL ? s->options->far : "costs of a file");
    fprintf(out, "set xlabel '%s'\n", by_ranks(s) ? "ranks" : "size in bytes");
    const unsigned *P = s->options->ranks;
    if (!by_ranks(s) || P[s->options->n_ranks - 1] / P[0] > 50)
        fputs("set logscale x\n", out);
    fputs(by_ranks(s) && !is_wide(s) ? "set yrange [0:*]\n" : "set logscale y\n", out);
    fputs("plot ", out);
    for (size_t i = 0, line = 0; i < s->n_rows; i++) {
        if (!begins_line(s, i))
            continue;
        fprintf(out, "%s$line%zu using 1:2 with linespoints pointsize 0.5 linewidth 2 title '",
                line > 0 ? ", " : "", line);
        write_name(s, &s->rows[i], out);
        fputs("'", out);
        line++;
    }
    fputs("\n", out);
}

static bool has_points(const struct sweep *s)
{
    for (size_t i = 0; i < s->n_rows; i++)
        if (is_drawn(s, &s->rows[i]))
            return true;
    return false;
}

/* Runs gnuplot with the picture's file as its standard output. */
int picture_draw(const struct sweep *s)
{
    const char *name = s->options->plot;
    struct stat drawn;

    if (!has_points(s))
        return 0;
    FILE *file = fopen(name, "we");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, name,
                strerror(errno));
        return EXIT_FAILURE;
    }
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    FILE *gnuplot = popen("exec gnuplot", "we");
    dup2(kept, STDOUT_FILENO);
    close(kept);
    if (gnuplot != NULL)
        write_script(s, gnuplot);
    bool failed = gnuplot == NULL || pclose(gnuplot) != 0 || fstat(fileno(file), &drawn) != 0 ||
                  drawn.st_size == 0;
    bool is_file = fstat(fileno(file), &drawn) == 0 && S_ISREG(drawn.st_mode);
    fclose(file);
    if (!failed)
        return 0;
    if (is_file)
        unlink(name);
    fprintf(stderr, "%s: gnuplot has not drawn '%s': is it installed (Debian: gnuplot-nox)?\n",
            program_invocation_short_name, name);
    return EXIT_FAILURE;
}
