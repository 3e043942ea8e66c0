/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI's barrier and allreduce, on the same ranks, buffers, type and operation.
 */
#include <limits.h>
#include <mpi.h>

#include "tools/bench/bench.h"
#include "tools/bench/failure.h"

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

static int status_of(int mpi_error)
{
    char text[MPI_MAX_ERROR_STRING];
    int len;

    if (mpi_error == MPI_SUCCESS)
        return NCOLL_OK;
    MPI_Error_string(mpi_error, text, &len);
    failure_say(NCOLL_ERR_SYSTEM, text);
    return NCOLL_ERR_SYSTEM;
}

static int barrier_once(struct job *job, const struct row *row)
{
    (void)job;
    (void)row;
    return status_of(MPI_Barrier(MPI_COMM_WORLD));
}

static int allreduce_once(struct job *job, const struct row *row)
{
    return status_of(MPI_Allreduce(job->in, job->out, (int)row->count, type_of(job->options->type),
                                   op_of(job->options->op), MPI_COMM_WORLD));
}

static int enter(struct job *job, const struct row *row)
{
    (void)job;
    if (row->count <= INT_MAX)
        return NCOLL_OK;
    failure_say(NCOLL_ERR_UNSUPPORTED, "MPI_Allreduce takes no more than 2^31 - 1 elements");
    return NCOLL_ERR_UNSUPPORTED;
}

/* MPI may need calls of MPI to finish what it has begun: all ranks leave it together. */
static int leave(struct job *job, const struct row *row)
{
    return barrier_once(job, row);
}

const struct subject subject_mpi = {
    .name = "mpi",
    .label = "MPI",
    .once = {[COLL_BARRIER] = barrier_once, [COLL_ALLREDUCE] = allreduce_once},
    .begin = enter,
    .end = leave,
};
