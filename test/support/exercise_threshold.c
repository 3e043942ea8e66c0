/* SPDX-License-Identifier: BSD-3-Clause */
/* Exercises with a threshold: what is drawn for them, what has to be in, and what has to come out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/exercise.h"

void exercise_draw_threshold(struct exercise_spec *s, struct random *random)
{
    uint64_t kind = random_below(random, 6), part = random_below(random, 9);

    s->of = 0;
    s->fraction = part < 5 ? (double)part / 4 : (double)random_below(random, 1001) / 1000;
    s->weighted = random_below(random, 2) == 0;
    if ((s->collective != COLL_BCAST && s->collective != COLL_REDUCE) || s->codec != 0 || kind >= 3)
        return;
    s->of = (ncoll_threshold_of)(kind + 1);
    if (s->of == NCOLL_THRESHOLD_RANKS && s->collective == COLL_REDUCE && !s->piece->commutative)
        s->of = NCOLL_THRESHOLD_DATA;
}

/* True if a thing is among the k heaviest of n, of equal ones the first. */
static bool is_heavy(const double *weights, size_t n, size_t k, size_t i)
{
    size_t heavier = 0;

    for (size_t j = 0; j < n; j++)
        heavier += weights[j] > weights[i] || (weights[j] == weights[i] && j < i);
    return heavier < k;
}

/* The least k for which k / n >= fraction. */
static size_t least(double fraction, size_t n)
{
    size_t k = 0;

    while (k < n && (double)k / (double)n < fraction)
        k++;
    return k;
}

/* The k heaviest of weights 0..GRADES-1: how many there are of each says from which weight on all
 * are taken, and how many of the next one. */
#define GRADES 5u
static void take_heaviest(struct exercise *x, size_t k)
{
    size_t of_grade[GRADES] = {0}, above = 0;
    unsigned grade = GRADES - 1;

    for (size_t i = 0; i < x->spec.count; i++)
        of_grade[(unsigned)x->weights[i]]++;
    while (grade > 0 && above + of_grade[grade] < k)
        above += of_grade[grade--];
    size_t left = k - above;
    for (size_t i = 0; i < x->spec.count; i++) {
        bool equal = (unsigned)x->weights[i] == grade && left > 0;
        x->element_in[i] = (unsigned)x->weights[i] > grade || equal;
        left -= equal;
    }
}

static void set_ranks_in(struct exercise *x)
{
    size_t P = (size_t)x->ranks, k = least(x->spec.fraction, P);
    double by_place[EXERCISE_RANKS];

    for (size_t v = 0; v < P; v++)
        by_place[v] = x->spec.weighted ? x->weights[((size_t)x->spec.root + v) % P] : 0;
    by_place[0] = GRADES; /* the root is always in */
    for (size_t v = 0; v < P; v++)
        x->rank_in[((size_t)x->spec.root + v) % P] = is_heavy(by_place, P, k > 0 ? k : 1, v);
    x->threshold.weights = x->spec.weighted ? x->weights : NULL;
    memset(x->element_in, 1, x->spec.count);
    x->elements = x->spec.count;
}

void exercise_set_threshold(struct exercise *x, struct random random)
{
    size_t n = x->spec.count + EXERCISE_RANKS;
    bool knows = x->spec.collective == COLL_REDUCE || x->rank == x->spec.root;

    x->elements = x->spec.count;
    memset(x->rank_in, 1, sizeof x->rank_in);
    if (x->spec.of == 0)
        return;
    x->weights = exercise_allocate(n * sizeof *x->weights);
    x->element_in = exercise_allocate(n);
    for (size_t i = 0; i < n; i++)
        x->weights[i] = (double)random_below(&random, GRADES);
    x->status = (ncoll_threshold_status){.size = sizeof x->status};
    x->threshold = (ncoll_threshold){
        .size = sizeof x->threshold, .of = x->spec.of, .fraction = x->spec.fraction};
    if (x->spec.of == NCOLL_THRESHOLD_RANKS) {
        set_ranks_in(x);
        return;
    }
    x->elements = least(x->spec.fraction, x->spec.count);
    if (x->spec.of == NCOLL_THRESHOLD_HEAVIEST) {
        x->threshold.weights = knows ? x->weights : NULL;
        take_heaviest(x, x->elements);
    } else {
        memset(x->element_in, 0, n);
        memset(x->element_in, 1, x->elements);
    }
}

void exercise_pack(const struct exercise *x, void *vector)
{
    unsigned char *from = vector, *to = vector;

    for (size_t i = 0; x->spec.of != 0 && i < x->spec.count; i++, from += x->element)
        if (x->element_in[i]) {
            memmove(to, from, x->element);
            to += x->element;
        }
}

void exercise_expect_threshold(struct exercise *x, exercise_values *values, unsigned char *out)
{
    unsigned char *all = exercise_allocate(x->spec.count * x->element + 1);

    values(x, x->spec.root, 0, all, 0, x->spec.count);
    for (size_t i = 0; i < x->spec.count; i++)
        if (x->element_in[i] && x->rank_in[x->rank])
            memcpy(out + i * x->element, all + i * x->element, x->element);
    free(all);
}

/* The status says how much is in; which elements and ranks, test/unit/test_threshold.c looks at. */
static bool status_is_wrong(const struct exercise *x)
{
    size_t ranks = 0;
    bool has = x->spec.collective == COLL_REDUCE || x->rank_in[x->rank];

    for (int q = 0; q < x->ranks; q++)
        ranks += x->rank_in[q];
    return x->status.elements != (has ? x->elements : 0) || x->status.ranks != (int)ranks;
}

const char *exercise_threshold_wrong(const struct exercise *x, char *text, size_t size)
{
    if (x->spec.of == 0 || !status_is_wrong(x))
        return NULL;
    snprintf(text, size, "the status has %zu elements, %d ranks", x->status.elements,
             x->status.ranks);
    return text;
}

const char *exercise_threshold_text(const struct exercise_spec *s, char *text, size_t size)
{
    static const char *const parts[] = {[NCOLL_THRESHOLD_DATA] = "data",
                                        [NCOLL_THRESHOLD_HEAVIEST] = "heaviest data",
                                        [NCOLL_THRESHOLD_RANKS] = "ranks"};

    if (s->of == 0)
        return "";
    snprintf(text, size, ", %g of the %s%s", s->fraction, parts[s->of],
             s->weighted ? ", weighted" : "");
    return text;
}

void exercise_close_threshold(struct exercise *x)
{
    free(x->weights);
    free(x->element_in);
}
