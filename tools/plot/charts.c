/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plot/plot.h"

#define SIZES 3 /* of one collective, in pictures that are of one size each */

struct maker {
    const struct figures *figures;
    bool (*draw)(void *arg, const struct chart *chart);
    void *arg;
    int drawn; /* -1: failed */
};

static const char *environment_of(const struct figures *f, unsigned file, const char *key)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(f->trees[file], "environment"), key));

    return text != NULL ? text : "";
}

/* Where and when the first row of the topic was measured. */
static void say_where(const struct figures *f, const struct topic *topic, struct chart *chart)
{
    const struct row_figures *row = f->rows;
    char ranks[64] = "";

    for (unsigned i = 0; i < f->n_rows; i++)
        if (is_of(&f->rows[i], topic)) {
            row = &f->rows[i];
            break;
        }
    if (topic->ranks > 0)
        snprintf(ranks, sizeof ranks, "%d rank%s on %d node%s", (int)row->ranks,
                 row->ranks == 1 ? "" : "s", (int)row->nodes, row->nodes == 1 ? "" : "s");
    snprintf(chart->below, sizeof chart->below, "%s%s%s   %s   ncoll %s   %.10s", ranks,
             row->transport != NULL && ranks[0] != '\0' ? " over " : "",
             row->transport != NULL && ranks[0] != '\0' ? row->transport : "",
             environment_of(f, row->file, "cpu_model"), environment_of(f, row->file, "version"),
             environment_of(f, row->file, "date"));
    if (chart->left_out > 0) {
        size_t used = strlen(chart->below);
        snprintf(chart->below + used, sizeof chart->below - used, "   %u lines left out",
                 chart->left_out);
    }
}

