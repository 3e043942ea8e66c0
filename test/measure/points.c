/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/measure/points.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/measure/like_rounds.h"
#include "tools/bench/cores.h"
#include "tools/bench/stats.h"

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
        strcmp(a->shape.transport, b->shape.transport), /* verbs last */
        a->shape.nodes - b->shape.nodes,
        a->shape.ranks - b->shape.ranks,
        strcmp(b->shape.mpi, a->shape.mpi), /* Open MPI first */
        a->shape.cores - b->shape.cores,
        strcmp(a->what, b->what),
        strcmp(a->distribution, b->distribution),
        (a->bytes > b->bytes) - (a->bytes < b->bytes),
    };

    for (size_t i = 0; i < sizeof differs / sizeof differs[0]; i++)
        if (differs[i] != 0)
            return differs[i];
    return 0;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof values[0], by_value);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static void settle(struct point *p)
{
    double sorted[JOBS_MAX], us[JOBS_MAX], cores_us[JOBS_MAX];
    unsigned n = p->n_jobs;
    size_t low, high;

    p->low = p->jobs[0].low;
    p->high = p->jobs[0].high;
    for (unsigned i = 0; i < n; i++) {
        sorted[i] = p->jobs[i].ratio;
        us[i] = p->jobs[i].us;
        cores_us[i] = p->jobs[i].cores_us;
        p->low = p->jobs[i].low < p->low ? p->jobs[i].low : p->low;
        p->high = p->jobs[i].high > p->high ? p->jobs[i].high : p->high;
    }
    p->ratio = median(sorted, n);
    p->us = median(us, n);
    p->cores_us = median(cores_us, n);
    if (stats_median_interval(n, &low, &high)) {
        p->low = sorted[low];
        p->high = sorted[high];
    }
}

/* Whether more jobs have seen the same on cores of another kind, and enough of them. */
static bool is_seldom(const struct points *p, const struct point *point)
{
    struct point other = *point;
    unsigned most = 0;

    for (unsigned i = 0; i < p->n; i++) {
        other.shape.cores = p->of[i].shape.cores;
        if (same_point(&p->of[i], &other) && p->of[i].n_jobs > most)
            most = p->of[i].n_jobs;
    }
    return point->n_jobs < JOBS_LEAST && most >= JOBS_LEAST;
}

static void drop_seldom(struct points *p)
{
    static bool seldom[POINTS_MAX];
    unsigned kept = 0;

    for (unsigned i = 0; i < p->n; i++)
        seldom[i] = is_seldom(p, &p->of[i]);
    for (unsigned i = 0; i < p->n; i++)
        if (!seldom[i])
            p->of[kept++] = p->of[i];
    p->n = kept;
}

void points_settle(struct points *p)
{
    drop_seldom(p);
    qsort(p->of, p->n, sizeof p->of[0], by_place);
    for (unsigned i = 0; i < p->n; i++)
        settle(&p->of[i]);
}

bool same_shape(const struct point *a, const struct point *b)
{
    return strcmp(a->shape.mpi, b->shape.mpi) == 0 &&
           strcmp(a->shape.transport, b->shape.transport) == 0 &&
           a->shape.nodes == b->shape.nodes && a->shape.ranks == b->shape.ranks &&
           a->shape.cores == b->shape.cores;
}

bool same_point(const struct point *a, const struct point *b)
{
    return by_place(a, b) == 0;
}

static struct point place_of(const char *mpi, const json_t *row)
{
    struct point place = {.shape.cores = -1,
                          .bytes = (size_t)json_integer_value(json_object_get(row, "bytes"))};

    snprintf(place.shape.mpi, sizeof place.shape.mpi, "%s", mpi);
    copy_text(place.shape.transport, sizeof place.shape.transport,
              json_object_get(row, "transport"));
    place.shape.nodes = (int)json_integer_value(json_object_get(row, "nodes"));
    place.shape.ranks = (int)json_integer_value(json_object_get(row, "ranks"));
    copy_text(place.what, sizeof place.what, json_object_get(row, "collective"));
    copy_text(place.distribution, sizeof place.distribution, json_object_get(row, "distribution"));
    return place;
}

