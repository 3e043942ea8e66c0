/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plot/plot.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool on_ranks(const struct row_figures *row, const struct topic *topic)
{
    return (topic->ranks == 0 || row->ranks == topic->ranks) &&
           (topic->nodes == 0 || row->nodes == topic->nodes);
}

bool is_of(const struct row_figures *row, const struct topic *topic)
{
    if (is_limit(row) || !on_ranks(row, topic))
        return false;
    return topic->collective == NULL || (strcmp(row->collective, topic->collective) == 0 &&
                                         same_text(row->distribution, topic->distribution));
}

bool sizes_of(const struct figures *f, const struct topic *topic, double *low, double *high)
{
    *low = INFINITY;
    *high = 0;
    for (unsigned i = 0; i < f->n_rows; i++)
        if (is_of(&f->rows[i], topic) && f->rows[i].bytes > 0) {
            *low = fmin(*low, (double)f->rows[i].bytes);
            *high = fmax(*high, (double)f->rows[i].bytes);
        }
    return *low < *high;
}

struct line *chart_line(struct chart *chart, enum line_kind kind, const char *subject)
{
    if (chart->n_lines == LINES_MAX) {
        chart->left_out++;
        return NULL;
    }
    struct line *line = &chart->lines[chart->n_lines++];
    *line = (struct line){.kind = kind};
    snprintf(line->subject, sizeof line->subject, "%s", subject);
    return line;
}

void chart_point(struct chart *chart, struct line *line, struct point point)
{
    if (line->n_points == line->room) {
        unsigned room = line->room > 0 ? 2 * line->room : 32;
        struct point *more = realloc(line->points, room * sizeof *more);
        if (more == NULL) {
            chart->failed = true;
            return;
        }
        line->points = more;
        line->room = room;
    }
    line->points[line->n_points++] = point;
}

void chart_free(struct chart *chart)
{
    for (unsigned i = 0; i < chart->n_lines; i++)
        free(chart->lines[i].points);
    chart->n_lines = 0;
}

/* "Open MPI v5.0.7" where the file says so, else the subject by its usual name. */
static const char *name_of_subject(const struct figures *f, const struct row_figures *row)
{
    static const char *const names[][2] = {
        {"persistent", "ncoll, persistent"},
        {"overlap", "ncoll, with computation"},
        {"entry", "ncoll, strict entry"},
        {"exit", "ncoll, strict exit"},
        {"strict", "ncoll, strict"},
        {"mpi", "MPI"},
        {"openmpi", "Open MPI"},
        {"mpich", "MPICH"},
        {"ucc", "UCC"},
        {"gpi2", "GPI-2"},
        {"raw", "raw exchange"},
        {"flags", "bare flags"},
        {"copy", "memcpy"},
        {"pull", "copy from a peer"},
        {"combine", "reduction of a buffer"},
    };
    const json_t *tree = f->trees[row->file];
    char key[64];

    snprintf(key, sizeof key, "%s_version", row->subject);
    const char *version =
        json_string_value(json_object_get(json_object_get(tree, "environment"), key));
    if (version == NULL)
        version =
            json_string_value(json_object_get(json_object_get(tree, "versions"), row->subject));
    if (is_library(row) && version != NULL && strlen(version) < 40)
        return version;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(row->subject, names[i][0]) == 0)
            return names[i][1];
    return row->subject;
}

static struct line *find(struct chart *chart, const char *name)
{
    for (unsigned i = 0; i < chart->n_lines; i++)
        if (strcmp(chart->lines[i].name, name) == 0)
            return &chart->lines[i];
    return NULL;
}

/* Whether rows of the topic whose subject has that name come from more than one file. */
static bool in_several_files(const struct figures *f, const struct topic *topic,
                             const char *subject)
{
    unsigned file = f->n_files;

    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        if (!is_of(row, topic) || strcmp(name_of_subject(f, row), subject) != 0)
            continue;
        if (file < f->n_files && row->file != file)
            return true;
        file = row->file;
    }
    return false;
}

/* The line of that name, made if there is none; and of the row's file, if others have rows of the
 * subject, too. */
static struct line *line_named(const struct figures *f, const struct topic *topic,
                               struct chart *chart, enum line_kind kind,
                               const struct row_figures *row, const char *name, const char *subject)
{
    char whole[sizeof chart->lines[0].name];

    if (in_several_files(f, topic, subject))
        snprintf(whole, sizeof whole, "%s (%s)", name, f->names[row->file]);
    else
        snprintf(whole, sizeof whole, "%s", name);
    struct line *line = find(chart, whole);
    if (line == NULL)
        line = chart_line(chart, kind, row->subject);
    if (line != NULL)
        strcpy(line->name, whole);
    return line;
}

