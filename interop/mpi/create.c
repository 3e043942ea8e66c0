/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that make and free communicators. All ranks of the new communicator are in the call, which
 * may wait, so its context can be made here. Later only a blocking collective could: a non-blocking
 * one must not wait, and is left to MPI while there is no context. A context takes about a
 * millisecond, so this is done for the first few communicators that are made from another one;
 * programs that make thousands get a context at the first blocking collective.
 */
#include "interop/mpi/dropin.h"

#define EARLY_BY_SOME 64

/* All ranks of `from` make all communicators of it, so they count them alike: but for those that take
 * over a context, which they all know if all are in it. */
static void made_by_all(MPI_Comm from, MPI_Comm mpi)
{
    struct comm *parent = comm_of(from), *c;

    if (parent == NULL || parent->early == 0)
        return;
    c = mpi == MPI_COMM_NULL ? NULL : comm_of(mpi);
    if (c != NULL && c->state == COMM_UNKNOWN && c->size > 1)
        comm_join(c, BLOCKING);
    if (c == NULL || c->size < parent->size || !c->taken_over)
        parent->early--;
}

/* Only the ranks of the new communicator are in the call. They may have made different numbers of
 * communicators before. */
static void made_by_some(MPI_Comm from, MPI_Comm mpi)
{
    static int made;
    struct comm *c = comm_of(mpi);

    (void)from;
    if (c == NULL || c->state != COMM_UNKNOWN || c->size == 1)
        return;
    int few = __atomic_load_n(&made, __ATOMIC_RELAXED) < EARLY_BY_SOME, all = 0;
    if (least_of(mpi, few, &all) != MPI_SUCCESS || all == 0)
        return;
    __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    comm_join(c, BLOCKING);
}

#define MAKES(NAME, made, parameters, arguments)                                                   \
    INTERPOSE(NAME, EXPAND parameters)                                                             \
    {                                                                                              \
        inside_begins();                                                                           \
        int rc = real.NAME arguments;                                                              \
        inside_ends();                                                                             \
        if (rc == MPI_SUCCESS)                                                                     \
            made(comm, *out);                                                                      \
        return rc;                                                                                 \
    }
#define EXPAND(...) __VA_ARGS__

MAKES(Comm_dup, made_by_all, (MPI_Comm comm, MPI_Comm *out), (comm, out))
MAKES(Comm_dup_with_info, made_by_all, (MPI_Comm comm, MPI_Info info, MPI_Comm *out),
      (comm, info, out))
MAKES(Comm_create, made_by_all, (MPI_Comm comm, MPI_Group group, MPI_Comm *out), (comm, group, out))
MAKES(Comm_create_group, made_by_some, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out),
      (comm, group, tag, out))
MAKES(Comm_split, made_by_all, (MPI_Comm comm, int color, int key, MPI_Comm *out),
      (comm, color, key, out))
MAKES(Comm_split_type, made_by_all,
      (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out),
      (comm, type, key, info, out))
MAKES(Cart_create, made_by_all,
      (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *out),
      (comm, n, dims, periods, reorder, out))
MAKES(Cart_sub, made_by_all, (MPI_Comm comm, const int remain[], MPI_Comm *out),
      (comm, remain, out))
MAKES(Graph_create, made_by_all,
      (MPI_Comm comm, int n, const int index[], const int edges[], int reorder, MPI_Comm *out),
      (comm, n, index, edges, reorder, out))
MAKES(Dist_graph_create, made_by_all,
      (MPI_Comm comm, int n, const int sources[], const int degrees[], const int destinations[],
       const int weights[], MPI_Info info, int reorder, MPI_Comm *out),
      (comm, n, sources, degrees, destinations, weights, info, reorder, out))
MAKES(Dist_graph_create_adjacent, made_by_all,
      (MPI_Comm comm, int in, const int sources[], const int in_weights[], int n_out,
       const int destinations[], const int out_weights[], MPI_Info info, int reorder,
       MPI_Comm *out),
      (comm, in, sources, in_weights, n_out, destinations, out_weights, info, reorder, out))
MAKES(Intercomm_merge, made_by_some, (MPI_Comm comm, int high, MPI_Comm *out), (comm, high, out))

/* A function that deletes an attribute may free other communicators. */
static int free_by(int (*function)(MPI_Comm *comm), MPI_Comm *comm)
{
    MPI_Comm outer = comm_being_freed;

    comm_being_freed = comm == NULL ? MPI_COMM_NULL : *comm;
    int rc = function(comm);
    comm_being_freed = outer;
    farewell_poll(false);
    return rc;
}

INTERPOSE(Comm_free, MPI_Comm *comm)
{
    return free_by(real.Comm_free, comm);
}

INTERPOSE(Comm_disconnect, MPI_Comm *comm)
{
    return free_by(real.Comm_disconnect, comm);
}
