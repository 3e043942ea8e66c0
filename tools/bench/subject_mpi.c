/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's collectives, on the same ranks, buffers, type and operation.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tools/bench/bench.h"
#include "tools/bench/mpi_said.h"

static MPI_Datatype type_of(ncoll_type type)
{
    switch (type) {
    case NCOLL_INT8:
        return MPI_INT8_T;
    case NCOLL_INT16:
        return MPI_INT16_T;
    case NCOLL_INT32:
        return MPI_INT32_T;
    case NCOLL_INT64:
        return MPI_INT64_T;
    case NCOLL_UINT8:
        return MPI_UINT8_T;
    case NCOLL_UINT16:
        return MPI_UINT16_T;
    case NCOLL_UINT32:
        return MPI_UINT32_T;
    case NCOLL_UINT64:
        return MPI_UINT64_T;
    case NCOLL_FLOAT:
        return MPI_FLOAT;
    case NCOLL_DOUBLE:
        return MPI_DOUBLE;
    }
    return MPI_DATATYPE_NULL;
}

static MPI_Op op_of(ncoll_op op)
{
    switch (op) {
    case NCOLL_SUM:
        return MPI_SUM;
    case NCOLL_PROD:
        return MPI_PROD;
    case NCOLL_MIN:
        return MPI_MIN;
    case NCOLL_MAX:
        return MPI_MAX;
    case NCOLL_LAND:
        return MPI_LAND;
    case NCOLL_LOR:
        return MPI_LOR;
    case NCOLL_LXOR:
        return MPI_LXOR;
    case NCOLL_BAND:
        return MPI_BAND;
    case NCOLL_BOR:
        return MPI_BOR;
    case NCOLL_BXOR:
        return MPI_BXOR;
    default:
        return MPI_OP_NULL;
    }
}

#define ONCE(name, call)                                                                           \
    static int name##_once(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)job;                                                                                 \
        (void)row;                                                                                 \
        return mpi_said(call);                                                                     \
    }
ONCE(barrier, MPI_Barrier(MPI_COMM_WORLD))
ONCE(allreduce, MPI_Allreduce(job->in, job->out, (int)row->count, type_of(job->options->type),
                              op_of(job->options->op), MPI_COMM_WORLD))
ONCE(bcast, MPI_Bcast(job->rank == BENCH_ROOT ? job->in : job->out, (int)row->count,
                      type_of(job->options->type), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(reduce, MPI_Reduce(job->in, job->out, (int)row->count, type_of(job->options->type),
                        op_of(job->options->op), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(gather, MPI_Gather(job->in, (int)row->count, type_of(job->options->type), job->out,
                        (int)row->count, type_of(job->options->type), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(scatter, MPI_Scatter(job->in, (int)row->count, type_of(job->options->type), job->out,
                          (int)row->count, type_of(job->options->type), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(allgather, MPI_Allgather(job->in, (int)row->count, type_of(job->options->type), job->out,
                              (int)row->count, type_of(job->options->type), MPI_COMM_WORLD))
ONCE(alltoall, MPI_Alltoall(job->in, (int)row->count, type_of(job->options->type), job->out,
                            (int)row->count, type_of(job->options->type), MPI_COMM_WORLD))
ONCE(reduce_scatter,
     MPI_Reduce_scatter_block(job->in, job->out, (int)row->count, type_of(job->options->type),
                              op_of(job->options->op), MPI_COMM_WORLD))
ONCE(scan, MPI_Scan(job->in, job->out, (int)row->count, type_of(job->options->type),
                    op_of(job->options->op), MPI_COMM_WORLD))
ONCE(exscan, MPI_Exscan(job->in, job->out, (int)row->count, type_of(job->options->type),
                        op_of(job->options->op), MPI_COMM_WORLD))
/* Own count with the block that is sent, all counts with those that are received. */
ONCE(gatherv, MPI_Gatherv(job->in, row->blocks.int_counts[job->rank], type_of(job->options->type),
                          job->out, row->blocks.int_counts, row->blocks.int_displs,
                          type_of(job->options->type), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(scatterv,
     MPI_Scatterv(job->in, row->blocks.int_counts, row->blocks.int_displs,
                  type_of(job->options->type), job->out, row->blocks.int_counts[job->rank],
                  type_of(job->options->type), BENCH_ROOT, MPI_COMM_WORLD))
ONCE(allgatherv,
     MPI_Allgatherv(job->in, row->blocks.int_counts[job->rank], type_of(job->options->type),
                    job->out, row->blocks.int_counts, row->blocks.int_displs,
                    type_of(job->options->type), MPI_COMM_WORLD))

static int enter(struct job *job, const struct row *row)
{
    size_t blocks = row->distribution != DISTRIBUTION_NONE ? (size_t)job->ranks : 1;

    return mpi_can_count(row->count * blocks);
}

/* MPI may need calls of MPI to finish what it has begun: all ranks leave it together. */
static int leave(struct job *job, const struct row *row)
{
    return barrier_once(job, row);
}

/* "Open MPI v5.0.7, package: ..", "MPICH Version:      4.2.1\n..": the name and the version. */
static void version(char *text, size_t size)
{
    static const char mpich[] = "MPICH Version:";
    char all[MPI_MAX_LIBRARY_VERSION_STRING];
    int len;

    MPI_Get_library_version(all, &len);
    all[strcspn(all, ",\n")] = '\0';
    if (strncmp(all, mpich, strlen(mpich)) == 0) {
        const char *number = all + strlen(mpich);
        snprintf(text, size, "MPICH %s", number + strspn(number, " \t"));
    } else {
        snprintf(text, size, "%s", all);
    }
}

const struct subject subject_mpi = {
    .name = "mpi",
    .label = "MPI",
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
    .begin = enter,
    .end = leave,
    .version = version,
};
