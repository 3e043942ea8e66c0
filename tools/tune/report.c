/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/inside.h"
#include "tools/json.h"
#include "tools/table.h"
#include "tools/tune/tune.h"

FILE *json_words_to(const char *json)
{
    return json != NULL && strcmp(json, "-") == 0 ? stderr : stdout;
}

/* ------------------------------------------------------------------ for people ---------------- */

static void cell_candidate(struct table *table, const struct point *p, unsigned candidate)
{
    const struct candidate *c = &p->candidates[candidate];
    const struct algorithm *a = c->algorithm != NULL ? c->algorithm : p->own.algorithm;
    unsigned n = c->algorithm != NULL ? c->radix : p->own.radix;
    char radix[RADIX_TEXT], text[96];
    int used = snprintf(text, sizeof text, "%s", a->name);

    if (a->properties & USES_RADIX)
        used +=
            snprintf(text + used, sizeof text - (size_t)used, " n=%s", ncoll__radix_text(n, radix));
    if (c->segment_bytes > 0)
        used += snprintf(text + used, sizeof text - (size_t)used, " %zuK", c->segment_bytes >> 10);
    if (c->algorithm != NULL && c->lanes != 4)
        snprintf(text + used, sizeof text - (size_t)used, " lanes=%u", c->lanes);
    table_cell(table, "%s", text);
}

static void cell_time(struct table *table, const struct point *p, unsigned candidate)
{
    char time[FIGURE_TEXT];

    table_cell(table, "%s", time_text(candidate_us(p, candidate), time));
}

/* Adds the titles; add_row() adds cells in the same order. */
static void add_columns(struct table *table, const struct tune_options *o)
{
    table_column(table, true, "size");
    if (o->wide)
        table_column(table, true, "measured");
    if (o->check)
        table_column(table, true, "now");
    table_column(table, true, "untuned");
    table_column(table, true, "best");
    table_column(table, true, "ratio");
    if (o->check && o->wide)
        table_column(table, false, "algorithm now");
    if (o->wide)
        table_column(table, false, "untuned algorithm");
    table_column(table, false, "best algorithm");
}

static void add_row(struct table *table, const struct point *p, const struct tune_options *o)
{
    bool left[CANDIDATES_MAX];
    char size[FIGURE_TEXT];

    for (unsigned i = 0; i < p->n; i++)
        left[i] = p->candidates[i].left;
    /* The library's own choice is always left. */
    unsigned fastest = point_fastest(p, left, false, HALF_BOTH);
    unsigned best = o->check && fastest < p->n ? fastest : p->best;
    table_cell(table, "%s", p->bytes > 0 ? size_text(p->bytes, size) : "-");
    if (o->wide)
        table_cell(table, "%u/%u", p->n - 1, p->listed);
    if (o->check)
        cell_time(table, p, 0);
    cell_time(table, p, o->check ? p->untuned : 0);
    cell_time(table, p, best);
    table_cell(table, "%.2f",
               o->check ? point_ratio(p, 0) : candidate_us(p, 0) / candidate_us(p, p->best));
    if (o->check && o->wide)
        cell_candidate(table, p, 0);
    if (o->wide)
        cell_candidate(table, p, o->check ? p->untuned : 0);
    cell_candidate(table, p, best);
}

/* Prints at how many points the library's choice, untuned or present, is near the best
 * candidate. */
static void print_summary(const struct point *points, unsigned n, const char *what, bool untuned,
                          FILE *out)
{
    static const double limits[] = {1.05, 1.25, 1.3};
    double worst = 1;

    for (unsigned l = 0; l < 3; l++) {
        unsigned within = 0;
        for (unsigned i = 0; i < n; i++) {
            double ratio = point_ratio(&points[i], untuned ? points[i].untuned : 0);
            within += ratio <= limits[l];
            worst = ratio > worst ? ratio : worst;
        }
        fprintf(out, "%s within %.0f %% of the best on %u of %u points\n", what,
                limits[l] * 100 - 100, within, n);
    }
    fprintf(out, "%s at worst %.2f times the best\n", what, worst);
}

