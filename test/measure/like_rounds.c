/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/measure/like_rounds.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tools/bench/cores.h"
#include "tools/bench/ratio.h"
#include "tools/bench/stats.h"

#define SEED         1 /* of the interval: the same files give the same */
#define ROUNDS_LEAST 3 /* of a kind, to say something of it */

static unsigned batch_of(const json_t *row)
{
    return (unsigned)json_integer_value(json_object_get(row, "batch"));
}

/* The index-th number of a list, in us. */
static double at(const json_t *row, const char *key, size_t index)
{
    return json_number_value(json_array_get(json_object_get(row, key), index));
}

/* Batches with all their samples and both looks. */
static unsigned batches_of(const json_t *row)
{
    size_t samples = json_array_size(json_object_get(row, "samples_us"));
    size_t looks = json_array_size(json_object_get(row, "cores_us")) / CORES_LOOKS;

    if (batch_of(row) == 0)
        return 0;
    return (unsigned)(samples / batch_of(row) < looks ? samples / batch_of(row) : looks);
}

/* -1: not the same all the time. */
static int kind_of(const struct like_rounds *l, unsigned round)
{
    int kind = -1;

    for (size_t i = 0; i < CORES_LOOKS; i++) {
        size_t look = (size_t)round * CORES_LOOKS + i;
        int own = (int)cores_kind(at(l->ours, "cores_us", look));
        int theirs = (int)cores_kind(at(l->theirs, "cores_us", look));
        if (own != theirs || (i > 0 && own != kind))
            return -1;
        kind = own;
    }
    return kind;
}

/* Numbers, none of them less. */
static bool are_numbers(const json_t *list, double least)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_number(number) || json_number_value(number) < least)
            return false;
    }
    return json_array_size(list) > 0;
}

static bool is_sound(const json_t *row)
{
    return batches_of(row) > 0 && are_numbers(json_object_get(row, "samples_us"), 0) &&
           are_numbers(json_object_get(row, "cores_us"), 1e-3);
}

bool like_rounds_are_known(const json_t *row)
{
    return json_is_array(json_object_get(row, "cores_us"));
}

bool like_rounds_open(struct like_rounds *l, const json_t *ours, const json_t *theirs)
{
    unsigned own = batches_of(ours), others = batches_of(theirs);

    *l =
        (struct like_rounds){.ours = ours, .theirs = theirs, .rounds = own < others ? own : others};
    if (!is_sound(ours) || !is_sound(theirs))
        return false;
    l->kinds = calloc(l->rounds, sizeof *l->kinds);
    l->own_ns = calloc((size_t)l->rounds * batch_of(ours), sizeof *l->own_ns);
    l->mpi_ns = calloc((size_t)l->rounds * batch_of(theirs), sizeof *l->mpi_ns);
    l->cores_ns = calloc((size_t)l->rounds * CORES_LOOKS, sizeof *l->cores_ns);
    if (l->kinds == NULL || l->own_ns == NULL || l->mpi_ns == NULL || l->cores_ns == NULL) {
        like_rounds_close(l);
        return false;
    }
    for (unsigned round = 0; round < l->rounds; round++)
        l->kinds[round] = kind_of(l, round);
    return true;
}

void like_rounds_close(struct like_rounds *l)
{
    free(l->cores_ns);
    free(l->mpi_ns);
    free(l->own_ns);
    free(l->kinds);
}

/* Adds those of one round to the n that are there. */
static size_t add(uint64_t *to, size_t n, const json_t *row, const char *key, unsigned round,
                  unsigned each)
{
    for (unsigned i = 0; i < each; i++)
        to[n++] = (uint64_t)llround(at(row, key, (size_t)round * each + i) * 1e3);
    return n;
}

static double median_us(uint64_t *samples_ns, size_t n)
{
    stats_sort(samples_ns, n);
    return (double)stats_quantile(samples_ns, n, 500) / 1e3;
}

bool like_rounds_ratio(const struct like_rounds *l, unsigned kind, struct job_ratio *out,
                       unsigned *rounds)
{
    size_t own = 0, others = 0, looks = 0;
    struct batches a = {l->own_ns, 0, batch_of(l->ours)};
    struct batches b = {l->mpi_ns, 0, batch_of(l->theirs)};
    struct ratio ratio;

    for (unsigned round = 0; round < l->rounds; round++) {
        if (l->kinds[round] != (int)kind)
            continue;
        own = add(l->own_ns, own, l->ours, "samples_us", round, a.calls);
        others = add(l->mpi_ns, others, l->theirs, "samples_us", round, b.calls);
        looks = add(l->cores_ns, looks, l->ours, "cores_us", round, CORES_LOOKS);
        a.batches++;
        b.batches++;
    }
    *rounds = 0;
    if ((a.batches < ROUNDS_LEAST && a.batches < l->rounds) ||
        !ratio_of_medians(&a, &b, SEED, &ratio))
        return false;
    *rounds = a.batches;
    *out = (struct job_ratio){ratio.value, ratio.low, ratio.high, median_us(l->own_ns, own),
                              median_us(l->cores_ns, looks)};
    return true;
}
