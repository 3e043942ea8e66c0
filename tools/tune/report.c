/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure/card.h"
#include "lib/internal.h"
#include "lib/tune/tune.h"
#include "tools/output.h"
#include "tools/tune/tune.h"

/* ------------------------------------------------------------------ for people ---------------- */

static void describe(const struct point *p, unsigned candidate, char text[96])
{
    const struct candidate *c = &p->candidates[candidate];
    const struct algorithm *a = c->algorithm != NULL ? c->algorithm : p->own.algorithm;
    unsigned n = c->algorithm != NULL ? c->radix : p->own.radix;
    char radix[RADIX_TEXT];
    int used = snprintf(text, 96, "%s", a->name);

    if (a->properties & USES_RADIX)
        used += snprintf(text + used, 96 - (size_t)used, " n=%s", ncoll__radix_text(n, radix));
    if (c->segment_bytes > 0)
        used += snprintf(text + used, 96 - (size_t)used, " %zuK", c->segment_bytes >> 10);
    if (c->algorithm != NULL && c->lanes != 4)
        snprintf(text + used, 96 - (size_t)used, " lanes=%u", c->lanes);
}

static int add_line(struct libscols_table *table, const struct point *p, bool check)
{
    struct libscols_line *line = scols_table_new_line(table, NULL);
    bool left[CANDIDATES_MAX];
    char text[10][96];
    unsigned n = 3;
    int status = 0;

    if (line == NULL)
        return -1;
    for (unsigned i = 0; i < p->n; i++)
        left[i] = p->candidates[i].left;
    unsigned fastest = point_fastest(p, left, false); /* there is one: its own choice */
    unsigned shown[] = {0, p->untuned, check && fastest < p->n ? fastest : p->best};
    snprintf(text[0], 96, "%s", ncoll__collective_name(p->collective));
    snprintf(text[1], 96, "%zu", p->bytes);
    snprintf(text[2], 96, "%u/%u", p->n - 1, p->listed);
    for (unsigned i = 0; i < 3; i++) {
        if (i == 1 && !check)
            continue;
        describe(p, shown[i], text[n++]);
        snprintf(text[n++], 96, "%.2f", candidate_us(p, shown[i]));
    }
    snprintf(text[n++], 96, "%.2f",
             check ? point_ratio(p, 0) : candidate_us(p, 0) / candidate_us(p, p->best));
    for (unsigned i = 0; i < n; i++)
        status |= scols_line_set_data(line, i, text[i]);
    return status;
}

/* How many points of what the library chooses are so near to the best, `untuned` or by itself. */
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
    fprintf(out, "%s at worst %.2f of the best\n", what, worst);
}

int report_print(const struct point *points, unsigned n, const struct tune_options *options)
{
    struct libscols_table *table = scols_new_table();
    const char *const checked[] = {"collective", "bytes", "measured", "now", "us",
                                   "untuned",    "us",    "best",     "us",  "ratio"};
    const char *const tuned[] = {"collective", "bytes", "measured", "untuned",
                                 "us",         "best",  "us",       "ratio"};
    const char *const *columns = options->check ? checked : tuned;
    unsigned n_columns = options->check ? 10 : 8;
    FILE *out = json_words_to(options->json);
    int status = 0;

    if (table == NULL)
        return -1;
    scols_table_set_stream(table, out);
    for (unsigned i = 0; i < n_columns; i++)
        scols_table_new_column(table, columns[i], 0,
                               i < 3 ? (i > 0 ? SCOLS_FL_RIGHT : 0)
                                     : (i % 2 == 0 || i + 1 == n_columns ? SCOLS_FL_RIGHT : 0));
    for (unsigned i = 0; i < n && status == 0; i++)
        status = add_line(table, &points[i], options->check);
    if (status == 0)
        status = scols_print_table(table);
    scols_unref_table(table);
    if (status == 0 && options->check)
        print_summary(points, n, "now", false, out);
    if (status == 0)
        print_summary(points, n, "untuned", true, out);
    if (status == 0 && options->json != NULL)
        status = report_json(points, n, options->json);
    return output_written(stdout) ? status : -1;
}

/* ------------------------------------------------------------------ for the library ----------- */

/* Sizes up to halfway to the next point's, as sizes grow: by their geometric mean. */
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

/* Points of a collective follow on each other, by size. */
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

/* Where the table is to be, if it can be there. The user's own cache is made; another directory
 * that is not there may be a mistake. */
static bool find_place(ncoll_context *ctx, const char *file, char path[PATH_MAX],
                       char why[TUNE_WHY])
{
    bool named = file != NULL && *file != '\0';

    snprintf(path, PATH_MAX, "the table");
    snprintf(why, TUNE_WHY, "there is no home directory; give --file");
    return ncoll__tune_path(file, path) && (named || ncoll__tune_make_directories(path, why)) &&
           ncoll__tune_can_write(ctx, path, why);
}

static void say_not_written(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s is not written: %s\n", program_invocation_short_name, path, why);
}

int report_can_write(ncoll_context *ctx, const char *file, int64_t *can)
{
    char why[TUNE_WHY], path[PATH_MAX];

    *can = ctx->rank != 0 || find_place(ctx, file, path, why);
    if (!*can)
        say_not_written(path, why);
    return ncoll_bcast(ctx->world, can, 1, NCOLL_INT64, 0, NCOLL_BLOCK);
}

int report_merge(ncoll_context *ctx, const struct tune_table *table, const char *file, FILE *out)
{
    char why[TUNE_WHY], path[PATH_MAX];
    bool ok = find_place(ctx, file, path, why) && ncoll__tune_write(ctx, path, table, why);

    if (ok)
        fprintf(out, "written to %s\n", path);
    else
        say_not_written(path, why);
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
    section.key.ranks = (uint64_t)ctx->ranks;
    section.key.node_ranks = ncoll__tune_node_ranks(ctx->world);
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