/* ------------------------------------------------------------------ for programs --------------- */

/* Returns the times of the sweeps that count. */
static json_t *sweeps_of(const struct point *p, const struct candidate *c)
{
    json_t *times = json_array();

    for (unsigned s = 0; c->left && s < p->sweeps; s++)
        json_array_append_new(times, json_real(c->sweep_us[s]));
    return times;
}

static json_t *candidate_of(const struct point *p, unsigned i)
{
    const struct candidate *c = &p->candidates[i];
    bool own = c->algorithm == NULL;
    const struct algorithm *a = own ? p->own.algorithm : c->algorithm;
    char radix[RADIX_TEXT];
    bool uses = a->properties & USES_RADIX;

    return json_pack(
        "{s:s, s:s?, s:I, s:i, s:o, s:o, s:o, s:b}", "algorithm", a->name, "n",
        uses ? ncoll__radix_text(own ? p->own.radix : c->radix, radix) : NULL, "segment_bytes",
        (json_int_t)c->segment_bytes, "lanes", own ? p->own.lanes : c->lanes, "predicted_us",
        json_real_or_null(c->predicted_ns / 1e3), "us", json_real_or_null(candidate_us(p, i)),
        "sweep_us", sweeps_of(p, c), "final", c->left);
}

static json_t *point_of(const struct point *p)
{
    json_t *candidates = json_array();

    for (unsigned i = 0; i < p->n; i++)
        json_array_append_new(candidates, candidate_of(p, i));
    return json_pack("{s:s, s:I, s:i, s:i, s:f, s:f, s:o}", "collective",
                     ncoll__collective_name(p->collective), "bytes", (json_int_t)p->bytes, "listed",
                     p->listed, "untuned", p->untuned, "ratio", point_ratio(p, 0), "untuned_ratio",
                     point_ratio(p, p->untuned), "candidates", candidates);
}

static int print_json(const struct point *points, unsigned n, const char *json)
{
    json_t *rows = json_array();

    for (unsigned i = 0; i < n; i++)
        json_array_append_new(rows, point_of(&points[i]));
    json_t *tree = json_pack("{s:s, s:o}", "version", ncoll_version(), "points", rows);
    int status = json_write(json, json_dump, tree);
    json_decref(tree);
    return status;
}

int report_print(const struct point *points, unsigned n, const struct tune_options *options)
{
    struct table table = {0};
    FILE *out = json_words_to(options->json);

    add_columns(&table, options);
    for (unsigned i = 0; i < n; i++) {
        if (i == 0 || points[i].collective != points[i - 1].collective)
            table_heading(&table, ncoll__collective_name(points[i].collective));
        add_row(&table, &points[i], options);
    }
    int status = table_print(&table, 0, options->wide ? 0 : TABLE_WIDTH, out);
    if (status == 0 && options->check)
        print_summary(points, n, "now", false, out);
    if (status == 0)
        print_summary(points, n, "untuned", true, out);
    if (status == 0 && options->json != NULL)
        status = print_json(points, n, options->json);
    return status == 0 && output_written(stdout) ? 0 : -1;
}

/* ------------------------------------------------------------------ for the library ----------- */

/* Returns the last size to which the result of a point applies: the geometric mean of its size and
 * that of the next point. */
static uint64_t last_of_class(const struct point *points, unsigned n, unsigned i)
{
    if (points[i].collective == COLL_BARRIER)
        return 0;
    if (i + 1 == n || points[i + 1].collective != points[i].collective)
        return points[i].bytes * 2 - 1;
    uint64_t square = (uint64_t)points[i].bytes * points[i + 1].bytes, root = points[i].bytes;
    while ((root + 1) * (root + 1) <= square)
        root += 1 + root / 1024;
    return root < points[i + 1].bytes ? root : points[i + 1].bytes - 1;
}

