/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll, as its users call it; and the bare exchange of its transport, which is the limit that it
 * is compared with.
 */
#include "tools/bench/bench.h"
#include "transport/transport.h"

/* Each collective as a call, and as a persistent request. */
#define EACH(name, call, ...)                                                                      \
    static int name##_once(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        return ncoll_##call(__VA_ARGS__, NCOLL_BLOCK);                                             \
    }                                                                                              \
    static int name##_init(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        return ncoll_##call##_init(__VA_ARGS__, &job->request);                                    \
    }
EACH(barrier, barrier, job->world)
EACH(allreduce, allreduce, job->world, job->in, job->out, row->count, job->options->type,
     job->options->op)
EACH(bcast, bcast, job->world, job->rank == BENCH_ROOT ? job->in : job->out, row->count,
     job->options->type, BENCH_ROOT)
EACH(reduce, reduce, job->world, job->in, job->out, row->count, job->options->type,
     job->options->op, BENCH_ROOT)
EACH(gather, gather, job->world, job->in, job->out, row->count, job->options->type, BENCH_ROOT)
EACH(scatter, scatter, job->world, job->in, job->out, row->count, job->options->type, BENCH_ROOT)
EACH(allgather, allgather, job->world, job->in, job->out, row->count, job->options->type)
EACH(alltoall, alltoall, job->world, job->in, job->out, row->count, job->options->type)
EACH(reduce_scatter, reduce_scatter_block, job->world, job->in, job->out, row->count,
     job->options->type, job->options->op)
EACH(scan, scan, job->world, job->in, job->out, row->count, job->options->type, job->options->op)
EACH(exscan, exscan, job->world, job->in, job->out, row->count, job->options->type,
     job->options->op)
EACH(gatherv, gatherv, job->world, job->in, job->out, row->blocks.counts, row->blocks.displs,
     job->options->type, BENCH_ROOT)
EACH(scatterv, scatterv, job->world, job->in, row->blocks.counts, row->blocks.displs, job->out,
     job->options->type, BENCH_ROOT)
EACH(allgatherv, allgatherv, job->world, job->in, job->out, row->blocks.counts, row->blocks.displs,
     job->options->type)

static int (*const inits[CODES])(struct job *job, const struct row *row) = {
    [COLL_BARRIER] = barrier_init,
    [COLL_ALLREDUCE] = allreduce_init,
    [COLL_BCAST] = bcast_init,
    [COLL_REDUCE] = reduce_init,
    [COLL_GATHER] = gather_init,
    [COLL_SCATTER] = scatter_init,
    [COLL_ALLGATHER] = allgather_init,
    [COLL_ALLTOALL] = alltoall_init,
    [COLL_REDUCE_SCATTER] = reduce_scatter_init,
    [COLL_SCAN] = scan_init,
    [COLL_EXSCAN] = exscan_init,
    [COLL_GATHER + WITH_COUNTS] = gatherv_init,
    [COLL_SCATTER + WITH_COUNTS] = scatterv_init,
    [COLL_ALLGATHER + WITH_COUNTS] = allgatherv_init,
};

/* The forced algorithm holds for the measured calls only: what the benchmark itself reduces, to
 * combine samples, may be something that it cannot do. */
static int force(struct job *job, const struct row *row)
{
    const char *name = job->options->algorithm;

    if (name != NULL && (ncoll__algorithm_find(name)->collectives & 1u << row->collective) == 0)
        name = NULL;
    return ncoll__group_force(job->world, row->collective, name, job->options->radix);
}

static int unforce(struct job *job, const struct row *row)
{
    return ncoll__group_force(job->world, row->collective, NULL, 0);
}

static int describe(struct job *job, struct row *row)
{
    struct choice choice;
    int status = row->distribution == DISTRIBUTION_NONE
                     ? ncoll__choose(job->world, row->collective, row->count, job->options->type,
                                     job->options->op, &choice)
                     : ncoll__choose_with_counts(job->world, row->collective, row->blocks.counts,
                                                 job->options->type, &choice);

    if (status != NCOLL_OK)
        return status;
    row->algorithm = choice.algorithm->name;
    row->why = choice.why;
    row->from = ncoll__choice_from(&choice);
    row->radix = choice.algorithm->properties & USES_RADIX ? choice.radix : 0;
    return NCOLL_OK;
}

const struct subject subject_ncoll = {
    .name = "ncoll",
    .label = "",
    .once =
        {
            [COLL_BARRIER] = barrier_once,
            [COLL_ALLREDUCE] = allreduce_once,
            [COLL_BCAST] = bcast_once,
            [COLL_REDUCE] = reduce_once,
            [COLL_GATHER] = gather_once,
            [COLL_SCATTER] = scatter_once,
            [COLL_ALLGATHER] = allgather_once,
            [COLL_ALLTOALL] = alltoall_once,
            [COLL_REDUCE_SCATTER] = reduce_scatter_once,
            [COLL_SCAN] = scan_once,
            [COLL_EXSCAN] = exscan_once,
            [COLL_GATHER + WITH_COUNTS] = gatherv_once,
            [COLL_SCATTER + WITH_COUNTS] = scatterv_once,
            [COLL_ALLGATHER + WITH_COUNTS] = allgatherv_once,
        },
    .begin = force,
    .end = unforce,
    .describe = describe,
};

/* ------------------------------------------------------------------ persistent ---------------- */

static int init(struct job *job, const struct row *row)
{
    int status = force(job, row);

    return status == NCOLL_OK ? inits[row_code(row)](job, row) : status;
}

static int start_and_wait(struct job *job, const struct row *row)
{
    (void)row;
    int status = ncoll_start(job->request);
    return status == NCOLL_OK ? ncoll_wait(&job->request, NCOLL_BLOCK) : status;
}

static int free_request(struct job *job, const struct row *row)
{
    int status = ncoll_request_free(&job->request);

    return status == NCOLL_OK ? unforce(job, row) : status;
}

const struct subject subject_persistent = {
    .name = "persistent",
    .label = "pers.",
    .once =
        {
            [COLL_BARRIER] = start_and_wait,
            [COLL_ALLREDUCE] = start_and_wait,
            [COLL_BCAST] = start_and_wait,
            [COLL_REDUCE] = start_and_wait,
            [COLL_GATHER] = start_and_wait,
            [COLL_SCATTER] = start_and_wait,
            [COLL_ALLGATHER] = start_and_wait,
            [COLL_ALLTOALL] = start_and_wait,
            [COLL_REDUCE_SCATTER] = start_and_wait,
            [COLL_SCAN] = start_and_wait,
            [COLL_EXSCAN] = start_and_wait,
            [COLL_GATHER + WITH_COUNTS] = start_and_wait,
            [COLL_SCATTER + WITH_COUNTS] = start_and_wait,
            [COLL_ALLGATHER + WITH_COUNTS] = start_and_wait,
        },
    .begin = init,
    .end = free_request,
    .describe = describe,
};

/* ------------------------------------------------------------------ bare exchange ------------- */

static int exchange(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    return ncoll__raw_exchange(job->world, 1, row->bytes, calls, samples_ns);
}

const struct subject subject_raw = {
    .name = "raw",
    .label = "raw",
    .batch = exchange,
    .what = "exchange",
};

/* As many notifications at once as the transport does: what each of many costs. */
static int messages(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    (void)row;
    return ncoll__raw_exchange(job->world, RAW_WRITES_MAX, 0, calls, samples_ns);
}

const struct subject subject_rate = {
    .name = "rate",
    .label = "rate",
    .batch = messages,
    .what = "exchange",
};
