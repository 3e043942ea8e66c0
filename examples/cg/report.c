/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cg.h"
#include "support.h"

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* Returns the median, and sorts the values. */
static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, by_size);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Computes the seconds of an iteration, for each phase and for all of them (at PHASES): the median
 * over iterations, and of that the maximum over ranks. Collective. */
static int medians(const struct run *run, double out[PHASES + 1])
{
    const struct problem *p = run->problem;
    size_t n = run->n_times, columns = PHASES + 1;
    double *longest = calloc(n * columns + 1, sizeof *longest);
    int status = NCOLL_ERR_MEMORY;

    if (longest == NULL)
        return failure_no_memory();
    for (size_t i = 0; i < n; i++)
        for (int phase = 0; phase < PHASES; phase++) {
            longest[(size_t)phase * n + i] = run->times[i][phase];
            longest[PHASES * n + i] += run->times[i][phase];
        }
    status = ncoll_allreduce(p->world, longest, longest, n * columns, NCOLL_DOUBLE, NCOLL_MAX,
                             NCOLL_BLOCK);
    for (size_t c = 0; c < columns; c++)
        out[c] = median(longest + c * n, (unsigned)n);
    free(longest);
    return failure_of_call(p->ctx, status);
}

/* Computes the seconds of a solution, for each phase and from its first iteration to the end of the
 * last (at PHASES): the mean over ranks and solutions. Collective. */
