/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plot/plot.h"

static const char *const limits[] = {"raw", "flags", "copy", "pull", "combine"};
static const char *const own[] = {"ncoll", "persistent", "overlap", "entry", "exit", "strict"};

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

bool is_limit(const struct row_figures *row)
{
    return is_one_of(row->subject, limits, sizeof limits / sizeof limits[0]);
}

bool is_library(const struct row_figures *row)
{
    return !is_limit(row) && !is_one_of(row->subject, own, sizeof own / sizeof own[0]);
}

double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* Whole and not negative. */
static bool get_count(const json_t *object, const char *key, int64_t *out)
{
    const json_t *value = json_object_get(object, key);

    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= 0;
}

/* An empty array is as good as none. */
static const json_t *samples_of(const json_t *row)
{
    const json_t *samples = json_object_get(row, "samples_us"), *value;
    size_t i;

    if (!json_is_array(samples) || json_array_size(samples) == 0)
        return NULL;
    json_array_foreach(samples, i, value)
    {
        if (!json_is_number(value) || !(json_number_value(value) > 0))
            return NULL;
    }
    return samples;
}

static bool load_row(const json_t *row, unsigned file, struct row_figures *out)
{
    *out = (struct row_figures){
        .file = file,
        .row = row,
        .subject = text_of(row, "subject"),
        .collective = text_of(row, "collective"),
        .transport = text_of(row, "transport"),
        .distribution = text_of(row, "distribution"),
        .p50 = number_of(row, "p50_us"),
        .low = number_of(row, "p50_low_us"),
        .high = number_of(row, "p50_high_us"),
        .mb_per_s = number_of(row, "mb_per_s"),
        .samples = samples_of(row),
    };
    return out->subject != NULL && out->collective != NULL && out->p50 > 0 &&
           get_count(row, "bytes", &out->bytes) && get_count(row, "ranks", &out->ranks) &&
           get_count(row, "nodes", &out->nodes);
}

/* "folder/run-4.json": "run-4". */
static char *name_of(const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
    size_t len = strlen(base);

    if (len > 5 && strcmp(base + len - 5, ".json") == 0)
        len -= 5;
    return strndup(base, len);
}

static bool complain(const char *file, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", PLOT_NAME, file, what);
    return false;
}

/* The message rate is a number by itself. Where ranks share cores the bare exchange spins while the
 * other has no core: it is no limit of anything. */
static bool is_drawn(const struct row_figures *row, const json_t *tree)
{
    const json_t *shared = json_object_get(json_object_get(tree, "environment"), "oversubscribed");
    bool is_raw = strcmp(row->subject, "raw") == 0;

    return strcmp(row->subject, "rate") != 0 && !(is_raw && json_is_true(shared));
}

static bool load_file(const char *file, struct figures *f)
{
    json_error_t error;
    char text[JSON_ERROR_TEXT_LENGTH + 32];
    unsigned number = f->n_files;
    json_t *tree = json_load_file(file, 0, &error), *row;
    size_t i;

    if (tree == NULL) {
        snprintf(text, sizeof text, error.line > 0 ? "line %d: %s" : "%.0d%s",
                 error.line > 0 ? error.line : 0, error.text);
        return complain(file, text);
    }
    f->trees[number] = tree;
    f->names[number] = name_of(file);
    f->n_files++;
    const json_t *rows = json_object_get(tree, "rows");
    struct row_figures *more =
        realloc(f->rows, (f->n_rows + json_array_size(rows) + 1) * sizeof *more);
    if (more == NULL || f->names[number] == NULL)
        return complain(file, "out of memory");
    f->rows = more;
    if (json_array_size(rows) == 0)
        return complain(file, "no rows: not what ncoll-bench --json writes");
    json_array_foreach(rows, i, row)
    {
        if (!load_row(row, number, &f->rows[f->n_rows])) {
            snprintf(text, sizeof text, "row %zu is not as ncoll-bench --json writes it", i + 1);
            return complain(file, text);
        }
        f->n_rows += is_drawn(&f->rows[f->n_rows], tree);
    }
    return true;
}

bool figures_load(char *const *files, unsigned n_files, struct figures *out)
{
    struct figures f = {
        .trees = calloc(n_files, sizeof *f.trees),
        .names = calloc(n_files, sizeof *f.names),
    };
    bool ok = f.trees != NULL && f.names != NULL;

    if (!ok)
        complain(files[0], "out of memory");
    for (unsigned i = 0; i < n_files && ok; i++)
        ok = load_file(files[i], &f);
    if (ok)
        *out = f;
    else
        figures_free(&f);
    return ok;
}

void figures_free(struct figures *f)
{
    for (unsigned i = 0; i < f->n_files; i++) {
        free(f->names[i]);
        json_decref(f->trees[i]);
    }
    free(f->names);
    free(f->trees);
    free(f->rows);
    *f = (struct figures){0};
}
