/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tools/inside.h"
#include "tools/tune/tune.h"

#define LISTED_MAX 1024
/* A candidate whose predicted time is longer than the best one by this factor is not measured. The
 * error of the model is smaller than that. */
#define HOPELESS 4.0
/* For the best candidate of each algorithm this factor applies instead. */
#define HOPELESS_ALGORITHM 8.0
/* Segments of this length or more are varied. */
#define SEGMENT_MIN ((size_t)16 << 10)
#define ELEMENT     sizeof(int64_t) /* bytes of a measured element */

struct list {
    struct candidate *all;
    unsigned n;
};

int candidate_force(ncoll_group *world, enum collective collective, const struct candidate *c)
{
    const char *name = c->algorithm != NULL ? c->algorithm->name : NULL;
    int status = ncoll__group_force(world, collective, name, c->radix);
    size_t most = c->segment_bytes > 0 ? c->segment_bytes : SIZE_MAX;

    return status == NCOLL_OK && name != NULL
               ? ncoll__group_force_segments(world, collective, most, c->lanes)
               : status;
}

static int choose(ncoll_group *world, const struct point *p, struct choice *out)
{
    return ncoll__choose(world, p->collective, p->bytes / ELEMENT, NCOLL_INT64, NCOLL_SUM, out);
}

/* True if the candidate is the library's own choice, which is measured in any case. */
static bool is_own(const struct point *p, const struct choice *choice)
{
    return choice->algorithm == p->own.algorithm && choice->radix == p->own.radix &&
           choice->segment == p->own.segment &&
           (choice->segments == 1 || choice->lanes == p->own.lanes);
}

/* True if the list has a candidate with the same schedule, which then stands for both. In an
 * allreduce the candidate that promises the same bits stands for both. */
static bool is_listed(struct list *list, const struct candidate *c)
{
    for (unsigned i = 0; c->mark != 0 && i < list->n; i++)
        if (list->all[i].mark == c->mark) {
            if (c->same_bits && !list->all[i].same_bits)
                list->all[i] = *c;
            return true;
        }
    return false;
}

/* True if a candidate with the same schedule, but perhaps another name, is measured in any case. */
static bool is_measured(const struct point *p, const struct candidate *c)
{
    for (unsigned i = 0; c->mark != 0 && i < p->n; i++)
        if (p->candidates[i].mark == c->mark && (p->candidates[i].same_bits || !c->same_bits))
            return true;
    return false;
}

/* Returns the bytes of the segments of a choice if the library makes them shorter than the window
 * allows; otherwise 0. A table has to record such lengths. */
static size_t cut_of(ncoll_group *world, const struct point *p, const struct choice *choice)
{
    struct candidate uncut = {
        .algorithm = choice->algorithm, .radix = choice->radix, .lanes = choice->lanes};
    struct choice whole;
    bool known = candidate_force(world, p->collective, &uncut) == NCOLL_OK &&
                 choose(world, p, &whole) == NCOLL_OK;

    ncoll__group_force(world, p->collective, NULL, 0);
    return known && choice->segment < whole.segment ? choice->segment * ELEMENT : 0;
}

/* Fills in the fields of a candidate that follow from its choice. */
static void look_at(ncoll_group *world, const struct point *p, const struct choice *choice,
                    struct candidate *c)
{
    c->predicted_ns = ncoll__predict(world, p->collective, p->bytes / ELEMENT, ELEMENT, choice);
    c->mark = ncoll__schedule_mark(world, p->collective, p->bytes / ELEMENT, choice);
    c->same_bits = (choice->algorithm->properties & GIVES_SAME_BITS) != 0;
}

/* Appends a candidate if it can run. */
static bool add(ncoll_group *world, const struct point *p, struct list *list, struct candidate c,
                struct choice *choice)
{
    if (list->n == LISTED_MAX || candidate_force(world, p->collective, &c) != NCOLL_OK ||
        choose(world, p, choice) != NCOLL_OK || choice->algorithm != c.algorithm)
        return false;
    look_at(world, p, choice, &c);
    if (!is_own(p, choice) && !is_measured(p, &c) && !is_listed(list, &c))
        list->all[list->n++] = c;
    return true;
}

