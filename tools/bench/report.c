/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <string.h>

#include "tools/bench/names.h"
#include "tools/bench/overlap.h"
#include "tools/output.h"

#define COLUMNS_MAX 24

/* Others are compared with it. */
static bool is_used(const struct job *job, const struct subject *subject)
{
    return subject->label[0] != '\0' && subject != &subject_overlap && subject != &subject_rate &&
           has_rows(job, subject);
}

/* Of the bare exchange. */
static bool has_bandwidth(const struct job *job)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].subject->batch != NULL && job->rows[i].bytes > 0)
            return true;
    return false;
}

double report_ratio(const struct job *job, const struct row *row, const struct subject *to)
{
    const struct row *other = row->subject != to ? row_of(job, to, row) : NULL;

    return other != NULL && other->p50_us > 0 ? row->p50_us / other->p50_us : 0;
}

bool report_ratio_interval(const struct job *job, const struct row *row, const struct subject *to,
                           struct ratio *out)
{
    const struct row *other = row->subject != to ? row_of(job, to, row) : NULL;

    if (other == NULL || other->collective != row->collective || row->collective == 0)
        return false;
    struct batches a = {row->samples_ns, row->calls / row->batch, row->batch};
    struct batches b = {other->samples_ns, other->calls / other->batch, other->batch};
    return ratio_of_medians(&a, &b, job->seed, out);
}

double report_loop_ratio(const struct job *job, const struct row *row, const struct subject *to)
{
    const struct row *other = row->subject != to ? row_of(job, to, row) : NULL;

    return other != NULL && other->loop_us > 0 ? row->loop_us / other->loop_us : 0;
}

const char *report_name(const struct row *row)
{
    return row->collective != 0 ? name_text(names_of_collectives, (int)row_code(row))
                                : row->subject->what;
}

double report_per_call(const struct job *job, const struct row *row, uint64_t counted)
{
    return (double)counted / ((double)row->calls * job->ranks);
}

bool report_can_sleep(const struct row *row)
{
    return row->subject->batch == NULL && row->subject->version == NULL;
}

/* A line that is filled from left to right. */
struct line {
    struct libscols_line *line;
    size_t column;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void cell(struct line *l, const char *format, ...)
{
    char text[64];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    l->failed |= scols_line_set_data(l->line, l->column++, text) != 0;
}

/* Titles and cells: the same order in add_columns() and add_row(). */
static bool add_columns(const struct job *job, struct libscols_table *table)
{
    static const struct {
        const char *title;
        int flags;
    } columns[] = {
        {"collective", 0},           {"bytes", SCOLS_FL_RIGHT},    {"algorithm", 0},
        {"radix", SCOLS_FL_RIGHT},   {"calls", SCOLS_FL_RIGHT},    {"p50 us", SCOLS_FL_RIGHT},
        {"loop us", SCOLS_FL_RIGHT}, {"p50 from", SCOLS_FL_RIGHT}, {"to", SCOLS_FL_RIGHT},
        {"p90 us", SCOLS_FL_RIGHT},  {"p99 us", SCOLS_FL_RIGHT},   {"p99.9 us", SCOLS_FL_RIGHT},
        {"min us", SCOLS_FL_RIGHT},  {"max us", SCOLS_FL_RIGHT},
    };
    bool ok = true;

    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        ok &= scols_table_new_column(table, columns[i].title, 0, columns[i].flags) != NULL;
    if (job->sum.oversubscribed) {
        ok &= scols_table_new_column(table, "switches", 0, SCOLS_FL_RIGHT) != NULL;
        ok &= scols_table_new_column(table, "sleeps", 0, SCOLS_FL_RIGHT) != NULL;
    }
    if (job->options->overlap)
        ok &= scols_table_new_column(table, "overlap", 0, SCOLS_FL_RIGHT) != NULL;
    if (job->options->validation != VALIDATE_NONE)
        ok &= scols_table_new_column(table, "wrong", 0, SCOLS_FL_RIGHT) != NULL;
    if (has_bandwidth(job)) {
        ok &= scols_table_new_column(table, "MB/s", 0, SCOLS_FL_RIGHT) != NULL;
        ok &= scols_table_new_column(table, "of bound", 0, SCOLS_FL_RIGHT) != NULL;
    }
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        char title[32];
        snprintf(title, sizeof title, "/%s", job->subjects[s]->label);
        if (!is_used(job, job->subjects[s]))
            continue;
        ok &= scols_table_new_column(table, title, 0, SCOLS_FL_RIGHT) != NULL;
        if (job->subjects[s]->version == NULL)
            continue;
        ok &= scols_table_new_column(table, "from", 0, SCOLS_FL_RIGHT) != NULL;
        ok &= scols_table_new_column(table, "to", 0, SCOLS_FL_RIGHT) != NULL;
        snprintf(title, sizeof title, "/%s loop", job->subjects[s]->label);
        ok &= scols_table_new_column(table, title, 0, SCOLS_FL_RIGHT) != NULL;
    }
    return ok;
}

