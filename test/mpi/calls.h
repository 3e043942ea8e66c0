/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of every collective, as a blocking, a non-blocking or a persistent one, on memory of its own. Programs that
 * are about when calls begin and end take their calls from here. */
#ifndef MPI_TEST_CALLS_H
#define MPI_TEST_CALLS_H

#include "check.h"

#if MPI_VERSION < 4 && defined OPEN_MPI
#include <mpi-ext.h>
#endif

enum collective {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    COLLECTIVES
};

extern const char *const collective_names[COLLECTIVES];

/* The arguments of a call; of a call with one count for each rank, what is sent and what is received. */
struct call {
    enum collective collective;
    MPI_Comm comm;
    int rank, size, count, root, salt;
    MPI_Datatype type;
    MPI_Op op;
    void *in, *out;
    int *send_counts, *send_starts, *send_bytes, *counts, *starts, *bytes;
    MPI_Datatype *types;
};

/* CALL(BLOCKING, c, ) or CALL(NONBLOCKING, c, , request): this call in a form, whose names are made of the two spellings
 * of the collective's, with what comes after the communicator. */
#define BLOCKING(upper, lower)    MPI_##upper
#define MPIS_OWN(upper, lower)    OWN(upper) /* own.h */
#define NONBLOCKING(upper, lower) MPI_I##lower
/* The persistent form, if this MPI has one. */
#if MPI_VERSION >= 4
#define PERSISTENT(upper, lower) MPI_##upper##_init
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(upper, lower) MPIX_##upper##_init
#endif
#define CALL(form, c, ...)                                                                         \
    switch ((c)->collective) {                                                                     \
    case BARRIER:                                                                                  \
        OK(form(Barrier, barrier)((c)->comm __VA_ARGS__));                                         \
        break;                                                                                     \
    case BCAST:                                                                                    \
        OK(form(Bcast, bcast)((c)->out, (c)->count, (c)->type, (c)->root, (c)->comm __VA_ARGS__)); \
        break;                                                                                     \
    case REDUCE:                                                                                   \
        OK(form(Reduce, reduce)((c)->in, (c)->out, (c)->count, (c)->type, (c)->op, (c)->root,      \
                                (c)->comm __VA_ARGS__));                                           \
        break;                                                                                     \
    case ALLREDUCE:                                                                                \
        OK(form(Allreduce, allreduce)((c)->in, (c)->out, (c)->count, (c)->type, (c)->op,           \
                                      (c)->comm __VA_ARGS__));                                     \
        break;                                                                                     \
    case GATHER:                                                                                   \
        OK(form(Gather, gather)((c)->in, (c)->count, (c)->type, (c)->out, (c)->count, (c)->type,   \
                                (c)->root, (c)->comm __VA_ARGS__));                                \
        break;                                                                                     \
    case GATHERV:                                                                                  \
        OK(form(Gatherv, gatherv)((c)->in, (c)->counts[(c)->rank], (c)->type, (c)->out,            \
                                  (c)->counts, (c)->starts, (c)->type, (c)->root,                  \
                                  (c)->comm __VA_ARGS__));                                         \
        break;                                                                                     \
    case SCATTER:                                                                                  \
        OK(form(Scatter, scatter)((c)->in, (c)->count, (c)->type, (c)->out, (c)->count, (c)->type, \
                                  (c)->root, (c)->comm __VA_ARGS__));                              \
        break;                                                                                     \
    case SCATTERV:                                                                                 \
        OK(form(Scatterv, scatterv)((c)->in, (c)->counts, (c)->starts, (c)->type, (c)->out,        \
                                    (c)->counts[(c)->rank], (c)->type, (c)->root,                  \
                                    (c)->comm __VA_ARGS__));                                       \
        break;                                                                                     \
    case ALLGATHER:                                                                                \
        OK(form(Allgather, allgather)((c)->in, (c)->count, (c)->type, (c)->out, (c)->count,        \
                                      (c)->type, (c)->comm __VA_ARGS__));                          \
        break;                                                                                     \
    case ALLGATHERV:                                                                               \
        OK(form(Allgatherv, allgatherv)((c)->in, (c)->counts[(c)->rank], (c)->type, (c)->out,      \
                                        (c)->counts, (c)->starts, (c)->type,                       \
                                        (c)->comm __VA_ARGS__));                                   \
        break;                                                                                     \
    case ALLTOALL:                                                                                 \
        OK(form(Alltoall, alltoall)((c)->in, (c)->count, (c)->type, (c)->out, (c)->count,          \
                                    (c)->type, (c)->comm __VA_ARGS__));                            \
        break;                                                                                     \
    case ALLTOALLV:                                                                                \
        OK(form(Alltoallv, alltoallv)((c)->in, (c)->send_counts, (c)->send_starts, (c)->type,      \
                                      (c)->out, (c)->counts, (c)->starts, (c)->type,               \
                                      (c)->comm __VA_ARGS__));                                     \
        break;                                                                                     \
    case ALLTOALLW:                                                                                \
        OK(form(Alltoallw, alltoallw)((c)->in, (c)->send_counts, (c)->send_bytes, (c)->types,      \
                                      (c)->out, (c)->counts, (c)->bytes, (c)->types,               \
                                      (c)->comm __VA_ARGS__));                                     \
        break;                                                                                     \
    case REDUCE_SCATTER:                                                                           \
        OK(form(Reduce_scatter, reduce_scatter)((c)->in, (c)->out, (c)->counts, (c)->type,         \
                                                (c)->op, (c)->comm __VA_ARGS__));                  \
        break;                                                                                     \
    case REDUCE_SCATTER_BLOCK:                                                                     \
        OK(form(Reduce_scatter_block, reduce_scatter_block)(                                       \
            (c)->in, (c)->out, (c)->count, (c)->type, (c)->op, (c)->comm __VA_ARGS__));            \
        break;                                                                                     \
    case SCAN:                                                                                     \
        OK(form(Scan, scan)((c)->in, (c)->out, (c)->count, (c)->type, (c)->op,                     \
                            (c)->comm __VA_ARGS__));                                               \
        break;                                                                                     \
    case EXSCAN:                                                                                   \
        OK(form(Exscan, exscan)((c)->in, (c)->out, (c)->count, (c)->type, (c)->op,                 \
                                (c)->comm __VA_ARGS__));                                           \
        break;                                                                                     \
    case COLLECTIVES:                                                                              \
        break;                                                                                     \
    }

/* Makes the arguments: blocks of `count` ints, whose values depend on the salt. */
void call_make(struct call *call, enum collective collective, MPI_Comm comm, int count, int root,
               int salt);
void call_fill(struct call *call, int salt); /* before another start with the same arguments */
void call_block(struct call *call);
void call_start(struct call *call, MPI_Request *request);
/* Makes a persistent request, which is inactive. Returns false, after not_run(), if this MPI has none. */
bool call_init(struct call *call, MPI_Request *request);
void call_check(const struct call *call);
void call_free(struct call *call);

#endif
