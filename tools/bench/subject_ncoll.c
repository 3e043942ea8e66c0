/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ncoll, as its users call it; and the bare exchange of its transport, which is the limit that it
 * is compared with.
 */
#include "tools/bench/bench.h"

#define ONCE(name, call)                                                                           \
    static int name##_once(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)row;                                                                                 \
        return call;                                                                               \
    }
ONCE(barrier, ncoll_barrier(job->world, NCOLL_BLOCK))
ONCE(allreduce, ncoll_allreduce(job->world, job->in, job->out, row->count, job->options->type,
                                job->options->op, NCOLL_BLOCK))
ONCE(bcast, ncoll_bcast(job->world, job->rank == BENCH_ROOT ? job->in : job->out, row->count,
                        job->options->type, BENCH_ROOT, NCOLL_BLOCK))
ONCE(reduce, ncoll_reduce(job->world, job->in, job->out, row->count, job->options->type,
                          job->options->op, BENCH_ROOT, NCOLL_BLOCK))
ONCE(gather, ncoll_gather(job->world, job->in, job->out, row->count, job->options->type, BENCH_ROOT,
                          NCOLL_BLOCK))
ONCE(scatter, ncoll_scatter(job->world, job->in, job->out, row->count, job->options->type,
                            BENCH_ROOT, NCOLL_BLOCK))
ONCE(allgather,
     ncoll_allgather(job->world, job->in, job->out, row->count, job->options->type, NCOLL_BLOCK))
ONCE(alltoall,
     ncoll_alltoall(job->world, job->in, job->out, row->count, job->options->type, NCOLL_BLOCK))
ONCE(reduce_scatter, ncoll_reduce_scatter_block(job->world, job->in, job->out, row->count,
                                                job->options->type, job->options->op, NCOLL_BLOCK))
ONCE(scan, ncoll_scan(job->world, job->in, job->out, row->count, job->options->type,
                      job->options->op, NCOLL_BLOCK))
ONCE(exscan, ncoll_exscan(job->world, job->in, job->out, row->count, job->options->type,
                          job->options->op, NCOLL_BLOCK))

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
    int status = ncoll__choose(job->world, row->collective, row->count, job->options->type,
                               job->options->op, &choice);

    if (status != NCOLL_OK)
        return status;
    row->algorithm = choice.algorithm->name;
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
        },
    .begin = force,
    .end = unforce,
    .describe = describe,
};

static int exchange(struct job *job, const struct row *row, unsigned calls, uint64_t *samples_ns)
{
    (void)row;
    return ncoll__raw_exchange(job->world, calls, samples_ns);
}

const struct subject subject_raw = {
    .name = "raw",
    .label = "raw",
    .batch = exchange,
};