static bool add_row(const struct job *job, struct libscols_table *table, const struct row *row)
{
    struct line l = {.line = scols_table_new_line(table, NULL)};
    const char *label = row->subject->label;
    char radix[RADIX_TEXT];

    if (l.line == NULL)
        return false;
    cell(&l, "%s%s%s%s%s", label, label[0] != '\0' ? " " : "", report_name(row),
         row->distribution != DISTRIBUTION_NONE ? " " : "",
         row->distribution != DISTRIBUTION_NONE
             ? name_text(names_of_distributions, row->distribution)
             : "");
    cell(&l, row->count > 0 ? "%zu" : "-", row->bytes);
    cell(&l, "%s", row->algorithm != NULL ? row->algorithm : "-");
    cell(&l, "%s", row->radix > 0 ? ncoll__radix_text(row->radix, radix) : "-");
    cell(&l, "%u", row->calls);
    cell(&l, "%.2f", row->p50_us);
    cell(&l, row->loop_us > 0 ? "%.2f" : "-", row->loop_us);
    cell(&l, row->p50_high_us > 0 ? "%.2f" : "-", row->p50_low_us);
    cell(&l, row->p50_high_us > 0 ? "%.2f" : "-", row->p50_high_us);
    cell(&l, "%.2f", row->p90_us);
    cell(&l, "%.2f", row->p99_us);
    cell(&l, "%.2f", row->p999_us);
    cell(&l, "%.2f", row->min_us);
    cell(&l, "%.2f", row->max_us);
    if (job->sum.oversubscribed) {
        cell(&l, "%.2f", report_per_call(job, row, row->switches));
        cell(&l, report_can_sleep(row) ? "%.2f" : "-", report_per_call(job, row, row->sleeps));
    }
    if (job->options->overlap)
        cell(&l, overlap_percent(job, row) >= 0 ? "%.0f %%" : "-", overlap_percent(job, row));
    if (job->options->validation != VALIDATE_NONE)
        cell(&l, "%llu", (unsigned long long)row->wrong);
    if (has_bandwidth(job)) {
        double bandwidth = bandwidth_of(job, row), bound = bound_of(job, row);
        cell(&l, bandwidth > 0 ? "%.1f" : "-", bandwidth);
        cell(&l, bound > 0 ? "%.2f" : "-", bound);
    }
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (!is_used(job, job->subjects[s]))
            continue;
        double ratio = report_ratio(job, row, job->subjects[s]);
        cell(&l, ratio > 0 ? "%.2f" : "-", ratio);
        if (job->subjects[s]->version == NULL)
            continue;
        struct ratio interval = {0};
        report_ratio_interval(job, row, job->subjects[s], &interval);
        cell(&l, interval.low > 0 ? "%.2f" : "-", interval.low);
        cell(&l, interval.high > 0 ? "%.2f" : "-", interval.high);
        ratio = report_loop_ratio(job, row, job->subjects[s]);
        cell(&l, ratio > 0 ? "%.2f" : "-", ratio);
    }
    return !l.failed;
}

int report_table(const struct job *job, FILE *out)
{
    struct libscols_table *table = scols_new_table();

    if (table == NULL)
        return -1;
    scols_table_set_stream(table, out);
    bool ok = add_columns(job, table);
    for (unsigned i = 0; ok && i < job->n_rows; i++)
        ok = add_row(job, table, &job->rows[i]);
    if (ok) {
        report_head(job, out);
        ok = scols_print_table(table) == 0;
        report_foot(job, out);
    }
    scols_unref_table(table);
    return ok ? 0 : -1;
}

int report(const struct job *job)
{
    const char *file = job->options->json;
    bool json_to_stdout = file != NULL && strcmp(file, "-") == 0;

    FILE *out = json_to_stdout ? stderr : stdout;
    int status = job->options->osu ? report_osu(job, out) : report_table(job, out);
    if (!output_written(out))
        return -1;
    if (status != 0) {
        fprintf(stderr, "%s: cannot print the table\n", program_invocation_short_name);
        return -1;
    }
    return file != NULL ? report_json(job, file) : 0;
}