/* The line of a row's subject. */
static struct line *line_of(const struct figures *f, const struct topic *topic, struct chart *chart,
                            enum line_kind kind, const struct row_figures *row)
{
    const char *name = name_of_subject(f, row);

    return line_named(f, topic, chart, kind, row, name, name);
}

static struct point point_of(const struct row_figures *row, double x, enum unit y)
{
    if (y == UNIT_RATE)
        return (struct point){x, row->mb_per_s, NAN, NAN};
    return (struct point){x, row->p50, row->low, row->high};
}

void add_by_size(const struct figures *f, const struct topic *topic, enum unit y,
                 struct chart *chart)
{
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        struct point point = point_of(row, (double)row->bytes, y);
        if (!is_of(row, topic) || row->bytes == 0 || !(point.y > 0))
            continue;
        struct line *line = line_of(f, topic, chart, LINE_FIGURES, row);
        if (line != NULL)
            chart_point(chart, line, point);
    }
}

/* The line of a limit: with no bytes at all it is another one than with some, since no call of any
 * size takes less, and what is in between nobody has measured. */
static struct line *line_of_limit(const struct figures *f, struct chart *chart,
                                  const struct row_figures *row, const char *size)
{
    bool empty = row->bytes == 0 && strcmp(row->subject, "raw") == 0;
    char name[sizeof chart->lines[0].name];

    snprintf(name, sizeof name, "%s%s%s%s", name_of_subject(f, row), empty ? " of no bytes" : "",
             size[0] != '\0' ? ", " : "", size);
    struct line *line = find(chart, name);
    if (line == NULL && (line = chart_line(chart, LINE_LIMIT, row->subject)) != NULL) {
        strcpy(line->name, name);
        line->look = row->bytes > 0;
    }
    return line;
}

/* What goes for all sizes, since it has none, goes all along. */
static void fit_limit(struct chart *chart, struct line *line, double low, double high)
{
    if (line->n_points != 1 || line->points[0].x != 0)
        return;
    struct point end = line->points[0];
    line->points[0].x = low;
    end.x = high;
    chart_point(chart, line, end);
}

/* Of the first file that has them, so that each has one line. */
void add_limits(const struct figures *f, const struct topic *topic, enum unit y,
                struct chart *chart)
{
    unsigned first = chart->n_lines, file = f->n_files;
    double low, high;

    if (!sizes_of(f, topic, &low, &high))
        return;
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        double bytes = (double)row->bytes;
        struct point point = point_of(row, bytes, y);
        if (!is_limit(row) || !on_ranks(row, topic) || !(point.y > 0) ||
            (file < f->n_files && row->file != file) ||
            (bytes > 0 && (bytes < low || bytes > high)))
            continue;
        file = row->file;
        struct line *line = line_of_limit(f, chart, row, "");
        if (line != NULL)
            chart_point(chart, line, point);
    }
    for (unsigned l = first; l < chart->n_lines; l++)
        fit_limit(chart, &chart->lines[l], low, high);
}

/* "64K", "8 B"; nothing for no bytes. */
static const char *size_text(int64_t bytes, char *text, size_t size)
{
    char number[32];

    unit_text(UNIT_BYTES, (double)bytes, number, sizeof number);
    snprintf(text, size, "%s%s", bytes > 0 ? number : "", bytes > 0 && bytes < 1024 ? " B" : "");
    return text;
}

/* Several files are several numbers of ranks here: they share their lines. */
void add_by_ranks(const struct figures *f, const struct topic *topic, int64_t bytes, unsigned look,
                  struct chart *chart)
{
    char size[48], name[128];

    size_text(bytes, size, sizeof size);
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        if (!is_of(row, topic) || row->bytes != bytes)
            continue;
        snprintf(name, sizeof name, "%s%s%s", name_of_subject(f, row), bytes > 0 ? ", " : "", size);
        struct line *line = find(chart, name);
        if (line == NULL && (line = chart_line(chart, LINE_FIGURES, row->subject)) != NULL) {
            strcpy(line->name, name);
            line->look = look;
        }
        if (line != NULL)
            chart_point(chart, line, point_of(row, (double)row->ranks, UNIT_TIME));
    }
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        if (!is_limit(row) || !on_ranks(row, topic) || row->bytes != bytes)
            continue;
        struct line *line = line_of_limit(f, chart, row, size);
        if (line != NULL)
            chart_point(chart, line, point_of(row, (double)row->ranks, UNIT_TIME));
    }
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

