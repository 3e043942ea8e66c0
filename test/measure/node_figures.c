/* SPDX-License-Identifier: BSD-3-Clause */
/* What is made of the runs: medians, ratios, and the limits of what was measured. */
#include <stdlib.h>
#include <string.h>

#include "test/measure/node_table.h"

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

double median_of(const struct series *s)
{
    struct series sorted = *s;

    if (s->n == 0)
        return 0;
    qsort(sorted.values, s->n, sizeof sorted.values[0], by_value);
    return (sorted.values[(s->n - 1) / 2] + sorted.values[s->n / 2]) / 2;
}

double least_of(const struct series *s)
{
    double least = s->n > 0 ? s->values[0] : 0;

    for (unsigned i = 1; i < s->n; i++)
        least = s->values[i] < least ? s->values[i] : least;
    return least;
}

double most_of(const struct series *s)
{
    double most = 0;

    for (unsigned i = 0; i < s->n; i++)
        most = s->values[i] > most ? s->values[i] : most;
    return most;
}

double ratio_of(const struct series *a, const struct series *b)
{
    struct series ratios = {.n = a->n < b->n ? a->n : b->n};

    for (unsigned i = 0; i < ratios.n; i++)
        ratios.values[i] = b->values[i] > 0 ? a->values[i] / b->values[i] : 0;
    return median_of(&ratios);
}

/* Of what is no vector, or a bare one; bytes 0: without data; memory NULL: whichever. */
static const struct measured *bare(const struct table *t, enum subject subject,
                                   const struct key *like, const char *memory)
{
    for (unsigned i = 0; i < t->n_figures; i++) {
        const struct figure *f = &t->figures[i];
        if (f->by[subject].p50_us.n > 0 && f->key.nodes == like->nodes &&
            f->key.ranks == like->ranks && f->key.bytes == like->bytes &&
            (memory == NULL || strcmp(f->key.memory, memory) == 0))
            return &f->by[subject];
    }
    return NULL;
}

/* The most that any bare exchange between the nodes has reached, of each side. */
static double most_mb_per_s(const struct table *t, const struct key *pair)
{
    double most = 0;

    for (unsigned i = 0; i < t->n_figures; i++) {
        const struct figure *f = &t->figures[i];
        double loop_us = median_of(&f->by[RAW].loop_us);
        double mb_per_s = loop_us > 0 ? (double)f->key.bytes / loop_us : 0;
        if (f->key.nodes == pair->nodes && f->key.ranks == pair->ranks && mb_per_s > most)
            most = mb_per_s;
    }
    return most;
}

/* One message each way between the nodes: the bare exchange, which polls, or a barrier of one pair,
 * which sleeps, whichever is faster: emulated nodes share processors with each other. */
static double one_exchange_us(const struct table *t, const struct key *pair, bool loop)
{
    static const enum subject subjects[] = {RAW, NCOLL};
    double least = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct measured *m = bare(t, subjects[i], pair, NULL);
        double us = m != NULL ? median_of(loop ? &m->loop_us : &m->p50_us) : 0;
        if (us > 0 && (least <= 0 || us < least))
            least = us;
    }
    return least;
}

/*
 * Between two nodes: one exchange; and P/2 blocks that cross in each direction on average, at the
 * bandwidth that one pair reached in both at once. (Where all cross in one direction, as in a
 * broadcast, that is the limit of processors that have to move them, and less than that of a wire.)
 */
static double between_nodes_us(const struct table *t, const struct key *key, bool loop)
{
    struct key pair = {.nodes = key->nodes, .ranks = key->nodes};
    double most = most_mb_per_s(t, &pair);
    double us = one_exchange_us(t, &pair, loop);

    if (strcmp(key->what, "allgatherv") == 0 && most > 0) {
        double bytes = (double)key->bytes * key->ranks / 2;
        us = bytes / most > us ? bytes / most : us;
    }
    return us;
}

double limit_us(const struct table *t, const struct key *key, bool loop)
{
    struct key same = {.nodes = key->nodes, .ranks = key->ranks, .bytes = key->bytes};
    const struct measured *limit = key->fresh ? bare(t, PULL, &same, key->memory) : NULL;

    if (key->nodes > 1)
        return between_nodes_us(t, key, loop);
    if (limit == NULL)
        limit = bare(t, COPY, &same, key->memory);
    if (limit == NULL) {
        same.bytes = 0;
        limit = bare(t, key->ranks == 2 ? RAW : FLAGS, &same, NULL);
    }
    return limit != NULL ? median_of(loop ? &limit->loop_us : &limit->p50_us) : 0;
}
