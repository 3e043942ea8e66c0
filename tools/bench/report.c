/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report.h"

#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <string.h>

#include "tools/bench/names.h"

#define COLUMNS_MAX 24

static bool has_rows(const struct job *job, const struct subject *subject)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].subject == subject)
            return true;
    return false;
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
    if (job->options->validation != VALIDATE_NONE)
        ok &= scols_table_new_column(table, "wrong", 0, SCOLS_FL_RIGHT) != NULL;
    if (has_bandwidth(job)) {
        ok &= scols_table_new_column(table, "MB/s", 0, SCOLS_FL_RIGHT) != NULL;
        ok &= scols_table_new_column(table, "of bound", 0, SCOLS_FL_RIGHT) != NULL;
    }
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        char title[32];
        snprintf(title, sizeof title, "/%s", job->subjects[s]->label);
        if (job->subjects[s]->label[0] == '\0' || !has_rows(job, job->subjects[s]))
            continue;
        ok &= scols_table_new_column(table, title, 0, SCOLS_FL_RIGHT) != NULL;
        snprintf(title, sizeof title, "/%s loop", job->subjects[s]->label);
        if (job->subjects[s]->version != NULL)
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
        bool sleeps = row->loop_us > 0 && report_can_sleep(row);
        cell(&l, row->loop_us > 0 ? "%.2f" : "-", report_per_call(job, row, row->switches));
        cell(&l, sleeps ? "%.2f" : "-", report_per_call(job, row, row->sleeps));
    }
    if (job->options->validation != VALIDATE_NONE)
        cell(&l, "%llu", (unsigned long long)row->wrong);
    if (has_bandwidth(job)) {
        double bandwidth = bandwidth_of(job, row), bound = bound_of(job, row);
        cell(&l, bandwidth > 0 ? "%.1f" : "-", bandwidth);
        cell(&l, bound > 0 ? "%.2f" : "-", bound);
    }
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (job->subjects[s]->label[0] == '\0' || !has_rows(job, job->subjects[s]))
            continue;
        double ratio = report_ratio(job, row, job->subjects[s]);
        cell(&l, ratio > 0 ? "%.2f" : "-", ratio);
        ratio = report_loop_ratio(job, row, job->subjects[s]);
        if (job->subjects[s]->version != NULL)
            cell(&l, ratio > 0 ? "%.2f" : "-", ratio);
    }
    return !l.failed;
}

static void print_head(const struct job *job, FILE *out)
{
    const struct ncoll_stats *s = &job->sum;
    const struct options *o = job->options;

    fprintf(out, "ncoll %s: %d rank%s on %d node%s over %s, started by %s%s%s\n", ncoll_version(),
            s->ranks, s->ranks == 1 ? "" : "s", s->nodes, s->nodes == 1 ? "" : "s", s->transport,
            s->bootstrap, job->bound ? ", bound to cores" : "",
            s->oversubscribed ? ", more ranks than cores" : "");
    if (o->collectives & ~(1u << COLL_BARRIER))
        fprintf(out, "%s, %s, %s memory%s; ", name_text(names_of_types, (int)o->type),
                name_text(names_of_ops, (int)o->op), name_text(names_of_memory, (int)o->memory),
                o->fresh ? ", written before each call" : "");
    fprintf(out,
            "times are per call, the maximum over ranks; loop: of calls one after the other\n");
    if (s->oversubscribed)
        fprintf(out, "switches, sleeps: of one rank in one call of the loop\n");
}

int report_table(const struct job *job, FILE *out)
{
    const struct ncoll_stats *s = &job->sum;
    struct libscols_table *table = scols_new_table();

    if (table == NULL)
        return -1;
    scols_table_set_stream(table, out);
    bool ok = add_columns(job, table);
    for (unsigned i = 0; ok && i < job->n_rows; i++)
        ok = add_row(job, table, &job->rows[i]);
    if (ok) {
        print_head(job, out);
        ok = scols_print_table(table) == 0;
        fprintf(out, "receiver not ready: %llu, sleeps: %llu, connections: %d a rank\n",
                (unsigned long long)s->rnr, (unsigned long long)s->sleeps, s->connections);
    }
    scols_unref_table(table);
    return ok && fflush(out) == 0 ? 0 : -1;
}

int report(const struct job *job)
{
    const char *file = job->options->json;
    bool json_to_stdout = file != NULL && strcmp(file, "-") == 0;

    if (report_table(job, json_to_stdout ? stderr : stdout) != 0) {
        fprintf(stderr, "%s: cannot print the table\n", program_invocation_short_name);
        return -1;
    }
    return file != NULL ? report_json(job, file) : 0;
}
