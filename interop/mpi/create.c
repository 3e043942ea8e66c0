/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that make and free communicators. All ranks of the new communicator are in the call, which
 * may wait, so its context can be made here. Later only a blocking collective could: a non-blocking
 * one must not wait, and is left to MPI while there is no context. A context takes about a
 * millisecond, so this is done for the first few communicators of a process; programs that make
 * thousands get a context at the first blocking collective.
 */
#include "interop/mpi/dropin.h"

#define EARLY_MOST 64

static int early;

/* The ranks of the communicator may have made different numbers of communicators before. */
static void made(MPI_Comm mpi)
{
    struct comm *c = comm_of(mpi);

    if (c == NULL || c->state != COMM_UNKNOWN || c->size == 1)
        return;
    int able = __atomic_load_n(&early, __ATOMIC_RELAXED) < EARLY_MOST, all = 0;
    if (least_of(mpi, able, &all) == MPI_SUCCESS && all != 0) {
        __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
        comm_join(c, BLOCKING);
    }
}

/* MPI waits here, so that the helper thread may call operations of the program. */
static void inside(int by)
{
    __atomic_fetch_add(&inside_mpi, by, __ATOMIC_RELAXED);
}

#define MAKES(NAME, parameters, arguments)                                                         \
    INTERPOSE(NAME, EXPAND parameters)                                                             \
    {                                                                                              \
        inside(1);                                                                                 \
        int rc = real.NAME arguments;                                                              \
        inside(-1);                                                                                \
        if (rc == MPI_SUCCESS)                                                                     \
            made(*out);                                                                            \
        return rc;                                                                                 \
    }
#define EXPAND(...) __VA_ARGS__

MAKES(Comm_dup, (MPI_Comm comm, MPI_Comm *out), (comm, out))
MAKES(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *out), (comm, info, out))
MAKES(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *out), (comm, group, out))
MAKES(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out),
      (comm, group, tag, out))
MAKES(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out))
MAKES(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out),
      (comm, type, key, info, out))
MAKES(Cart_create,
      (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *out),
      (comm, n, dims, periods, reorder, out))
MAKES(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *out), (comm, remain, out))
MAKES(Graph_create,
      (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *out),
      (comm, n, index, edges, reorder, out))
MAKES(Dist_graph_create,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
       const int weights[], MPI_Info info, int reorder, MPI_Comm *out),
      (comm, n, sources, degrees, destinations, weights, info, reorder, out))
MAKES(Dist_graph_create_adjacent,
      (MPI_Comm comm, int in, const int sources[], const int in_weights[], int n_out,
       const int destinations[], const int out_weights[], MPI_Info info, int reorder,
       MPI_Comm *out),
      (comm, in, sources, in_weights, n_out, destinations, out_weights, info, reorder, out))
MAKES(Intercomm_merge, (MPI_Comm comm, int high, MPI_Comm *out), (comm, high, out))

/* So long all ranks may take to free a communicator, in slices. */
#define QUIET_SLICE_NS 50000
#define QUIET_SLICES   20000 /* a second */

/* Waits until all ranks free the communicator: after that none of them needs another one for what
 * it has called before, so the context can go at once. MPI lets ranks free two communicators in
 * different orders, and does not say that this call waits. So a rank does not wait for ever; then the
 * context stays until MPI_Finalize(). */
static void quiet(MPI_Comm mpi)
{
    struct comm *c = comm_of(mpi);
    int rc = NCOLL_TIMEOUT;

    if (c == NULL || c->state != COMM_ON || c->size == 1)
        return;
    for (unsigned slices = 0; rc == NCOLL_TIMEOUT && slices < QUIET_SLICES; slices++) {
        if (c->guarded)
            pthread_mutex_lock(&c->lock);
        rc = ncoll_barrier(c->group, QUIET_SLICE_NS);
        if (c->guarded)
            pthread_mutex_unlock(&c->lock);
        progress_others();
    }
    c->quiet = rc == NCOLL_OK;
}

INTERPOSE(Comm_free, MPI_Comm *comm)
{
    if (world.on && comm != NULL && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF)
        quiet(*comm);
    return real.Comm_free(comm);
}

INTERPOSE(Comm_disconnect, MPI_Comm *comm)
{
    if (world.on && comm != NULL && *comm != MPI_COMM_WORLD && *comm != MPI_COMM_SELF)
        quiet(*comm);
    return real.Comm_disconnect(comm);
}
