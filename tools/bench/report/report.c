/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench/report/report.h"

#include <err.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/bench/names.h"
#include "tools/table.h"

/* True if a row is compared with this subject. */
static bool is_used(const struct job *job, const struct subject *subject)
{
    return subject->label[0] != '\0' && subject != &subject_overlap &&
           subject != &subject_threshold && !subject->is_parameter && has_rows(job, subject);
}

/* True if a row of the bare exchange has a bandwidth. */
static bool has_bandwidth(const struct job *job)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].subject->batch != NULL && job->rows[i].bytes > 0)
            return true;
    return false;
}

double report_ratio(const struct job *job, const struct row *row, const struct subject *to)
{
    const struct row *other = row_of(job, to, row);

    return other != NULL && other->p50_us > 0 ? row->p50_us / other->p50_us : 0;
}

double report_ratio_to_whole(const struct job *job, const struct row *row)
{
    return row->subject == &subject_threshold ? report_ratio(job, row, &subject_ncoll) : 0;
}

bool report_ratio_interval(const struct job *job, const struct row *row, const struct subject *to,
                           struct ratio *out)
{
    const struct row *other = row_of(job, to, row);

    if (other == NULL || other->collective != row->collective || row->collective == 0)
        return false;
    struct batches a = {row->samples_ns, row->calls / row->batch, row->batch};
    struct batches b = {other->samples_ns, other->calls / other->batch, other->batch};
    return ratio_of_medians(&a, &b, job->seed, out);
}

double report_loop_ratio(const struct job *job, const struct row *row, const struct subject *to)
{
    const struct row *other = row_of(job, to, row);

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

bool report_same_group(const struct row *a, const struct row *b)
{
    return a->subject == b->subject && row_code(a) == row_code(b) &&
           a->distribution == b->distribution && a->fraction == b->fraction;
}

bool report_is_first(const struct job *job, unsigned row)
{
    for (unsigned i = 0; i < row; i++)
        if (report_same_group(&job->rows[i], &job->rows[row]))
            return false;
    return true;
}

/* Writes the title of a row, such as "persistent allgatherv decreasing". */
static const char *title_of(const struct job *job, const struct row *row, char text[96])
{
    static const char *const of[] = {[NCOLL_THRESHOLD_DATA] = "the data",
                                     [NCOLL_THRESHOLD_HEAVIEST] = "the heaviest data",
                                     [NCOLL_THRESHOLD_RANKS] = "the ranks"};
    bool counts = row->distribution != DISTRIBUTION_NONE;

    if (row->subject == &subject_threshold) {
        snprintf(text, 96, "%s of %g %% of %s", report_name(row), 100 * row->fraction,
                 of[job->options->of]);
        return text;
    }
    snprintf(text, 96, "%s%s%s%s%s", row->subject->label, row->subject->label[0] != '\0' ? " " : "",
             report_name(row), counts ? " " : "",
             counts ? name_text(names_of_distributions, row->distribution) : "");
    return text;
}

static void cell_time(struct table *t, double us)
{
    char text[FIGURE_TEXT];

    table_cell(t, "%s", us > 0 ? time_text(us, text) : "-");
}

static void cell_ratio(struct table *t, double ratio)
{
    table_cell(t, ratio > 0 ? "%.*f" : "-", ratio < 10 ? 2 : 1, ratio);
}

static void cell_size(struct table *t, const struct row *row)
{
    char text[FIGURE_TEXT];

    table_cell(t, "%s", row->count > 0 ? size_text(row->bytes, text) : "-");
}

static void cell_interval(struct table *t, const struct row *row)
{
    char text[FIGURE_TEXT];

    table_cell(t, "%s",
               row->p50_high_us > 0
                   ? interval_text(row->p50_us, row->p50_low_us, row->p50_high_us, text)
                   : "-");
}

static void column_of_ratio(struct table *t, const struct subject *to, const char *more)
{
    char title[48];

    snprintf(title, sizeof title, "/%s%s", to->label, more);
    table_column(t, true, title);
}

/* Returns the subject of the one ratio in the narrow table: a library if there is one, otherwise
 * the first subject. */
static const struct subject *compared_with(const struct job *job)
{
    const struct subject *first = NULL;

    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (!is_used(job, job->subjects[s]))
            continue;
        if (job->subjects[s]->version != NULL)
            return job->subjects[s];
        first = first != NULL ? first : job->subjects[s];
    }
    return first;
}

static bool has_wrong(const struct job *job)
{
    for (unsigned i = 0; i < job->n_rows; i++)
        if (job->rows[i].wrong > 0)
            return true;
    return false;
}

/* Adds the titles; narrow_row() adds cells in the same order. */
static void narrow_columns(const struct job *job, struct table *t, const struct subject *to)
{
    table_column(t, true, "size");
    table_column(t, true, "p50");
    table_column(t, true, "interval");
    table_column(t, true, "p99");
    table_column(t, true, "loop");
    if (to != NULL)
        column_of_ratio(t, to, "");
    if (job->options->n_fractions > 0)
        table_column(t, true, "/whole");
    if (job->options->overlap)
        table_column(t, true, "overlap");
    if (has_wrong(job))
        table_column(t, true, "wrong");
    table_column(t, false, "algorithm");
}

static void cell_overlap(struct table *t, const struct job *job, const struct row *row)
{
    double percent = overlap_percent(job, row);

    table_cell(t, percent >= 0 ? "%.0f %%" : "-", percent);
}

