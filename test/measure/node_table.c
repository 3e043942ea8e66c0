/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * node-table FILE...: what ncoll-bench has written, with --mpi and without, with --json in a run of
 * `node`, as tables in Markdown: each figure beside that of the MPI, the aim and the limit. A file
 * is one run; figures of several are their median.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/measure/node_table.h"

/* The same place in all runs: made at need; NULL: no room. */
static struct figure *figure_of(struct table *t, const struct key *key)
{
    for (unsigned i = 0; i < t->n_figures; i++)
        if (memcmp(&t->figures[i].key, key, sizeof *key) == 0)
            return &t->figures[i];
    if (t->n_figures == FIGURES_MAX)
        return NULL;
    t->figures[t->n_figures].key = *key;
    return &t->figures[t->n_figures++];
}

static void copy_text(char *to, size_t size, const json_t *from)
{
    const char *text = json_string_value(from);

    snprintf(to, size, "%s", text != NULL ? text : "");
}

static struct key key_of(const json_t *environment, const json_t *row)
{
    struct key key;

    memset(&key, 0, sizeof key); /* padding is compared */
    key.nodes = (int)json_integer_value(json_object_get(row, "nodes"));
    key.ranks = (int)json_integer_value(json_object_get(row, "ranks"));
    key.fresh = json_is_true(json_object_get(environment, "fresh"));
    key.bytes = (size_t)json_integer_value(json_object_get(row, "bytes"));
    copy_text(key.memory, sizeof key.memory, json_object_get(environment, "memory"));
    copy_text(key.what, sizeof key.what, json_object_get(row, "collective"));
    copy_text(key.distribution, sizeof key.distribution, json_object_get(row, "distribution"));
    return key;
}

static void add(struct series *s, const json_t *value)
{
    if (json_is_number(value) && s->n < RUNS_MAX)
        s->values[s->n++] = json_number_value(value);
}

static bool add_row(struct table *t, const json_t *environment, const json_t *row)
{
    const char *subject = json_string_value(json_object_get(row, "subject"));
    static const char *const names[SUBJECTS] = {"ncoll", "mpi", "raw", "flags", "copy", "pull"};
    struct key key = key_of(environment, row);
    unsigned s = 0;

    while (s < SUBJECTS && (subject == NULL || strcmp(names[s], subject) != 0))
        s++;
    if (s == SUBJECTS || key.what[0] == '\0')
        return subject != NULL; /* persistent and the like */
    struct figure *figure = figure_of(t, &key);
    if (figure == NULL)
        return false;
    struct measured *m = &figure->by[s];
    add(&m->p50_us, json_object_get(row, "p50_us"));
    add(&m->loop_us, json_object_get(row, "loop_us"));
    /* Else those of what keeps calls apart are in them. */
    if (json_is_number(json_object_get(row, "loop_us")))
        add(&m->switches, json_object_get(row, "switches_per_call"));
    return true;
}

static bool read_file(struct table *t, const char *file)
{
    json_error_t error;
    json_t *tree = json_load_file(file, 0, &error), *row;
    const json_t *environment = json_object_get(tree, "environment");
    const json_t *rows = json_object_get(tree, "rows");
    bool ok = json_is_object(environment) && json_is_array(rows);
    size_t i;

    if (tree == NULL)
        fprintf(stderr, "node-table: %s:%d: %s\n", file, error.line, error.text);
    else if (!ok)
        fprintf(stderr, "node-table: %s: not what ncoll-bench writes\n", file);
    json_array_foreach((json_t *)rows, i, row) if (ok && !add_row(t, environment, row))
    {
        fprintf(stderr, "node-table: %s: row %zu: no subject, or too many rows\n", file, i);
        ok = false;
    }
    if (ok && json_object_get(environment, "mpi_version") != NULL && t->environment == NULL)
        t->environment = json_deep_copy(environment);
    json_decref(tree);
    return ok;
}

int main(int argc, char **argv)
{
    static struct table table;

    if (argc < 2) {
        fprintf(stderr, "usage: node-table FILE...\n");
        return 64;
    }
    for (int i = 1; i < argc; i++)
        if (!read_file(&table, argv[i]))
            return EXIT_FAILURE;
    print_tables(&table);
    json_decref(table.environment);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
