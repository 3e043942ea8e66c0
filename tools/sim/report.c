/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "ncoll.h"
#include "tools/bench/names.h"
#include "tools/json.h"
#include "tools/sim/sim.h"
#include "tools/table.h"

const char *row_name(const struct row *row, char text[ROW_NAME])
{
    if (row->distribution == DISTRIBUTION_NONE)
        snprintf(text, ROW_NAME, "%s", ncoll__collective_name(row->collective));
    else
        snprintf(text, ROW_NAME, "%s %s",
                 name_text(names_of_collectives, (int)row->collective + WITH_COUNTS),
                 name_text(names_of_distributions, (int)row->distribution));
    return text;
}

static bool is_random(const struct options *o)
{
    return o->noise.kind != LOGGP_NO_NOISE || o->noise.late > 0 || o->noise.stalled > 0;
}

static const char *topology_text(const struct loggp_network *n, char text[64])
{
    const unsigned *s = n->sizes;

    if (n->topology == LOGGP_FAT_TREE)
        snprintf(text, 64, "fat tree: %u nodes, %u uplinks a leaf", s[0], s[1]);
    else if (n->topology == LOGGP_DRAGONFLY)
        snprintf(text, 64, "dragonfly: %u nodes a router, %u routers a group", s[0], s[1]);
    else if (n->topology == LOGGP_TORUS)
        snprintf(text, 64, "torus: %u x %u x %u", s[0], s[1], s[2]);
    else
        snprintf(text, 64, "one switch");
    return text;
}

static void print_head(const struct options *o)
{
    char text[64];

    printf("simulated: %s between nodes", o->far);
    if (o->per_node > 1)
        printf(", %s within; %u ranks a node", o->near, o->per_node);
    printf("\n%s, %s contention\n", topology_text(&o->network, text),
           o->network.contention ? "with" : "no");
    if (is_random(o))
        printf("seed %llu\n", (unsigned long long)o->seed);
}

static void add_times(struct table *t, const struct sweep *s, const struct row *row)
{
    char text[FIGURE_TEXT];

    if (!row->exists) {
        table_cell(t, "none");
        for (unsigned i = 0; i < 2 + (s->options->repeat > 1); i++)
            table_cell(t, "-");
        return;
    }
    table_cell(t, "%s", time_text(median_ns(s, row) / 1e3, text));
    if (s->options->repeat > 1)
        table_cell(t, "%s", time_text(row->samples_ns[s->options->repeat - 1] / 1e3, text));
    table_cell(t, "%s", time_text(row->first_ns / 1e3, text));
    table_cell(t, "%llu", (unsigned long long)row->messages);
}

static void add_row(struct table *t, const struct sweep *s, const struct row *row)
{
    char text[RADIX_TEXT], size[FIGURE_TEXT];

    table_cell(t, "%u", row->ranks);
    table_cell(t, "%s", row->bytes > 0 ? size_text(row->bytes, size) : "-");
    add_times(t, s, row);
    table_cell(t, "%s",
               row->algorithm->properties & USES_RADIX ? ncoll__radix_text(row->radix, text) : "-");
    table_cell(t, "%s", row->algorithm->name);
}

/* True if the algorithm of row i has a schedule for at least one number of ranks and size of that
 * collective. */
static bool exists_somewhere(const struct sweep *s, size_t i)
{
    for (size_t j = 0; j < s->n_rows; j++)
        if (s->rows[j].collective == s->rows[i].collective &&
            s->rows[j].distribution == s->rows[i].distribution &&
            s->rows[j].algorithm == s->rows[i].algorithm && s->rows[j].exists)
            return true;
    return false;
}

/* True if the row is printed. With --algorithm all, algorithms that have no schedule at all are
 * left out. */
static bool is_shown(const struct sweep *s, size_t i)
{
    return s->rows[i].exists || !s->options->all_algorithms || exists_somewhere(s, i);
}

static void print_missing(const struct sweep *s, FILE *out)
{
    bool missing = false, left_out = false;
    char name[ROW_NAME];

    for (size_t i = 0; i < s->n_rows; i++) {
        bool first = i == 0 || s->rows[i].algorithm != s->rows[i - 1].algorithm;
        missing |= !s->rows[i].exists && is_shown(s, i);
        if (is_shown(s, i) || !first)
            continue;
        fprintf(out, "%s%s (%s)", left_out ? ", " : "left out: ", s->rows[i].algorithm->name,
                row_name(&s->rows[i], name));
        left_out = true;
    }
    if (left_out)
        fputc('\n', out);
    if (missing || left_out)
        fprintf(out, "%s: there is none for so many ranks, this radix or these nodes\n",
                missing ? "none" : "left out");
}