/* "latency-allgatherv-broadcast-4-ranks-2-nodes": without what a file's name should not have. */
static void name_file(struct chart *chart, const char *what, const struct topic *topic,
                      const char *size)
{
    char *c;
    size_t used;

    snprintf(chart->file, sizeof chart->file, "%s", what);
    const char *const parts[] = {topic->collective, topic->distribution, size};
    for (unsigned i = 0; i < 3; i++) {
        used = strlen(chart->file);
        if (parts[i] != NULL && parts[i][0] != '\0')
            snprintf(chart->file + used, sizeof chart->file - used, "-%.40s", parts[i]);
    }
    used = strlen(chart->file);
    if (topic->ranks > 0)
        used += (size_t)snprintf(chart->file + used, sizeof chart->file - used, "-%d-ranks",
                                 (int)topic->ranks);
    if (topic->nodes > 1 && used < sizeof chart->file)
        snprintf(chart->file + used, sizeof chart->file - used, "-%d-nodes", (int)topic->nodes);
    for (c = chart->file; *c != '\0'; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
}

static void entitle(struct chart *chart, const char *what, const struct topic *topic,
                    const char *more)
{
    snprintf(chart->title, sizeof chart->title, "%s%s%s%s%s", topic->collective,
             topic->distribution != NULL ? " " : "",
             topic->distribution != NULL ? topic->distribution : "", what, more);
}

static int by_x(const void *left, const void *right)
{
    const struct point *a = left, *b = right;

    return a->x < b->x ? -1 : a->x > b->x;
}

/* Draws what has at least one line with so many points. */
static void finish(struct maker *maker, const struct topic *topic, struct chart *chart,
                   unsigned points)
{
    bool enough = false;

    for (unsigned l = 0; l < chart->n_lines; l++) {
        struct line *line = &chart->lines[l];
        if (chart->y != UNIT_SHARE && line->n_points > 0) /* else they are sorted */
            qsort(line->points, line->n_points, sizeof *line->points, by_x);
        enough |= line->kind != LINE_LIMIT && line->n_points >= points;
    }
    say_where(maker->figures, topic, chart);
    if (chart->failed || (enough && !maker->draw(maker->arg, chart)))
        maker->drawn = -1;
    else
        maker->drawn += enough;
    chart_free(chart);
}

static void latency(struct maker *maker, const struct topic *topic)
{
    struct chart chart = {.x_label = "size in bytes",
                          .y_label = "time of a call (median)",
                          .x = UNIT_BYTES,
                          .y = UNIT_TIME,
                          .mark = NAN,
                          .no_size = NAN};

    add_by_size(maker->figures, topic, UNIT_TIME, &chart);
    add_limits(maker->figures, topic, UNIT_TIME, &chart);
    name_file(&chart, "latency", topic, NULL);
    entitle(&chart, ": latency by size", topic, "");
    finish(maker, topic, &chart, 2);
}

static void bandwidth(struct maker *maker, const struct topic *topic)
{
    struct chart chart = {.x_label = "size in bytes",
                          .y_label = "sent by each rank, or copied",
                          .x = UNIT_BYTES,
                          .y = UNIT_RATE,
                          .mark = NAN,
                          .no_size = NAN};

    add_by_size(maker->figures, topic, UNIT_RATE, &chart);
    add_limits(maker->figures, topic, UNIT_RATE, &chart);
    name_file(&chart, "bandwidth", topic, NULL);
    entitle(&chart, ": bandwidth by size", topic, "");
    finish(maker, topic, &chart, 2);
}

/* A barrier has no size: it stands left of all that have one. */
static void place_without_size(struct chart *chart)
{
    double smallest = INFINITY;

    for (unsigned l = 0; l < chart->n_lines; l++)
        for (unsigned i = 0; i < chart->lines[l].n_points; i++)
            if (chart->lines[l].points[i].x > 0)
                smallest = fmin(smallest, chart->lines[l].points[i].x);
    for (unsigned l = 0; l < chart->n_lines; l++)
        for (unsigned i = 0; i < chart->lines[l].n_points; i++)
            if (chart->lines[l].points[i].x == 0)
                chart->lines[l].points[i].x = chart->no_size =
                    isfinite(smallest) ? smallest / 4 : 1;
}

static void ratios(struct maker *maker, const struct topic *topic)
{
    const struct figures *f = maker->figures;
    const char *library = next_library(f, topic, NULL);
    bool several = library != NULL && next_library(f, topic, library) != NULL;

    for (; library != NULL && maker->drawn >= 0; library = next_library(f, topic, library)) {
        struct chart chart = {.x_label = "size in bytes",
                              .x = UNIT_BYTES,
                              .y = UNIT_RATIO,
                              .y_label = "ratio of medians: below 1, ncoll is faster",
                              .mark = 1,
                              .no_size = NAN,
                              .dodge = true};
        add_ratios(f, topic, library, &chart);
        place_without_size(&chart);
        snprintf(chart.title, sizeof chart.title, "time of ncoll over that of %s", library);
        name_file(&chart, "ratio", topic, several ? library : NULL);
        finish(maker, topic, &chart, 1);
    }
}

/* The smallest, a middle and the largest size that the topic has rows of; 0 for a barrier. */
static unsigned typical_sizes(const struct figures *f, const struct topic *topic,
                              int64_t sizes[SIZES])
{
    double low, high, middle = 0;
    unsigned n = 0;

    if (!sizes_of(f, topic, &low, &high)) {
        sizes[0] = high > 0 ? (int64_t)high : 0;
        return 1;
    }
    for (unsigned i = 0; i < f->n_rows; i++) {
        double bytes = (double)f->rows[i].bytes, wanted = sqrt(low * high);
        if (is_of(&f->rows[i], topic) && bytes > 0 &&
            (middle == 0 || fabs(log(bytes / wanted)) < fabs(log(middle / wanted))))
            middle = bytes;
    }
    sizes[n++] = (int64_t)low;
    if (middle > low && middle < high)
        sizes[n++] = (int64_t)middle;
    sizes[n++] = (int64_t)high;
    return n;
}

static void distributions(struct maker *maker, const struct topic *topic)
{
    int64_t sizes[SIZES];
    unsigned n = typical_sizes(maker->figures, topic, sizes);
    char size[48], more[72];

    for (unsigned i = 0; i < n && maker->drawn >= 0; i++) {
        struct chart chart = {.x_label = "time of a call",
                              .y_label = "calls that took no longer",
                              .x = UNIT_TIME,
                              .y = UNIT_SHARE,
                              .mark = NAN,
                              .no_size = NAN};
        add_distributions(maker->figures, topic, sizes[i], &chart);
        unit_text(UNIT_BYTES, (double)sizes[i], size, sizeof size);
        more[0] = '\0';
        if (sizes[i] > 0)
            snprintf(more, sizeof more, " of %s bytes", size);
        entitle(&chart, more, topic, ": all calls");
        snprintf(size, sizeof size, "%lld", (long long)sizes[i]);
        name_file(&chart, "ecdf", topic, sizes[i] > 0 ? size : NULL);
        finish(maker, topic, &chart, 2);
    }
}

static void by_ranks(struct maker *maker, const struct topic *topic)
{
    int64_t sizes[SIZES];
    unsigned n = typical_sizes(maker->figures, topic, sizes);
    struct chart chart = {.x_label = "ranks",
                          .y_label = "time of a call (median)",
                          .x = UNIT_RANKS,
                          .y = UNIT_TIME,
                          .mark = NAN,
                          .no_size = NAN};

    for (unsigned i = 0; i < n; i++)
        add_by_ranks(maker->figures, topic, sizes[i], i, &chart);
    name_file(&chart, "ranks", topic, NULL);
    entitle(&chart, ": latency by ranks", topic, "");
    finish(maker, topic, &chart, 2);
}

/* Whether a row before this one is of the same topic, as far as that goes. */
static bool seen(const struct figures *f, unsigned row, const struct topic *topic)
{
    for (unsigned i = 0; i < row; i++)
        if (is_of(&f->rows[i], topic))
            return true;
    return false;
}

int charts_make(const struct figures *f, bool (*draw)(void *arg, const struct chart *chart),
                void *arg)
{
    struct maker maker = {.figures = f, .draw = draw, .arg = arg};

    for (unsigned i = 0; i < f->n_rows && maker.drawn >= 0; i++) {
        const struct row_figures *row = &f->rows[i];
        struct topic topic = {row->collective, row->distribution, row->ranks, row->nodes};
        const struct topic job = {.ranks = row->ranks, .nodes = row->nodes};
        const struct topic any = {row->collective, row->distribution, 0, row->nodes};
        if (is_limit(row))
            continue;
        static void (*const of_topic[])(struct maker *, const struct topic *) = {latency, bandwidth,
                                                                                 distributions};
        for (unsigned k = 0; k < 3 && !seen(f, i, &topic) && maker.drawn >= 0; k++)
            of_topic[k](&maker, &topic);
        if (!seen(f, i, &job) && maker.drawn >= 0)
            ratios(&maker, &job);
        if (!seen(f, i, &any) && maker.drawn >= 0)
            by_ranks(&maker, &any);
    }
    return maker.drawn;
}
