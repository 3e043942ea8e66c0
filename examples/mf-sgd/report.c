/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../cg/support.h"
#include "mf.h"

#define ROOT 0

/* The moments of all ranks. */
struct story {
    const struct mf_options *options;
    const struct problem *problem;
    struct moment *moments; /* [ranks][iterations + 1] */
    uint64_t overruns;
};

/* An iteration: means over ranks; the error is that of all held-out ratings. */
struct row {
    double error, seconds, behind, in_call, waited;
    uint64_t most_behind;
};

static const struct moment *moment_of(const struct story *s, int rank, unsigned iteration)
{
    return &s->moments[(size_t)rank * (s->options->iterations + 1) + iteration];
}

static double root_mean(const struct story *s, double sum)
{
    return sqrt(sum / ERROR_ONE / (double)s->problem->held_out);
}

static struct row row_of(const struct story *s, unsigned iteration)
{
    struct row row = {0};
    int ranks = s->problem->ranks;

    for (int r = 0; r < ranks; r++) {
        const struct moment *m = moment_of(s, r, iteration);
        row.error += (double)m->error;
        row.seconds += (double)m->at_ns / 1e9 / ranks;
        row.behind += (double)m->behind / ranks;
        row.in_call += (double)m->in_call_ns / 1e9 / ranks;
        row.waited += (double)m->waited_ns / 1e9 / ranks;
        row.most_behind = m->behind > row.most_behind ? m->behind : row.most_behind;
    }
    row.error = root_mean(s, row.error);
    return row;
}

static uint64_t end_ns(const struct story *s)
{
    uint64_t end = 0;

    for (int r = 0; r < s->problem->ranks; r++) {
        uint64_t at = moment_of(s, r, s->options->iterations)->at_ns;
        end = at > end ? at : end;
    }
    return end;
}

/* Returns the error at a time: of each rank after the last iteration that it has made by then.
 * latest[] has these iterations, and may only be used for later times afterwards. */
static double error_at(const struct story *s, uint64_t at_ns, unsigned *latest)
{
    double sum = 0;

    for (int r = 0; r < s->problem->ranks; r++) {
        while (latest[r] < s->options->iterations && moment_of(s, r, latest[r] + 1)->at_ns <= at_ns)
            latest[r]++;
        sum += (double)moment_of(s, r, latest[r])->error;
    }
    return root_mean(s, sum);
}

/* ------------------------------------------------------------------ text --------------------- */

static void print_pace(const struct pace *p, FILE *out)
{
    if (p->compute_ns > 0)
        fprintf(out,
                "an iteration computes for %.3f ms, by sleeping for what its work leaves of it",
                (double)p->compute_ns / 1e6);
    else
        fprintf(out, "an iteration computes as long as its work takes");
    if (p->jitter > 0)
        fprintf(out, "; up to %g %% more or less", 100 * p->jitter);
    for (unsigned i = 0; i < p->n_stragglers; i++) {
        const struct straggler *s = &p->stragglers[i];
        if (s->rank >= 0)
            fprintf(out, "; rank %d takes %g times as long", s->rank, s->factor);
        else
            fprintf(out, "; %g %% of the iterations of all ranks take %g times as long",
                    100 * s->chance, s->factor);
    }
    fprintf(out, "\n");
}

static void print_head(const struct story *s, FILE *out)
{
    const struct problem *p = s->problem;
    const struct mf_options *o = s->options;
    ncoll_stats stats = {.size = sizeof stats};

    ncoll_context_stats(p->ctx, &stats);
    if (o->file != NULL)
        fprintf(out, "%s", o->file);
    else
        fprintf(out, "made up by seed %" PRIu64, o->steps.seed);
    fprintf(out,
            ": %" PRId32 " users, %" PRId32 " movies, %" PRId64 " ratings to train with, %" PRId64
            " held out\n",
            p->users, p->movies, p->trained, p->held_out);
    fprintf(out, "%d rank%s on %d node%s over %s; slack %d; %u factors: %zu elements are reduced\n",
            p->ranks, p->ranks == 1 ? "" : "s", stats.nodes, stats.nodes == 1 ? "" : "s",
            stats.transport, o->slack, o->factors, model_elements(&p->model));
    print_pace(&o->pace, out);
}

static void print_rows(const struct story *s, FILE *out)
{
    unsigned n = s->options->iterations, lines = s->options->lines;
    double waited = 0, in_call = 0;

    fprintf(out, "means over ranks; the error is the root mean square, in stars\n");
    fprintf(out, "%9s %9s %10s %8s %8s %11s %10s\n", "iteration", "error", "time s", "behind",
            "at most", "in call ms", "waited ms");
    for (unsigned k = 0; k <= n; k++) {
        struct row row = row_of(s, k);
        waited += row.waited;
        in_call += row.in_call;
        /* `lines` of them after the first one, evenly */
        if (k == 0 || (uint64_t)k * lines / n != (uint64_t)(k - 1) * lines / n)
            fprintf(out, "%9u %9.5f %10.4f %8.2f %8" PRIu64 " %11.3f %10.3f\n", k, row.error,
                    row.seconds, row.behind, row.most_behind, row.in_call * 1e3, row.waited * 1e3);
    }
    double whole = row_of(s, n).seconds;
    fprintf(out, "%.3f s: %.1f %% in the allreduce, %.1f %% waiting for contributions\n", whole,
            whole > 0 ? 100 * in_call / whole : 0, whole > 0 ? 100 * waited / whole : 0);
    if (s->overruns > 0)
        fprintf(out,
                "%" PRIu64 " of %" PRIu64 " iterations took longer than --compute-us says: give it "
                "more, or use fewer ranks\n",
                s->overruns, (uint64_t)n * (uint64_t)s->problem->ranks);
}