/* The share of calls that took no longer: of the i-th of n, i - 1/2 (Hazen). Of very many samples
 * every few are enough, but for the slowest, which are what one looks for. */
static void add_distribution(struct chart *chart, struct line *line, const json_t *samples)
{
    enum { MOST = 2000, SLOWEST = 200 };
    size_t n = json_array_size(samples), stride = n / MOST + 1;
    double *sorted = calloc(n, sizeof *sorted);

    if (sorted == NULL) {
        chart->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = json_number_value(json_array_get(samples, i));
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n; i += i + SLOWEST < n ? stride : 1)
        chart_point(
            chart, line,
            (struct point){sorted[i], -log10(((double)(n - i) - 0.5) / (double)n), NAN, NAN});
    free(sorted);
}

void add_distributions(const struct figures *f, const struct topic *topic, int64_t bytes,
                       struct chart *chart)
{
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        if (!is_of(row, topic) || row->bytes != bytes || row->samples == NULL)
            continue;
        struct line *line = line_of(f, topic, chart, LINE_STEPS, row);
        if (line != NULL)
            add_distribution(chart, line, row->samples);
    }
    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i];
        if (!is_limit(row) || !on_ranks(row, topic) || row->bytes != bytes || row->samples == NULL)
            continue;
        struct line *line = line_of_limit(f, chart, row, "");
        if (line != NULL && line->n_points == 0) /* of the first file that has it */
            add_distribution(chart, line, row->samples);
    }
}

/* Of one row to that of a library: as the file says, with its interval, else of the two medians. */
static struct point ratio_of(const struct row_figures *row, const struct row_figures *library)
{
    char key[96];
    struct point point = {.x = (double)row->bytes};
    static const char *const ends[] = {"", "_low", "_high"};
    double *const values[] = {&point.y, &point.low, &point.high};

    for (unsigned i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "ratio_to_%.60s%s", library->subject, ends[i]);
        *values[i] = number_of(row->row, key);
    }
    if (!(point.y > 0))
        point = (struct point){point.x, row->p50 / library->p50, NAN, NAN};
    return point;
}

static const struct row_figures *row_of_library(const struct figures *f,
                                                const struct row_figures *row, unsigned from)
{
    for (unsigned i = from; i < f->n_rows; i++) {
        const struct row_figures *other = &f->rows[i];
        if (other->file == row->file && is_library(other) && other->bytes == row->bytes &&
            other->ranks == row->ranks && strcmp(other->collective, row->collective) == 0 &&
            same_text(other->distribution, row->distribution))
            return other;
    }
    return NULL;
}

const char *next_library(const struct figures *f, const struct topic *topic, const char *last)
{
    const char *next = NULL;

    for (unsigned i = 0; i < f->n_rows; i++) {
        if (!is_of(&f->rows[i], topic) || !is_library(&f->rows[i]))
            continue;
        const char *name = name_of_subject(f, &f->rows[i]);
        if ((last == NULL || strcmp(name, last) > 0) && (next == NULL || strcmp(name, next) < 0))
            next = name;
    }
    return next;
}

void add_ratios(const struct figures *f, const struct topic *topic, const char *to,
                struct chart *chart)
{
    char name[128];

    for (unsigned i = 0; i < f->n_rows; i++) {
        const struct row_figures *row = &f->rows[i], *library;
        if (!is_of(row, topic) || strcmp(row->subject, "ncoll") != 0)
            continue;
        for (unsigned from = 0; (library = row_of_library(f, row, from)) != NULL;
             from = (unsigned)(library - f->rows) + 1) {
            if (strcmp(name_of_subject(f, library), to) != 0)
                continue;
            snprintf(name, sizeof name, "%s%s%s", row->collective,
                     row->distribution != NULL ? " " : "",
                     row->distribution != NULL ? row->distribution : "");
            struct line *line = line_named(f, topic, chart, LINE_FIGURES, row, name, to);
            if (line == NULL)
                continue;
            line->look = (unsigned)(line - chart->lines) / COLOURS;
            chart_point(chart, line, ratio_of(row, library));
        }
    }
}