int report_print(const struct sweep *s)
{
    /* JSON on standard output is alone there; the text goes to stderr. */
    FILE *out = s->options->json != NULL && strcmp(s->options->json, "-") == 0 ? stderr : stdout;
    char name[ROW_NAME], last[ROW_NAME] = "";
    struct rusage used;
    struct table t = {0};

    if (out == stdout)
        print_head(s->options);
    table_column(&t, true, "ranks");
    table_column(&t, true, "size");
    table_column(&t, true, "time");
    if (s->options->repeat > 1)
        table_column(&t, true, "longest");
    table_column(&t, true, "first ends");
    table_column(&t, true, "messages");
    table_column(&t, true, "n");
    table_column(&t, false, "algorithm");
    for (size_t i = 0; i < s->n_rows; i++) {
        if (!is_shown(s, i))
            continue;
        if (strcmp(row_name(&s->rows[i], name), last) != 0)
            table_heading(&t, name);
        strcpy(last, name);
        add_row(&t, s, &s->rows[i]);
    }
    if (table_print(&t, 0, 0, out) != 0) {
        fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
        return EXIT_FAILURE;
    }
    print_missing(s, out);
    getrusage(RUSAGE_SELF, &used);
    double rate = s->processor_s > 0 ? (double)s->events / s->processor_s / 1e6 : 0;
    fprintf(out, "%llu events in %.2f s of one core: %.1f million a second; %ld MiB\n",
            (unsigned long long)s->events, s->processor_s, rate, used.ru_maxrss >> 10);
    return 0;
}

/* ------------------------------------------------------------------ JSON ---------------------- */

/* Returns a row, with the keys of ncoll-bench for values that mean the same. */
static json_t *json_of_row(const struct sweep *s, const struct row *row)
{
    char radix[RADIX_TEXT], subject[64];
    bool counts = row->distribution != DISTRIBUTION_NONE;
    bool uses = (row->algorithm->properties & USES_RADIX) != 0;

    ncoll__radix_text(row->radix, radix);
    snprintf(subject, sizeof subject, "%s%s%s", row->algorithm->name,
             uses && !s->options->best ? " " : "", uses && !s->options->best ? radix : "");
    json_t *out = json_pack(
        "{s:s, s:s, s:s?, s:s, s:s, s:b, s:I, s:i, s:i, s:s}", "subject", subject, "collective",
        counts ? name_text(names_of_collectives, (int)row->collective + WITH_COUNTS)
               : ncoll__collective_name(row->collective),
        "distribution", counts ? name_text(names_of_distributions, (int)row->distribution) : NULL,
        "algorithm", row->algorithm->name, "radix", radix, "exists", row->exists, "bytes",
        (json_int_t)row->bytes, "ranks", row->ranks, "nodes", row->nodes, "transport", "simulated");
    if (out == NULL || !row->exists)
        return out;
    json_object_set_new(out, "p50_us", json_real(median_ns(s, row) / 1e3));
    json_object_set_new(out, "min_us", json_real(row->samples_ns[0] / 1e3));
    json_object_set_new(out, "max_us", json_real(row->samples_ns[s->options->repeat - 1] / 1e3));
    json_object_set_new(out, "first_end_us", json_real(row->first_ns / 1e3));
    json_object_set_new(out, "mean_end_us", json_real(row->mean_ns / 1e3));
    json_object_set_new(out, "messages", json_integer((json_int_t)row->messages));
    json_object_set_new(out, "sent_bytes", json_real(row->sent_bytes));
    return out;
}

static json_t *head(const struct sweep *s, int argc, char **argv)
{
    const struct options *o = s->options;
    json_t *line = json_array();
    char text[64];

    for (int i = 0; i < argc; i++)
        json_array_append_new(line, json_text(argv[i]));
    return json_pack(
        "{s:{s:s, s:o, s:I}, s:{s:o, s:o, s:f, s:f, s:f}, s:s, s:b, s:i, s:I, s:f}", "environment",
        "version", ncoll_version(), "command_line", line, "seed", (json_int_t)o->seed, "costs",
        "far", costs_json(&o->costs.far), "near", costs_json(&o->costs.near), "step_ns",
        o->costs.step_ns, "local_byte_ns", o->costs.local_byte_ns, "call_ns", o->costs.call_ns,
        "topology", topology_text(&o->network, text), "contention", o->network.contention, "repeat",
        o->repeat, "events", (json_int_t)s->events, "processor_s", s->processor_s);
}

int report_json(const struct sweep *s, int argc, char **argv)
{
    json_t *tree = head(s, argc, argv), *rows = json_array();

    for (size_t i = 0; i < s->n_rows; i++)
        json_array_append_new(rows, json_of_row(s, &s->rows[i]));
    json_object_set_new(tree, "rows", rows);
    int status = json_write(s->options->json, json_dump, tree);
    json_decref(tree);
    return status == 0 ? 0 : EXIT_FAILURE;
}