static void narrow_row(const struct job *job, struct table *t, const struct subject *to,
                       const struct row *row)
{
    cell_size(t, row);
    cell_time(t, row->p50_us);
    cell_interval(t, row);
    cell_time(t, row->p99_us);
    cell_time(t, row->loop_us);
    if (to != NULL)
        cell_ratio(t, report_ratio(job, row, to));
    if (job->options->n_fractions > 0)
        cell_ratio(t, report_ratio_to_whole(job, row));
    if (job->options->overlap)
        cell_overlap(t, job, row);
    if (has_wrong(job))
        table_cell(t, "%llu", (unsigned long long)row->wrong);
    table_cell(t, "%s", row->algorithm != NULL ? row->algorithm : "-");
}

/* Prints the figures that most people look for, in 80 columns: a heading for each collective, its
 * sizes below. */
static void narrow(const struct job *job, struct table *t)
{
    const struct subject *to = compared_with(job);
    char title[96];

    narrow_columns(job, t, to);
    for (unsigned i = 0; i < job->n_rows; i++) {
        if (!report_is_first(job, i))
            continue;
        table_heading(t, title_of(job, &job->rows[i], title));
        for (unsigned j = i; j < job->n_rows; j++)
            if (report_same_group(&job->rows[j], &job->rows[i]))
                narrow_row(job, t, to, &job->rows[j]);
    }
}

/* Adds the titles; wide_row() adds cells in the same order. */
static void wide_columns(const struct job *job, struct table *t)
{
    static const char *const titles[] = {"collective", "size",     "algorithm", "radix",   "calls",
                                         "p50",        "interval", "loop",      "p90",     "p99",
                                         "p99.9",      "min",      "max",       "bus GB/s"};

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++)
        table_column(t, i != 0 && i != 2, titles[i]);
    if (has_bandwidth(job))
        table_column(t, true, "of bound");
    if (job->sum.oversubscribed) {
        table_column(t, true, "switches");
        table_column(t, true, "sleeps");
    }
    if (job->options->n_fractions > 0)
        table_column(t, true, "/whole");
    if (job->options->overlap)
        table_column(t, true, "overlap");
    if (job->options->validation != VALIDATE_NONE)
        table_column(t, true, "wrong");
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        if (!is_used(job, job->subjects[s]))
            continue;
        column_of_ratio(t, job->subjects[s], "");
        if (job->subjects[s]->version == NULL)
            continue;
        column_of_ratio(t, job->subjects[s], " 95 %");
        column_of_ratio(t, job->subjects[s], " loop");
    }
}

static void cells_of_ratios(const struct job *job, struct table *t, const struct row *row)
{
    for (unsigned s = 0; job->subjects[s] != NULL; s++) {
        struct ratio interval = {0};
        if (!is_used(job, job->subjects[s]))
            continue;
        cell_ratio(t, report_ratio(job, row, job->subjects[s]));
        if (job->subjects[s]->version == NULL)
            continue;
        report_ratio_interval(job, row, job->subjects[s], &interval);
        table_cell(t, interval.low > 0 ? "%.2f-%.2f" : "-", interval.low, interval.high);
        cell_ratio(t, report_loop_ratio(job, row, job->subjects[s]));
    }
}

static void wide_row(const struct job *job, struct table *t, const struct row *row)
{
    char radix[RADIX_TEXT], title[96];
    double bandwidth = bandwidth_of(job, row);

    table_cell(t, "%s", title_of(job, row, title));
    cell_size(t, row);
    table_cell(t, "%s", row->algorithm != NULL ? row->algorithm : "-");
    table_cell(t, "%s", row->radix > 0 ? ncoll__radix_text(row->radix, radix) : "-");
    table_cell(t, "%u", row->calls);
    cell_time(t, row->p50_us);
    cell_interval(t, row);
    const double times[] = {row->loop_us, row->p90_us, row->p99_us,
                            row->p999_us, row->min_us, row->max_us};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        cell_time(t, times[i]);
    table_cell(t, bandwidth > 0 ? "%.3g" : "-", bandwidth / 1e3);
    if (has_bandwidth(job))
        cell_ratio(t, bound_of(job, row));
    if (job->sum.oversubscribed) {
        table_cell(t, "%.2f", report_per_call(job, row, row->switches));
        table_cell(t, report_can_sleep(row) ? "%.2f" : "-", report_per_call(job, row, row->sleeps));
    }
    if (job->options->n_fractions > 0)
        cell_ratio(t, report_ratio_to_whole(job, row));
    if (job->options->overlap)
        cell_overlap(t, job, row);
    if (job->options->validation != VALIDATE_NONE)
        table_cell(t, "%llu", (unsigned long long)row->wrong);
    cells_of_ratios(job, t, row);
}

int report_table(const struct job *job, FILE *out)
{
    struct table table = {0};
    bool is_wide = job->options->wide;

    if (is_wide) {
        wide_columns(job, &table);
        for (unsigned i = 0; i < job->n_rows; i++)
            wide_row(job, &table, &job->rows[i]);
    } else {
        narrow(job, &table);
    }
    report_head(job, out);
    int status = table_print(&table, 0, is_wide ? 0 : TABLE_WIDTH, out);
    report_foot(job, out);
    return status;
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
        warnx("cannot print the table");
        return -1;
    }
    return file != NULL ? report_json(job, file) : 0;
}