/* Adds candidates with shorter segments, and fewer of them at once. */
static void add_segments(ncoll_group *world, const struct point *p, struct list *list,
                         struct candidate c, const struct choice *whole)
{
    size_t longest = whole->segment * ELEMENT;
    struct choice choice;

    if (whole->segments > 1) {
        c.lanes = 2;
        add(world, p, list, c, &choice);
    }
    c.lanes = 4;
    for (unsigned part = 2; part <= 16 && longest / part >= SEGMENT_MIN; part *= part) {
        c.segment_bytes = longest / part;
        add(world, p, list, c, &choice);
    }
}

/* Adds lists of n for two or three rounds that reach all P ranks, and no more than necessary. A
 * list is left out if a single number does the same: with a single number the last round may have
 * fewer messages. */
static void add_lists(ncoll_group *world, const struct point *p, struct list *list,
                      const struct algorithm *a, unsigned P)
{
    struct candidate c = {.algorithm = a, .lanes = 4};
    struct choice choice;

    for (unsigned first = 1; first <= RADIX_MAX && first + 1 < P; first++)
        for (unsigned second = 0; second <= RADIX_MAX; second++) {
            unsigned reached = (first + 1) * (second + 1), last = (P + reached - 1) / reached - 1;
            unsigned n[] = {first, second > 0 ? second : last, last};
            bool differ = second > 0 ? second != first || last > second : last > first;
            if (last == 0 || last > RADIX_MAX || !differ)
                continue;
            c.radix = ncoll__radix_list(n, second > 0 ? 3 : 2);
            add(world, p, list, c, &choice);
        }
}

static void list_all(ncoll_group *world, const struct point *p, struct list *list)
{
    unsigned P = (unsigned)ncoll_group_size(world);

    for (unsigned i = 0; ncoll__algorithms[i] != NULL; i++) {
        const struct algorithm *a = ncoll__algorithms[i];
        unsigned most = a->properties & USES_RADIX ? P - 1 : 1;
        if (!(a->collectives & 1u << p->collective))
            continue;
        most = most < 1 ? 1 : most > RADIX_MAX ? RADIX_MAX : most;
        for (unsigned n = 1; n <= most; n++) {
            struct candidate c = {.algorithm = a, .radix = n, .lanes = 4};
            struct choice whole;
            if (add(world, p, list, c, &whole))
                add_segments(world, p, list, c, &whole);
        }
        if (a->properties & TAKES_LIST)
            add_lists(world, p, list, a, P);
    }
    ncoll__group_force(world, p->collective, NULL, 0);
}

static int by_prediction(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    return (a->predicted_ns > b->predicted_ns) - (a->predicted_ns < b->predicted_ns);
}

/* True if one of the candidates that are kept because of their prediction has the algorithm. */
static bool has_algorithm(const struct point *p, const struct algorithm *a)
{
    for (unsigned i = 1 + p->untuned; i < p->n; i++)
        if (p->candidates[i].algorithm == a)
            return true;
    return false;
}

/* Keeps the best candidate of each algorithm first, then the best of all. */
static void keep_best(struct point *p, struct list *list)
{
    bool kept[LISTED_MAX] = {false};

    qsort(list->all, list->n, sizeof *list->all, by_prediction);
    p->listed = list->n;
    for (unsigned pass = 0; pass < 2 && list->n > 0; pass++)
        for (unsigned i = 0; i < list->n && p->n < CANDIDATES_MAX; i++) {
            const struct candidate *c = &list->all[i];
            double limit = pass == 0 ? HOPELESS_ALGORITHM : HOPELESS;
            if (kept[i] || c->predicted_ns > limit * list->all[0].predicted_ns ||
                (pass == 0 && has_algorithm(p, c->algorithm)) ||
                (pass == 1 && p->n >= CANDIDATES_MAX * 3 / 4))
                continue;
            kept[i] = true;
            p->candidates[p->n++] = *c;
        }
}

