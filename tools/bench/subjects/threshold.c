/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bcast and reduce with a threshold, by fraction (--fraction): the measurements of Iakymchuk et al.
 * 2022, figures 8 to 10. Each is compared with the same collective of all data and ranks, which is
 * measured in the same run.
 */
#include <stdlib.h>

#include "tools/bench/bench.h"
#include "tools/bench/measure/mix.h"
#include "tools/inside.h"

/* The memory that calls need besides IN and OUT. */
struct with_threshold {
    double *weights; /* of elements; the same on all ranks, and random */
    uint8_t *element_in;
    ncoll_threshold_status status; /* of the latest call */
};

static int open_memory(struct job *job)
{
    const struct options *o = job->options;
    size_t most = o->max_bytes / ncoll_type_size(o->type) + 1;
    struct with_threshold *with;

    if (o->n_fractions == 0)
        return NCOLL_OK;
    if ((with = job->with_threshold = calloc(1, sizeof *with)) == NULL)
        return NCOLL_ERR_MEMORY;
    with->weights = calloc(most, sizeof *with->weights);
    with->element_in = calloc(most, 1);
    if (with->weights == NULL || with->element_in == NULL)
        return NCOLL_ERR_MEMORY;
    for (size_t i = 0; i < most; i++)
        with->weights[i] = (double)(mix(job->seed + i) >> 11);
    with->status = (ncoll_threshold_status){.size = sizeof with->status};
    return NCOLL_OK;
}

static void close_memory(struct job *job)
{
    struct with_threshold *with = job->with_threshold;

    if (with == NULL)
        return;
    free(with->weights);
    free(with->element_in);
    free(with);
    job->with_threshold = NULL;
}

static ncoll_threshold threshold_of(const struct job *job, const struct row *row)
{
    bool by_weight = job->options->of == NCOLL_THRESHOLD_HEAVIEST;

    return (ncoll_threshold){.size = sizeof(ncoll_threshold),
                             .of = job->options->of,
                             .fraction = row->fraction,
                             .weights = by_weight ? job->with_threshold->weights : NULL};
}

/* The elements that are in are asked for only if they cannot be known without. */
static int once(struct job *job, const struct row *row)
{
    const ncoll_threshold t = threshold_of(job, row);
    struct with_threshold *with = job->with_threshold;
    const struct options *o = job->options;

    with->status.element_in = t.of == NCOLL_THRESHOLD_HEAVIEST ? with->element_in : NULL;
    if (row->collective == COLL_BCAST)
        return ncoll_bcast_threshold(job->world, job->rank == BENCH_ROOT ? job->in : job->out,
                                     row->count, o->type, BENCH_ROOT, &t, &with->status,
                                     NCOLL_BLOCK);
    return ncoll_reduce_threshold(job->world, job->in, job->out, row->count, o->type, o->op,
                                  BENCH_ROOT, &t, &with->status, NCOLL_BLOCK);
}

bool threshold_has_element(const struct job *job, const struct row *row, size_t i)
{
    const struct with_threshold *with = job->with_threshold;

    if (row->subject != &subject_threshold || i >= row->count)
        return true;
    return with->status.element_in != NULL ? with->element_in[i] != 0 : i < with->status.elements;
}

int threshold_ranks(const struct job *job, const struct row *row)
{
    bool of_ranks = row->subject == &subject_threshold && job->options->of == NCOLL_THRESHOLD_RANKS;
    size_t ranks = ncoll__threshold_of(row->fraction, (size_t)job->ranks);

    return !of_ranks ? job->ranks : ranks > 0 ? (int)ranks : 1;
}

/* The choice for what is in. */
static int describe(struct job *job, struct row *row)
{
    const struct options *o = job->options;
    bool is_part = threshold_ranks(job, row) < job->ranks;
    size_t count = o->of == NCOLL_THRESHOLD_RANKS ? row->count
                                                  : ncoll__threshold_of(row->fraction, row->count);
    struct choice choice;
    int status = ncoll__choose(job->world, row->collective, count, o->type, o->op, &choice);

    if (status != NCOLL_OK)
        return status;
    row->algorithm = is_part ? ncoll__algorithm_find("threshold")->name : choice.algorithm->name;
    row->why = is_part ? "a part of the ranks" : choice.why;
    row->from = is_part ? "fit" : ncoll__choice_from(&choice);
    return NCOLL_OK;
}

const struct subject subject_threshold = {
    .name = "threshold",
    .label = "threshold",
    .codes = 1u << COLL_BCAST | 1u << COLL_REDUCE,
    .any = once,
    .describe = describe,
    .open = open_memory,
    .close = close_memory,
};
