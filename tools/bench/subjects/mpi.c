/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of an MPI, on the same ranks, buffers, type and operation.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "examples/cg/support.h"
#include "tools/bench/bench.h"

static MPI_Datatype type_of(ncoll_type type)
{
    const MPI_Datatype types[] = {
        [NCOLL_INT8] = MPI_INT8_T,     [NCOLL_INT16] = MPI_INT16_T,   [NCOLL_INT32] = MPI_INT32_T,
        [NCOLL_INT64] = MPI_INT64_T,   [NCOLL_UINT8] = MPI_UINT8_T,   [NCOLL_UINT16] = MPI_UINT16_T,
        [NCOLL_UINT32] = MPI_UINT32_T, [NCOLL_UINT64] = MPI_UINT64_T, [NCOLL_FLOAT] = MPI_FLOAT,
        [NCOLL_DOUBLE] = MPI_DOUBLE,
    };

    return type <= NCOLL_DOUBLE ? types[type] : MPI_DATATYPE_NULL;
}

static MPI_Op op_of(ncoll_op op)
{
    const MPI_Op ops[] = {
        [NCOLL_SUM] = MPI_SUM,   [NCOLL_PROD] = MPI_PROD, [NCOLL_MIN] = MPI_MIN,
        [NCOLL_MAX] = MPI_MAX,   [NCOLL_LAND] = MPI_LAND, [NCOLL_LOR] = MPI_LOR,
        [NCOLL_LXOR] = MPI_LXOR, [NCOLL_BAND] = MPI_BAND, [NCOLL_BOR] = MPI_BOR,
        [NCOLL_BXOR] = MPI_BXOR,
    };

    return op <= NCOLL_BXOR ? ops[op] : MPI_OP_NULL;
}

static int mpi_said(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (mpi_error == MPI_SUCCESS)
        return NCOLL_OK;
    MPI_Error_string(mpi_error, text, &len);
    return failure_say(NCOLL_ERR_SYSTEM, "%s", text);
}

static int mpi_can_count(size_t elements)
{
    if (elements <= INT_MAX)
        return NCOLL_OK;
    return failure_say(NCOLL_ERR_UNSUPPORTED, "MPI takes no more than 2^31 - 1 elements");
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
/* MPI takes the count of this rank's block, and on the side of all blocks the counts of all
 * ranks. */
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

/* Makes a barrier of MPI: some ranks may need further calls of others to finish their own. */
static int leave(struct job *job, const struct row *row)
{
    return barrier_once(job, row);
}

/* Writes the name and the version, which are the beginning of texts such as "Open MPI v5.0.7,
 * package: .." and "MPICH Version: 4.2.1\n..". */
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

static const call_fn once_by_code[CODES] = BY_CODE(once);

const struct subject subject_mpi = {
    .name = "mpi",
    .label = "MPI",
    .codes = ALL_CODES,
    .once = once_by_code,
    .begin = enter,
    .end = leave,
    .version = version,
};
