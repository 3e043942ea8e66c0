/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of MPI's collectives, written once for their six forms: blocking, non-blocking and
 * persistent, with counts of type int and of type MPI_Count. For each collective X:
 *
 *     PARAMETERS_X(INT, PLACE)  as in mpi.h; INT is the type of counts, PLACE of displacements
 *     ARGUMENTS_X               the arguments, to be passed on to MPI
 *     PREPARED_X                the arguments, to be passed to prepare_X()
 *     OPERATION_X               the address of its operation
 */
#ifndef NCOLL_INTEROP_MPI_PARAMETERS_H
#define NCOLL_INTEROP_MPI_PARAMETERS_H

#define PARAMETERS_Barrier(INT, PLACE) MPI_Comm comm
#define ARGUMENTS_Barrier              comm
#define PREPARED_Barrier               comm

#define PARAMETERS_Bcast(INT, PLACE)                                                               \
    void *buffer, INT count, MPI_Datatype type, int root, MPI_Comm comm
#define ARGUMENTS_Bcast buffer, count, type, root, comm
#define PREPARED_Bcast  ARGUMENTS_Bcast

#define PARAMETERS_Reduce(INT, PLACE)                                                              \
    const void *in, void *out, INT count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define ARGUMENTS_Reduce in, out, count, type, op, root, comm
#define PREPARED_Reduce  ARGUMENTS_Reduce

#define PARAMETERS_Allreduce(INT, PLACE)                                                           \
    const void *in, void *out, INT count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define ARGUMENTS_Allreduce             in, out, count, type, op, comm
#define PREPARED_Allreduce              ARGUMENTS_Allreduce
#define PARAMETERS_Scan                 PARAMETERS_Allreduce
#define ARGUMENTS_Scan                  ARGUMENTS_Allreduce
#define PREPARED_Scan                   ARGUMENTS_Allreduce
#define PARAMETERS_Exscan               PARAMETERS_Allreduce
#define ARGUMENTS_Exscan                ARGUMENTS_Allreduce
#define PREPARED_Exscan                 ARGUMENTS_Allreduce
#define PARAMETERS_Reduce_scatter_block PARAMETERS_Allreduce
#define ARGUMENTS_Reduce_scatter_block  ARGUMENTS_Allreduce
#define PREPARED_Reduce_scatter_block   ARGUMENTS_Allreduce

#define PARAMETERS_Reduce_scatter(INT, PLACE)                                                      \
    const void *in, void *out, const INT counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define ARGUMENTS_Reduce_scatter in, out, counts, type, op, comm
#define PREPARED_Reduce_scatter  in, out, N(counts), type, op, comm

#define PARAMETERS_Gather(INT, PLACE)                                                              \
    const void *in, INT in_count, MPI_Datatype in_type, void *out, INT out_count,                  \
        MPI_Datatype out_type, int root, MPI_Comm comm
#define ARGUMENTS_Gather   in, in_count, in_type, out, out_count, out_type, root, comm
#define PREPARED_Gather    ARGUMENTS_Gather
#define PARAMETERS_Scatter PARAMETERS_Gather
#define ARGUMENTS_Scatter  ARGUMENTS_Gather
#define PREPARED_Scatter   ARGUMENTS_Gather

#define PARAMETERS_Allgather(INT, PLACE)                                                           \
    const void *in, INT in_count, MPI_Datatype in_type, void *out, INT out_count,                  \
        MPI_Datatype out_type, MPI_Comm comm
#define ARGUMENTS_Allgather in, in_count, in_type, out, out_count, out_type, comm
#define PREPARED_Allgather  ARGUMENTS_Allgather
#define PARAMETERS_Alltoall PARAMETERS_Allgather
#define ARGUMENTS_Alltoall  ARGUMENTS_Allgather
#define PREPARED_Alltoall   ARGUMENTS_Allgather

#define PARAMETERS_Gatherv(INT, PLACE)                                                             \
    const void *in, INT in_count, MPI_Datatype in_type, void *out, const INT out_counts[],         \
        const PLACE displs[], MPI_Datatype out_type, int root, MPI_Comm comm
#define ARGUMENTS_Gatherv in, in_count, in_type, out, out_counts, displs, out_type, root, comm
#define PREPARED_Gatherv  in, in_count, in_type, out, N(out_counts), N(displs), out_type, root, comm

#define PARAMETERS_Scatterv(INT, PLACE)                                                            \
    const void *in, const INT in_counts[], const PLACE displs[], MPI_Datatype in_type, void *out,  \
        INT out_count, MPI_Datatype out_type, int root, MPI_Comm comm
#define ARGUMENTS_Scatterv in, in_counts, displs, in_type, out, out_count, out_type, root, comm
#define PREPARED_Scatterv  in, N(in_counts), N(displs), in_type, out, out_count, out_type, root, comm

#define PARAMETERS_Allgatherv(INT, PLACE)                                                          \
    const void *in, INT in_count, MPI_Datatype in_type, void *out, const INT out_counts[],         \
        const PLACE displs[], MPI_Datatype out_type, MPI_Comm comm
#define ARGUMENTS_Allgatherv in, in_count, in_type, out, out_counts, displs, out_type, comm
#define PREPARED_Allgatherv  in, in_count, in_type, out, N(out_counts), N(displs), out_type, comm

#define PARAMETERS_Alltoallv(INT, PLACE)                                                           \
    const void *in, const INT in_counts[], const PLACE in_displs[], MPI_Datatype in_type,          \
        void *out, const INT out_counts[], const PLACE out_displs[], MPI_Datatype out_type,        \
        MPI_Comm comm
#define ARGUMENTS_Alltoallv                                                                        \
    in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm
#define PREPARED_Alltoallv                                                                         \
    in, N(in_counts), N(in_displs), in_type, out, N(out_counts), N(out_displs), out_type, comm

#define PARAMETERS_Alltoallw(INT, PLACE)                                                           \
    const void *in, const INT in_counts[], const PLACE in_displs[], const MPI_Datatype in_types[], \
        void *out, const INT out_counts[], const PLACE out_displs[],                               \
        const MPI_Datatype out_types[], MPI_Comm comm
#define ARGUMENTS_Alltoallw                                                                        \
    in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types, comm
#define PREPARED_Alltoallw                                                                         \
    in, N(in_counts), N(in_displs), in_types, out, N(out_counts), N(out_displs), out_types, comm

/* The address of the operation in a blocking call; NULL: the collective has no operation. */
#define OPERATION_Barrier              NULL
#define OPERATION_Bcast                NULL
#define OPERATION_Reduce               &op
#define OPERATION_Allreduce            &op
#define OPERATION_Scan                 &op
#define OPERATION_Exscan               &op
#define OPERATION_Reduce_scatter_block &op
#define OPERATION_Reduce_scatter       &op
#define OPERATION_Gather               NULL
#define OPERATION_Scatter              NULL
#define OPERATION_Allgather            NULL
#define OPERATION_Alltoall             NULL
#define OPERATION_Gatherv              NULL
#define OPERATION_Scatterv             NULL
#define OPERATION_Allgatherv           NULL
#define OPERATION_Alltoallv            NULL
#define OPERATION_Alltoallw            NULL

#endif