/* ------------------------------------------------------------------ json --------------------- */

static void json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++)
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    fputc('"', out);
}

static void json_head(const struct story *s, FILE *out)
{
    const struct problem *p = s->problem;
    const struct mf_options *o = s->options;
    ncoll_stats stats = {.size = sizeof stats};

    ncoll_context_stats(p->ctx, &stats);
    fprintf(out, "{\"version\": ");
    json_text(ncoll_version(), out);
    fprintf(out, ", \"file\": ");
    json_text(o->file != NULL ? o->file : "", out);
    fprintf(out,
            ", \"seed\": %" PRIu64 ", \"users\": %" PRId32 ", \"movies\": %" PRId32
            ", \"trained\": %" PRId64 ", \"held_out\": %" PRId64 ",\n",
            o->steps.seed, p->users, p->movies, p->trained, p->held_out);
    fprintf(out,
            " \"ranks\": %d, \"nodes\": %d, \"transport\": \"%s\", \"slack\": %d, \"factors\": %u, "
            "\"elements\": %zu, \"iterations\": %u,\n",
            p->ranks, stats.nodes, stats.transport, o->slack, o->factors, model_elements(&p->model),
            o->iterations);
    fprintf(out,
            " \"compute_us\": %g, \"jitter\": %g, \"overruns\": %" PRIu64 ", \"stragglers\": [",
            (double)o->pace.compute_ns / 1e3, o->pace.jitter, s->overruns);
    for (unsigned i = 0; i < o->pace.n_stragglers; i++) {
        const struct straggler *one = &o->pace.stragglers[i];
        fprintf(out, "%s{\"rank\": %d, \"chance\": %g, \"factor\": %g}", i > 0 ? ", " : "",
                one->rank, one->chance, one->factor);
    }
    fprintf(out, "],\n");
}

/* Points of time, as many as iterations, at even distances from the beginning to the end of the last
 * rank. */
static bool json_times(const struct story *s, FILE *out)
{
    unsigned n = s->options->iterations,
             *latest = calloc((size_t)s->problem->ranks, sizeof *latest);
    uint64_t end = end_ns(s);

    if (latest == NULL)
        return false;
    fprintf(out, " \"by_time\": [");
    for (unsigned k = 0; k <= n; k++) {
        uint64_t at = n > 0 ? end / n * k + end % n * k / n : 0;
        fprintf(out, "%s\n  [%.9g, %.9g]", k > 0 ? "," : "", (double)at / 1e9,
                error_at(s, at, latest));
    }
    fprintf(out, "]");
    free(latest);
    return true;
}

static bool write_json(const struct story *s, FILE *out)
{
    json_head(s, out);
    fprintf(out, " \"by_iteration\": [");
    for (unsigned k = 0; k <= s->options->iterations; k++) {
        struct row row = row_of(s, k);
        fprintf(out,
                "%s\n  {\"iteration\": %u, \"error\": %.9g, \"time_s\": %.9g, \"behind\": %.9g, "
                "\"most_behind\": %" PRIu64 ", \"in_call_s\": %.9g, \"waited_s\": %.9g}",
                k > 0 ? "," : "", k, row.error, row.seconds, row.behind, row.most_behind,
                row.in_call, row.waited);
    }
    fprintf(out, "],\n");
    bool ok = json_times(s, out);
    fprintf(out, "}\n");
    return ok;
}

static bool write_json_file(const struct story *s, const char *file)
{
    if (strcmp(file, "-") == 0)
        return write_json(s, stdout) && output_written(stdout);
    FILE *out = fopen(file, "we");
    bool ok = out != NULL && write_json(s, out) && fflush(out) == 0 && !ferror(out);
    if (!ok)
        fprintf(stderr, "%s: cannot write '%s': %s\n", program_invocation_short_name, file,
                strerror(errno));
    if (out != NULL)
        fclose(out);
    return ok;
}

int mf_report(const struct mf_options *options, const struct problem *p, const struct run *run,
              bool *written)
{
    struct story s = {.options = options, .problem = p};
    size_t words = (options->iterations + 1) * MOMENT_WORDS;
    /* If the JSON goes to standard output, it is alone there, and the report goes to stderr. */
    FILE *out = options->json != NULL && strcmp(options->json, "-") == 0 ? stderr : stdout;
    int status = NCOLL_OK;

    if (p->rank == ROOT && (s.moments = calloc((size_t)p->ranks, words * sizeof(uint64_t))) == NULL)
        return failure_no_memory();
    status =
        ncoll_gather(p->world, run->moments, s.moments, words, NCOLL_UINT64, ROOT, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_reduce(p->world, &run->overruns, &s.overruns, 1, NCOLL_UINT64, NCOLL_SUM,
                              ROOT, NCOLL_BLOCK);
    if (failure_of_call(p->ctx, status) == NCOLL_OK && p->rank == ROOT) {
        print_head(&s, out);
        print_rows(&s, out);
        *written = options->json == NULL || write_json_file(&s, options->json);
        *written = output_written(out) && *written;
    }
    free(s.moments);
    return status;
}
