/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/measure/points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool complain(const char *file, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, file, what);
    return false;
}

static void copy_text(char *to, size_t size, const json_t *from)
{
    const char *text = json_string_value(from);

    snprintf(to, size, "%s", text != NULL ? text : "");
}

static double number(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static int by_place(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    int differs[] = {
        strcmp(b->shape.transport, a->shape.transport), /* verbs last */
        a->shape.nodes - b->shape.nodes,
        a->shape.ranks - b->shape.ranks,
        strcmp(b->shape.mpi, a->shape.mpi), /* Open MPI first */
        strcmp(a->what, b->what),
        strcmp(a->distribution, b->distribution),
        (a->bytes > b->bytes) - (a->bytes < b->bytes),
    };

    for (size_t i = 0; i < sizeof differs / sizeof differs[0]; i++)
        if (differs[i] != 0)
            return differs[i];
    return 0;
}

void points_sort(struct points *p)
{
    qsort(p->of, p->n, sizeof p->of[0], by_place);
}

bool same_shape(const struct point *a, const struct point *b)
{
    return strcmp(a->shape.mpi, b->shape.mpi) == 0 &&
           strcmp(a->shape.transport, b->shape.transport) == 0 &&
           a->shape.nodes == b->shape.nodes && a->shape.ranks == b->shape.ranks;
}

bool same_point(const struct point *a, const struct point *b)
{
    return by_place(a, b) == 0;
}

/* Rows of other subjects, and of ncoll's without an MPI beside it, are none. */
static bool add_row(struct points *p, const char *file, const char *mpi, const json_t *row)
{
    struct point *new = &p->of[p->n];
    const char *subject = json_string_value(json_object_get(row, "subject"));

    if (subject == NULL)
        return complain(file, "a row has no subject");
    if (strcmp(subject, "ncoll") != 0 || !json_is_number(json_object_get(row, "ratio_low")))
        return true;
    if (p->n == POINTS_MAX)
        return complain(file, "too many points");
    memset(new, 0, sizeof *new);
    copy_text(new->shape.transport, sizeof new->shape.transport, json_object_get(row, "transport"));
    snprintf(new->shape.mpi, sizeof new->shape.mpi, "%s", mpi);
    new->shape.nodes = (int)json_integer_value(json_object_get(row, "nodes"));
    new->shape.ranks = (int)json_integer_value(json_object_get(row, "ranks"));
    copy_text(new->what, sizeof new->what, json_object_get(row, "collective"));
    copy_text(new->distribution, sizeof new->distribution, json_object_get(row, "distribution"));
    new->bytes = (size_t)json_integer_value(json_object_get(row, "bytes"));
    new->us = number(row, "p50_us");
    new->ratio = number(row, "ratio");
    new->low = number(row, "ratio_low");
    new->high = number(row, "ratio_high");
    for (unsigned i = 0; i < p->n; i++)
        if (same_point(new, &p->of[i]))
            return complain(file, "has a point that an earlier file has as well");
    p->n++;
    return true;
}

bool points_read(struct points *p, const char *file)
{
    json_error_t error;
    json_t *tree = json_load_file(file, 0, &error);
    const json_t *rows = json_object_get(tree, "rows");
    json_t *environment = json_object_get(tree, "environment");
    const char *mpi = json_string_value(json_object_get(environment, "mpi_version"));
    unsigned before = p->n;
    bool ok = false;

    if (tree == NULL) {
        complain(file, error.text);
    } else if (!json_is_array(rows) || mpi == NULL) {
        complain(file, "not what ncoll-bench --mpi writes");
    } else {
        ok = true;
        for (size_t i = 0; ok && i < json_array_size(rows); i++)
            ok = add_row(p, file, mpi, json_array_get(rows, i));
        if (ok && p->n == before)
            ok = complain(file, "has no ratio with an interval");
        json_decref(p->environment);
        p->environment = json_incref(environment);
    }
    json_decref(tree);
    return ok;
}
