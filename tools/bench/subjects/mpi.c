/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of an MPI, on the same ranks, buffers, type and operation.
 */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "examples/cg/mpi_board.h"
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

#define ONCE(name, call)                                                                           \
    static int name##_once(struct job *job, const struct row *row)                                 \
    {                                                                                              \
        (void)job;                                                                                 \
        (void)row;                                                                                 \
        return mpi_said(call);                                                                     \
    }

/* Arguments that many calls have. An own block goes with the block that is sent, all blocks with
 * those that are received. */
#define TYPE       type_of(job->options->type)
#define OP         op_of(job->options->op)
#define VECTOR     (int)row->count, TYPE
#define OWN_BLOCK  row->blocks.int_counts[job->rank], TYPE
#define ALL_BLOCKS row->blocks.int_counts, row->blocks.int_displs, TYPE
#define WORLD      MPI_COMM_WORLD

ONCE(barrier, MPI_Barrier(WORLD))
ONCE(allreduce, MPI_Allreduce(job->in, job->out, VECTOR, OP, WORLD))
ONCE(bcast, MPI_Bcast(job->rank == BENCH_ROOT ? job->in : job->out, VECTOR, BENCH_ROOT, WORLD))
ONCE(reduce, MPI_Reduce(job->in, job->out, VECTOR, OP, BENCH_ROOT, WORLD))
ONCE(gather, MPI_Gather(job->in, VECTOR, job->out, VECTOR, BENCH_ROOT, WORLD))
ONCE(scatter, MPI_Scatter(job->in, VECTOR, job->out, VECTOR, BENCH_ROOT, WORLD))
ONCE(allgather, MPI_Allgather(job->in, VECTOR, job->out, VECTOR, WORLD))
ONCE(alltoall, MPI_Alltoall(job->in, VECTOR, job->out, VECTOR, WORLD))
ONCE(reduce_scatter, MPI_Reduce_scatter_block(job->in, job->out, VECTOR, OP, WORLD))
ONCE(scan, MPI_Scan(job->in, job->out, VECTOR, OP, WORLD))
ONCE(exscan, MPI_Exscan(job->in, job->out, VECTOR, OP, WORLD))
ONCE(gatherv, MPI_Gatherv(job->in, OWN_BLOCK, job->out, ALL_BLOCKS, BENCH_ROOT, WORLD))
ONCE(scatterv, MPI_Scatterv(job->in, ALL_BLOCKS, job->out, OWN_BLOCK, BENCH_ROOT, WORLD))
ONCE(allgatherv, MPI_Allgatherv(job->in, OWN_BLOCK, job->out, ALL_BLOCKS, WORLD))

static int enter(struct job *job, const struct row *row)
{
    size_t blocks = row->distribution != DISTRIBUTION_NONE ? (size_t)job->ranks : 1;

    if (row->count * blocks <= INT_MAX)
        return NCOLL_OK;
    return failure_say(NCOLL_ERR_UNSUPPORTED, "MPI takes no more than 2^31 - 1 elements");
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
