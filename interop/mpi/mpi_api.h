/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi.h, and the functions of the MPI that the program runs on.
 *
 * The library defines both MPI_X and PMPI_X for each function X that it interposes, since the
 * Fortran interface of Open MPI calls PMPI_X, and so do tools that wrap MPI_X. So inside this
 * library PMPI_X of such a function is the library's own, and MPI's function is real.X. Functions
 * that are not on the lists below are called by their names PMPI_X.
 */
#ifndef NCOLL_INTEROP_MPI_API_H
#define NCOLL_INTEROP_MPI_API_H

#pragma GCC visibility push(default)
#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#pragma GCC visibility pop

/* Persistent collectives: MPI 4 has them; Open MPI 4 has them as an extension, by other names. */
#if MPI_VERSION >= 4
#define HAVE_PERSISTENT     1
#define PERSISTENT(P, name) P##MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define HAVE_PERSISTENT     1
#define PERSISTENT(P, name) P##MPIX_##name##_init
#endif
/* MPI has functions with counts of type MPI_Count, MPI_X_c(). */
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
#define HAVE_LARGE 1
#endif

/* The collectives that are served. */
#define COLLECTIVES(X)                                                                             \
    X(Barrier, barrier)                                                                            \
    MOVES_AND_REDUCTIONS(X)
#define MOVES_AND_REDUCTIONS(X)                                                                    \
    X(Bcast, bcast)                                                                                \
    X(Reduce, reduce)                                                                              \
    X(Allreduce, allreduce)                                                                        \
    X(Gather, gather)                                                                              \
    X(Gatherv, gatherv)                                                                            \
    X(Scatter, scatter)                                                                            \
    X(Scatterv, scatterv)                                                                          \
    X(Allgather, allgather)                                                                        \
    X(Allgatherv, allgatherv)                                                                      \
    X(Alltoall, alltoall)                                                                          \
    X(Alltoallv, alltoallv)                                                                        \
    X(Alltoallw, alltoallw)                                                                        \
    X(Reduce_scatter, reduce_scatter)                                                              \
    X(Reduce_scatter_block, reduce_scatter_block)                                                  \
    X(Scan, scan)                                                                                  \
    X(Exscan, exscan)

/* All other functions that are interposed. */
#define OTHERS(X)                                                                                  \
    X(Init)                                                                                        \
    X(Init_thread)                                                                                 \
    X(Finalize)                                                                                    \
    X(Comm_free)                                                                                   \
    X(Comm_disconnect)                                                                             \
    X(Comm_dup)                                                                                    \
    X(Comm_dup_with_info)                                                                          \
    X(Comm_create)                                                                                 \
    X(Comm_create_group)                                                                           \
    X(Comm_split)                                                                                  \
    X(Comm_split_type)                                                                             \
    X(Cart_create)                                                                                 \
    X(Cart_sub)                                                                                    \
    X(Graph_create)                                                                                \
    X(Dist_graph_create)                                                                           \
    X(Dist_graph_create_adjacent)                                                                  \
    X(Intercomm_merge)                                                                             \
    X(Type_free)                                                                                   \
    X(Op_free)                                                                                     \
    X(Wait)                                                                                        \
    X(Waitall)                                                                                     \
    X(Waitany)                                                                                     \
    X(Waitsome)                                                                                    \
    X(Test)                                                                                        \
    X(Testall)                                                                                     \
    X(Testany)                                                                                     \
    X(Testsome)                                                                                    \
    X(Request_free)                                                                                \
    X(Request_get_status)                                                                          \
    X(Start)                                                                                       \
    X(Startall)                                                                                    \
    X(Send)                                                                                        \
    X(Ssend)                                                                                       \
    X(Recv)                                                                                        \
    X(Sendrecv)                                                                                    \
    X(Probe)                                                                                       \
    X(Iprobe)                                                                                      \
    X(Mprobe)                                                                                      \
    X(Improbe)                                                                                     \
    X(Bsend)                                                                                       \
    X(Rsend)                                                                                       \
    X(Mrecv)                                                                                       \
    X(Sendrecv_replace)                                                                            \
    X(Buffer_detach)                                                                               \
    X(Comm_accept)                                                                                 \
    X(Comm_connect)                                                                                \
    X(Comm_spawn)                                                                                  \
    X(Intercomm_create)                                                                            \
    X(Neighbor_allgather)                                                                          \
    X(Neighbor_allgatherv)                                                                         \
    X(Neighbor_alltoall)                                                                           \
    X(Neighbor_alltoallv)                                                                          \
    X(Neighbor_alltoallw)                                                                          \
    X(Win_create)                                                                                  \
    X(Win_create_dynamic)                                                                          \
    X(Win_allocate)                                                                                \
    X(Win_allocate_shared)                                                                         \
    X(Win_free)                                                                                    \
    X(Win_fence)                                                                                   \
    X(Win_start)                                                                                   \
    X(Win_complete)                                                                                \
    X(Win_wait)                                                                                    \
    X(Win_lock)                                                                                    \
    X(Win_lock_all)                                                                                \
    X(Win_unlock)                                                                                  \
    X(Win_unlock_all)                                                                              \
    X(Win_flush)                                                                                   \
    X(Win_flush_all)                                                                               \
    X(File_open)                                                                                   \
    X(File_close)                                                                                  \
    X(File_set_size)                                                                               \
    X(File_set_view)                                                                               \
    X(File_sync)                                                                                   \
    X(File_read_all)                                                                               \
    X(File_write_all)                                                                              \
    X(File_read_at_all)                                                                            \
    X(File_write_at_all)

/* MPI's own functions. The pointers are set when the library is loaded, before any of its functions
 * can be called. */
struct real {
#define REAL(Name, name)                                                                           \
    __typeof__(MPI_##Name) *Name;                                                                  \
    __typeof__(MPI_I##name) *I##name;
    COLLECTIVES(REAL)
#undef REAL
#ifdef HAVE_PERSISTENT
#define REAL(Name, name) __typeof__(PERSISTENT(, Name)) *Name##_init;
    COLLECTIVES(REAL)
#undef REAL
#endif
#ifdef HAVE_LARGE
#define REAL(Name, name)                                                                           \
    __typeof__(MPI_##Name##_c) *Name##_c;                                                          \
    __typeof__(MPI_I##name##_c) *I##name##_c;                                                      \
    __typeof__(MPI_##Name##_init_c) *Name##_init_c;
    MOVES_AND_REDUCTIONS(REAL)
#undef REAL
#endif
#define REAL(Name) __typeof__(MPI_##Name) *Name;
    OTHERS(REAL)
#undef REAL
};
extern struct real real;

/* Begins the definition of the function MPI_NAME(), with PMPI_NAME() as another name for it. */
#define INTERPOSE(NAME, ...)           INTERPOSE_BOTH(MPI_##NAME, PMPI_##NAME, __VA_ARGS__)
#define INTERPOSE_BOTH(MPI, PMPI, ...) INTERPOSE_AS(MPI, PMPI, __VA_ARGS__)
#define INTERPOSE_AS(MPI, PMPI, ...)                                                               \
    __attribute__((visibility("default"), alias(#MPI))) int PMPI(__VA_ARGS__);                     \
    __attribute__((visibility("default"))) int MPI(__VA_ARGS__)

#endif
