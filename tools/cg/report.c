/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cg/cg.h"
#include "tools/output.h"

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* Sorts. */
static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, by_size);
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Seconds of an iteration: of each phase and of all of them (at PHASES), the maximum over ranks in
 * the median over iterations. Collective. */
static int medians(const struct problem *p, const struct run *run, double out[PHASES + 1])
{
    size_t n = run->n_times, columns = PHASES + 1;
    double *longest = calloc(n * columns + 1, sizeof *longest);
    int status = NCOLL_ERR_MEMORY;

    if (longest == NULL)
        return cg_no_memory();
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
    return cg_say(p->ctx, status);
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

static void print_times(const struct run *run, double seconds[PHASES + 1], FILE *out)
{
    double collectives = seconds[PHASE_EXCHANGE] + seconds[PHASE_DOTS] + seconds[PHASE_BARRIER];
    double all = collectives + seconds[PHASE_SPMV] + seconds[PHASE_REST];

    fprintf(out, "%-6s %10u %9.2e %9.2e", run->comm->name, run->iterations,
            run->history[run->iterations], run->true_residual);
    for (int phase = 0; phase <= PHASES; phase++)
        fprintf(out, " %9.2f", seconds[phase] * 1e6);
    fprintf(out, " %10.1f%%%s\n", all > 0 ? 100 * collectives / all : 0,
            run->converged ? "" : "  (not converged)");
}

/* The largest difference of two residuals, over the residual. */
static double difference(const struct run *a, const struct run *b)
{
    unsigned n = a->iterations < b->iterations ? a->iterations : b->iterations;
    double most = 0;

    for (unsigned k = 0; k <= n; k++)
        most = fmax(most, fabs(a->history[k] - b->history[k]) / a->history[k]);
    return most;
}

static void print_agreement(const struct run *runs, unsigned n_runs, FILE *out)
{
    for (unsigned i = 0; i < n_runs; i++)
        if (!runs[i].same_again)
            fprintf(out, "%s: not the same residuals in each solution\n", runs[i].comm->name);
    if (n_runs < 2)
        return;
    fprintf(out, "residuals of %s and %s: ", runs[0].comm->name, runs[1].comm->name);
    if (runs[0].iterations == runs[1].iterations &&
        memcmp(runs[0].history, runs[1].history,
               (runs[0].iterations + 1) * sizeof *runs[0].history) == 0)
        fprintf(out, "the same bits in all %u iterations\n", runs[0].iterations);
    else
        fprintf(out, "%u and %u iterations, at most %.1e apart\n", runs[0].iterations,
                runs[1].iterations, difference(&runs[0], &runs[1]));
}

/* A line for each iteration: its number, and the residual of each library. */
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

int cg_report(const struct problem *p, const struct cg_options *options, const struct run *runs,
              unsigned n_runs, bool *written)
{
    double seconds[CG_LIBRARIES][PHASES + 1];
    bool quiet = p->rank != 0;
    /* Residuals alone on standard output can go through a pipe. */
    FILE *out = options->history != NULL && strcmp(options->history, "-") == 0 ? stderr : stdout;
    int status = NCOLL_OK;

    for (unsigned i = 0; i < n_runs && status == NCOLL_OK; i++)
        status = medians(p, &runs[i], seconds[i]);
    if (status != NCOLL_OK || quiet)
        return status;
    print_problem(p, options, out);
    fprintf(out, "us of an iteration: the maximum over ranks, in the median of all iterations%s\n",
            options->barriers ? "" : "; no barriers");
    fprintf(out, "%-6s %10s %9s %9s %9s %9s %9s %9s %9s %9s %11s\n", "with", "iterations",
            "residual", "|b-Ax|/|b|", "spmv", "exchange", "dots", "barrier", "rest", "whole",
            "collectives");
    for (unsigned i = 0; i < n_runs; i++)
        print_times(&runs[i], seconds[i], out);
    print_agreement(runs, n_runs, out);
    if (options->history != NULL)
        *written = write_history(options->history, runs, n_runs);
    *written = output_written(out) && *written;
    return NCOLL_OK;
}