static struct tune_rule rule_of(const struct point *p, unsigned candidate, bool same_bits,
                                uint64_t from, uint64_t to)
{
    const struct candidate *c = &p->candidates[candidate];
    bool own = c->algorithm == NULL;
    double ns = candidate_us(p, candidate) * 1e3;

    return (struct tune_rule){
        .collective = p->collective,
        .same_bits = same_bits,
        .from_bytes = from,
        .to_bytes = to,
        .algorithm = own ? p->own.algorithm : c->algorithm,
        .radix = own ? p->own.radix : c->radix,
        .segment_bytes = c->segment_bytes,
        .lanes = own ? p->own.lanes : c->lanes,
        .ns = ns > 0 && ns < 1e11 ? (uint64_t)ns : 0,
    };
}

/* Adds the rules of one collective, whose points are in the order of their sizes. */
static void add_rules(const struct point *points, unsigned n, unsigned first, bool same_bits,
                      struct tune_table *table)
{
    uint64_t from = 0;

    for (unsigned i = first; i < n && points[i].collective == points[first].collective; i++) {
        uint64_t to = last_of_class(points, n, i);
        unsigned candidate = same_bits ? points[i].same_bits : points[i].best;
        if (candidate < CANDIDATES_MAX)
            table->rules[table->n_rules++] = rule_of(&points[i], candidate, same_bits, from, to);
        from = to + 1;
    }
}

/* Finds the path of the table, and whether it can be written there. The user's own cache directory
 * is created if necessary; if another directory does not exist, its name may be a mistake. */
static bool find_place(ncoll_context *ctx, const char *file, char path[PATH_MAX],
                       char why[TUNE_WHY])
{
    bool named = file != NULL && *file != '\0';

    snprintf(path, PATH_MAX, "the table");
    snprintf(why, TUNE_WHY, "there is no home directory; give --file");
    return ncoll__tune_path(file, path) && (named || ncoll__tune_make_directories(path, why)) &&
           ncoll__tune_can_write(ctx, path, why);
}

int report_can_write(ncoll_context *ctx, const char *file, int64_t *can)
{
    char why[TUNE_WHY], path[PATH_MAX];

    *can = ncoll_group_rank(ncoll_world(ctx)) != 0 || find_place(ctx, file, path, why);
    if (!*can)
        warnx("%s is not written: %s", path, why);
    return ncoll_bcast(ncoll_world(ctx), can, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
}

int report_merge(ncoll_context *ctx, const struct tune_table *table, const char *file, FILE *out)
{
    char why[TUNE_WHY], path[PATH_MAX];
    bool ok = find_place(ctx, file, path, why) && ncoll__tune_write(ctx, path, table, why);

    if (ok)
        fprintf(out, "written to %s\n", path);
    else
        warnx("%s is not written: %s", path, why);
    return ok ? 0 : -1;
}

int report_write(ncoll_context *ctx, const struct point *points, unsigned n,
                 const struct tune_options *o)
{
    struct tune_section section = {0};
    struct tune_table table = {.sections = &section, .n_sections = 1, .sections_max = 1};

    table.rules = calloc(2 * (size_t)n + 1, sizeof *table.rules);
    if (table.rules == NULL)
        return -1;
    ncoll__tune_here(ctx, &section.key);
    section.key.ranks = (uint64_t)ncoll_group_size(ncoll_world(ctx));
    section.key.node_ranks = ncoll__tune_node_ranks(ncoll_world(ctx));
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || points[i].collective != points[i - 1].collective) {
            add_rules(points, n, i, false, &table);
            if (points[i].collective == COLL_ALLREDUCE)
                add_rules(points, n, i, true, &table);
        }
    section.count = table.n_rules;
    int status = report_merge(ctx, &table, o->file, json_words_to(o->json));
    free(table.rules);
    return status;
}