/* A candidate as rank 0 sends it. It has the number of the algorithm, whose address differs between
 * ranks. */
struct told {
    int64_t algorithm, radix, lanes, segment_bytes;
};

static int tell(ncoll_group *world, struct point *p)
{
    struct told told[CANDIDATES_MAX] = {{0}};
    int64_t head[2] = {p->n, p->untuned};

    for (unsigned i = 1; i < p->n; i++) {
        const struct candidate *c = &p->candidates[i];
        told[i] = (struct told){ncoll__algorithm_number(c->algorithm), c->radix, c->lanes,
                                (int64_t)c->segment_bytes};
    }
    int status = ncoll_bcast(world, head, 2, NCOLL_INT64, 0, NCOLL_BLOCK);
    unsigned n = (unsigned)head[0];
    if (status == NCOLL_OK)
        status =
            ncoll_bcast(world, told, sizeof told / (sizeof(int64_t)), NCOLL_INT64, 0, NCOLL_BLOCK);
    for (unsigned i = 1; status == NCOLL_OK && ncoll_group_rank(world) != 0 && i < n; i++) {
        const struct algorithm *a = ncoll__algorithms[told[i].algorithm - 1];
        p->candidates[i] = (struct candidate){.algorithm = a,
                                              .radix = (unsigned)told[i].radix,
                                              .lanes = (unsigned)told[i].lanes,
                                              .segment_bytes = (size_t)told[i].segment_bytes,
                                              .same_bits = a->properties & GIVES_SAME_BITS};
    }
    p->n = n;
    p->untuned = (unsigned)head[1];
    return status;
}

int candidate_barrier(ncoll_group *world, struct candidate *out)
{
    struct choice choice;
    int status = ncoll__choose_untuned(world, COLL_BARRIER, 0, NCOLL_INT64, NCOLL_SUM, &choice);

    if (status == NCOLL_OK)
        *out = (struct candidate){
            .algorithm = choice.algorithm, .radix = choice.radix, .lanes = choice.lanes};
    return status;
}

/* Adds the choice without a table, if it differs from the present choice. */
static int add_untuned(ncoll_group *world, struct point *p)
{
    struct choice choice;
    int status = ncoll__choose_untuned(world, p->collective, p->bytes / ELEMENT, NCOLL_INT64,
                                       NCOLL_SUM, &choice);

    if (status != NCOLL_OK || is_own(p, &choice))
        return status;
    struct candidate untuned = {
        .algorithm = choice.algorithm,
        .radix = choice.radix,
        .lanes = choice.lanes,
        .segment_bytes = cut_of(world, p, &choice),
    };
    look_at(world, p, &choice, &untuned);
    if (is_measured(p, &untuned))
        return NCOLL_OK;
    p->untuned = p->n;
    p->candidates[p->n++] = untuned;
    return NCOLL_OK;
}

int candidates_list(ncoll_group *world, struct point *p)
{
    struct list list = {calloc(LISTED_MAX, sizeof *list.all), 0};
    int status = list.all != NULL ? choose(world, p, &p->own) : NCOLL_ERR_MEMORY;

    p->n = 1;
    p->untuned = 0;
    p->candidates[0] = (struct candidate){0};
    if (status == NCOLL_OK) {
        look_at(world, p, &p->own, &p->candidates[0]);
        p->candidates[0].segment_bytes = cut_of(world, p, &p->own);
        status = add_untuned(world, p);
    }
    if (status == NCOLL_OK) {
        if (ncoll_group_rank(world) == 0) {
            list_all(world, p, &list);
            keep_best(p, &list);
        }
        status = tell(world, p);
    }
    free(list.all);
    return status;
}
