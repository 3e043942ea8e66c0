/* SPDX-License-Identifier: BSD-3-Clause */
/* Hands a prepared call to ncoll: as a blocking call, as a request, or as a persistent request. */
#include "interop/mpi/dropin.h"

/* The arguments of each ncoll function between the group and the last one, which is the time-out or
 * the request. */
#define REDUCTION c->in, c->out, c->count, c->type, c->op
#define MOVE      c->in, c->out, c->count, c->type
#define ALLTOALLV c->in, c->in_counts, c->in_displs, c->out, c->out_counts, c->out_displs, c->type

#define EACH(CASE)                                                                                 \
    CASE(Bcast, bcast, c->out, c->count, c->type, c->root)                                         \
    CASE(Reduce, reduce, REDUCTION, c->root)                                                       \
    CASE(Allreduce, allreduce, REDUCTION)                                                          \
    CASE(Gather, gather, MOVE, c->root)                                                            \
    CASE(Gatherv, alltoallv, ALLTOALLV)                                                            \
    CASE(Scatter, scatter, MOVE, c->root)                                                          \
    CASE(Scatterv, alltoallv, ALLTOALLV)                                                           \
    CASE(Allgather, allgather, MOVE)                                                               \
    CASE(Allgatherv, allgatherv, c->in, c->out, c->out_counts, c->out_displs, c->type)             \
    CASE(Alltoall, alltoall, MOVE)                                                                 \
    CASE(Alltoallv, alltoallv, ALLTOALLV)                                                          \
    CASE(Alltoallw, alltoallv, ALLTOALLV)                                                          \
    CASE(Reduce_scatter, reduce_scatter, c->in, c->out, c->out_counts, c->type, c->op)             \
    CASE(Reduce_scatter_block, reduce_scatter_block, REDUCTION)                                    \
    CASE(Scan, scan, REDUCTION)                                                                    \
    CASE(Exscan, exscan, REDUCTION)

int issue(const struct call *c, int64_t timeout_ns)
{
    switch (c->collective) {
    case CALL_Barrier:
        return ncoll_barrier(c->group, timeout_ns);
#define CASE(Name, name, ...)                                                                      \
    case CALL_##Name:                                                                              \
        return ncoll_##name(c->group, __VA_ARGS__, timeout_ns);
        EACH(CASE)
#undef CASE
    default:
        return NCOLL_ERR_INTERNAL;
    }
}

int issue_start(const struct call *c, ncoll_request **request)
{
    switch (c->collective) {
    case CALL_Barrier:
        return ncoll_barrier_start(c->group, request);
#define CASE(Name, name, ...)                                                                      \
    case CALL_##Name:                                                                              \
        return ncoll_##name##_start(c->group, __VA_ARGS__, request);
        EACH(CASE)
#undef CASE
    default:
        return NCOLL_ERR_INTERNAL;
    }
}

int issue_init(const struct call *c, ncoll_group *group, ncoll_request **request)
{
    switch (c->collective) {
    case CALL_Barrier:
        return ncoll_barrier_init(group, request);
#define CASE(Name, name, ...)                                                                      \
    case CALL_##Name:                                                                              \
        return ncoll_##name##_init(group, __VA_ARGS__, request);
        EACH(CASE)
#undef CASE
    default:
        return NCOLL_ERR_INTERNAL;
    }
}