/* The same place in all jobs: made at need; NULL: no room. */
static struct point *point_at(struct points *p, const struct point *place)
{
    for (unsigned i = 0; i < p->n; i++)
        if (same_point(&p->of[i], place))
            return &p->of[i];
    if (p->n == POINTS_MAX)
        return NULL;
    p->of[p->n] = *place;
    return &p->of[p->n++];
}

/* Rows of other subjects, and of ncoll's without an MPI beside it, are no points. */
static bool is_point(const json_t *row)
{
    const char *subject = json_string_value(json_object_get(row, "subject"));

    return subject != NULL && strcmp(subject, "ncoll") == 0 &&
           json_is_number(json_object_get(row, "ratio_low"));
}

static bool add_job(struct points *p, const struct point *place, const struct job_ratio *job)
{
    struct point *point = point_at(p, place);

    if (point == NULL || point->n_jobs == JOBS_MAX)
        return false;
    point->jobs[point->n_jobs++] = *job;
    return true;
}

static bool add_whole(struct points *p, const struct point *place, const json_t *row)
{
    struct job_ratio job = {.ratio = number(row, "ratio"),
                            .low = number(row, "ratio_low"),
                            .high = number(row, "ratio_high"),
                            .us = number(row, "p50_us")};

    return add_job(p, place, &job);
}

static bool add_like_rounds(struct points *p, struct point *place, const struct like_rounds *like)
{
    p->rounds += like->rounds;
    p->left_out += like->rounds;
    for (unsigned kind = 0; kind < CORES_KINDS; kind++) {
        struct job_ratio job;
        unsigned rounds;
        place->shape.cores = (int)kind;
        if (like_rounds_ratio(like, kind, &job, &rounds) && !add_job(p, place, &job))
            return false;
        p->left_out -= rounds;
    }
    return true;
}

/* NULL, or what is wrong. mpi_row: of the same in the same job. */
static const char *add_row(struct points *p, struct point *place, const json_t *row,
                           const json_t *mpi_row)
{
    static const char no_room[] = "too many points, or jobs of a point";
    struct like_rounds like;

    if (!like_rounds_are_known(row))
        return add_whole(p, place, row) ? NULL : no_room;
    if (!like_rounds_open(&like, row, mpi_row))
        return "damaged: batch, cores_us or samples_us of a row are not what ncoll-bench writes";
    bool ok = add_like_rounds(p, place, &like);
    like_rounds_close(&like);
    return ok ? NULL : no_room;
}

/* The MPI's row beside one of ncoll's; NULL: there is none. */
static const json_t *beside(const json_t *rows, const struct point *place)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *subject = json_string_value(json_object_get(row, "subject"));
        struct point other = place_of(place->shape.mpi, row);
        if (subject != NULL && strcmp(subject, "mpi") == 0 && same_point(&other, place))
            return row;
    }
    return NULL;
}

static bool add_rows(struct points *p, const char *file, const char *mpi, const json_t *rows)
{
    unsigned found = 0;

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!is_point(row))
            continue;
        struct point place = place_of(mpi, row);
        const char *wrong = add_row(p, &place, row, beside(rows, &place));
        if (wrong != NULL)
            return complain(file, wrong);
        found++;
    }
    return found > 0 || complain(file, "has no ratio with an interval");
}

bool points_read(struct points *p, const char *file)
{
    json_error_t error;
    json_t *tree = json_load_file(file, 0, &error);
    const json_t *rows = json_object_get(tree, "rows");
    json_t *environment = json_object_get(tree, "environment");
    const char *mpi = json_string_value(json_object_get(environment, "mpi_version"));
    bool ok = false;

    if (tree == NULL) {
        complain(file, error.text);
    } else if (!json_is_array(rows) || mpi == NULL) {
        complain(file, "not what ncoll-bench --mpi writes");
    } else {
        ok = add_rows(p, file, mpi, rows);
        json_decref(p->environment);
        p->environment = json_incref(environment);
    }
    json_decref(tree);
    return ok;
}