static int means(const struct cg_options *o, const struct run *run, double out[PHASES + 1])
{
    const struct problem *p = run->problem;

    memset(out, 0, (PHASES + 1) * sizeof *out);
    for (size_t i = 0; i < run->n_times; i++)
        for (int phase = 0; phase < PHASES; phase++)
            out[phase] += run->times[i][phase];
    out[PHASES] = run->seconds;
    int status =
        ncoll_allreduce(p->world, out, out, PHASES + 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    for (int phase = 0; phase <= PHASES; phase++)
        out[phase] /= (double)p->ranks * o->repeats;
    return failure_of_call(p->ctx, status);
}

static void print_problem(const struct problem *p, const struct cg_options *o, FILE *out)
{
    ncoll_stats stats = {.size = sizeof stats};
    const char *tune = getenv("NCOLL_TUNE");

    ncoll_context_stats(p->ctx, &stats);
    if (o->file != NULL)
        fprintf(out, "%s", o->file);
    else
        fprintf(out, "Laplace operator on %" PRId64 " x %" PRId64 " x %" PRId64 " points",
                o->grid.x, o->grid.y, o->grid.z);
    fprintf(out, ": %" PRId64 " rows, %" PRId64 " nonzeros\n", p->a.n, p->nonzeros);
    fprintf(out, "%d rank%s on %d node%s over %s%s%s\n", p->ranks, p->ranks == 1 ? "" : "s",
            stats.nodes, stats.nodes == 1 ? "" : "s", stats.transport,
            tune != NULL ? ", NCOLL_TUNE=" : "", tune != NULL ? tune : "");
    if (o->blocks > 0)
        fprintf(out, "dot products in %u blocks of rows: the same bits for every number of ranks\n",
                p->blocks);
    else
        fprintf(out, "dot products of one number a rank: last bits depend on the order of sums\n");
}

static double collectives_of(const double seconds[PHASES + 1])
{
    return seconds[PHASE_EXCHANGE] + seconds[PHASE_DOTS] + seconds[PHASE_BARRIER];
}

static double sum_of(const double seconds[PHASES + 1])
{
    return collectives_of(seconds) + seconds[PHASE_SPMV] + seconds[PHASE_REST];
}

static void print_phases(const double seconds[PHASES + 1], double scale, FILE *out)
{
    double all = sum_of(seconds);

    for (int phase = 0; phase <= PHASES; phase++)
        fprintf(out, " %9.2f", seconds[phase] * scale);
    fprintf(out, " %10.1f%%", all > 0 ? 100 * collectives_of(seconds) / all : 0);
}

#define PHASE_TITLES "%9s %9s %9s %9s %9s %9s %11s\n"
#define PHASE_NAMES  "spmv", "exchange", "dots", "barrier", "rest", "whole", "collectives"

static void print_iterations(const struct cg_options *options, const struct run *runs,
                             unsigned n_runs, double seconds[][PHASES + 1], FILE *out)
{
    fprintf(out, "us of an iteration: the maximum over ranks, in the median of all iterations%s\n",
            options->barriers ? "" : "; no barriers");
    fprintf(out, "%-8s %10s %9s %9s " PHASE_TITLES, "with", "iterations", "residual", "|b-Ax|/|b|",
            PHASE_NAMES);
    for (unsigned i = 0; i < n_runs; i++) {
        const struct run *run = &runs[i];
        fprintf(out, "%-8s %10u %9.2e %9.2e ", run->name, run->iterations,
                run->history[run->iterations], run->true_residual);
        print_phases(seconds[i], 1e6, out);
        fprintf(out, "%s\n", run->converged ? "" : "  (not converged)");
    }
}

static void print_solutions(const struct run *runs, unsigned n_runs, double seconds[][PHASES + 1],
                            FILE *out)
{
    fprintf(out, "ms of a solution: the mean over ranks, in which phases add up to the whole\n");
    fprintf(out, "%-8s %31s" PHASE_TITLES, "with", "", PHASE_NAMES);
    for (unsigned i = 0; i < n_runs; i++) {
        fprintf(out, "%-8s %31s", runs[i].name, "");
        print_phases(seconds[i], 1e3, out);
        fprintf(out, "\n");
    }
}

/* Returns the largest relative difference of two residuals. */
static double difference(const struct run *a, const struct run *b)
{
    unsigned n = a->iterations < b->iterations ? a->iterations : b->iterations;
    double most = 0;

    for (unsigned k = 0; k <= n; k++)
        most = fmax(most, fabs(a->history[k] - b->history[k]) / a->history[k]);
    return most;
}

/* Prints by how much two runs differ. */
static void print_difference(const struct run *a, const struct run *b, FILE *out)
{
    fprintf(out, "residuals of %s and %s: ", a->name, b->name);
    if (a->iterations == b->iterations &&
        memcmp(a->history, b->history, (a->iterations + 1) * sizeof *a->history) == 0)
        fprintf(out, "the same bits in all %u iterations\n", a->iterations);
    else
        fprintf(out, "%u and %u iterations, at most %.1e apart\n", a->iterations, b->iterations,
                difference(a, b));
}

static void print_agreement(const struct run *runs, unsigned n_runs, FILE *out)
{
    for (unsigned i = 0; i < n_runs; i++)
        if (!runs[i].same_again)
            fprintf(out, "%s: not the same residuals in each solution\n", runs[i].name);
    for (unsigned i = 1; i < n_runs; i++)
        print_difference(&runs[0], &runs[i], out);
}

/* Writes a line for each iteration: its number, and the residual with each library. */
static bool write_history(const char *file, const struct run *runs, unsigned n_runs)
{
    bool to_stdout = strcmp(file, "-") == 0;
    FILE *out = to_stdout ? stdout : fopen(file, "we");
    unsigned most = 0;
    bool ok = out != NULL;

    for (unsigned i = 0; i < n_runs; i++)
        most = runs[i].iterations > most ? runs[i].iterations : most;
    for (unsigned k = 0; ok && k <= most; k++) {
        fprintf(out, "%u", k);
        for (unsigned i = 0; i < n_runs; i++)
            if (k <= runs[i].iterations)
                fprintf(out, " %.17g", runs[i].history[k]);
            else
                fprintf(out, " -");
        fprintf(out, "\n");
    }
    if (to_stdout)
        return output_written(out);
    ok = ok && fflush(out) == 0 && !ferror(out);
    if (!ok)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, file,
                strerror(errno));
    if (out != NULL)
        fclose(out);
    return ok;
}

int cg_report(const struct cg_options *options, const struct run *runs, unsigned n_runs,
              bool *written)
{
    const struct problem *p = runs[0].problem;
    double of_iterations[CG_RUNS][PHASES + 1], of_solutions[CG_RUNS][PHASES + 1];
    /* If residuals go to standard output, they are alone there, and the report goes to stderr. */
    FILE *out = options->history != NULL && strcmp(options->history, "-") == 0 ? stderr : stdout;
    int status = NCOLL_OK;

    for (unsigned i = 0; i < n_runs && status == NCOLL_OK; i++) {
        status = medians(&runs[i], of_iterations[i]);
        if (status == NCOLL_OK)
            status = means(options, &runs[i], of_solutions[i]);
    }
    if (status != NCOLL_OK || p->rank != 0)
        return status;
    print_problem(p, options, out);
    print_iterations(options, runs, n_runs, of_iterations, out);
    print_solutions(runs, n_runs, of_solutions, out);
    print_agreement(runs, n_runs, out);
    if (options->history != NULL)
        *written = write_history(options->history, runs, n_runs);
    *written = output_written(out) && *written;
    return NCOLL_OK;
}
