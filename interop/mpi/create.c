/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Functions that make and free communicators. All ranks of a new communicator take part in the
 * call, which may wait, so the context can be made here. Later only a blocking collective can make
 * it: a non-blocking one must not wait, and is left to MPI while there is no context. A context
 * takes about a millisecond, so it is made here only for the first few communicators that are made
 * from another one. In programs that make thousands, the others get a context at their first
 * blocking collective.
 */
#include "interop/mpi/dropin.h"

#define EARLY_BY_SOME 64

/* Makes the context of a communicator after a call in which all ranks of `from` take part, so that
 * all of them count these communicators alike. One that takes over a context is not counted if all
 * ranks of `from` are in it, so that all know this. */
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

/* Makes the context of a communicator after a call in which only its own ranks take part. These may
 * have made different numbers of communicators before, so they have to agree. */
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
MAKES(Dist_graph_create_adjacent, made_by_all,
      (MPI_Comm comm, int in, const int sources[], const int in_weights[], int n_out,
       const int destinations[], const int out_weights[], MPI_Info info, int reorder,
       MPI_Comm *out),
      (comm, in, sources, in_weights, n_out, destinations, out_weights, info, reorder, out))
MAKES(Intercomm_merge, made_by_some, (MPI_Comm comm, int high, MPI_Comm *out), (comm, high, out))

/*
 * MPI_Dist_graph_create() of Open MPI 4.1 hangs if the communicator has had 23 non-blocking
 * collectives: the next one, which it makes itself, has the same tag as the messages with the edges.
 * ncoll makes non-blocking collectives, too, so programs would hang that do not without it. A new
 * communicator with the same ranks has had none.
 */
#if defined(OPEN_MPI)
#define NEEDS_NEW_COMM true
#else
#define NEEDS_NEW_COMM false
#endif

static int dist_graph_create(MPI_Comm comm, int n, const int sources[], const int degrees[],
                             const int destinations[], const int weights[], MPI_Info info,
                             int reorder, MPI_Comm *out)
{
    MPI_Group group;
    MPI_Comm new_comm;

    if (!NEEDS_NEW_COMM)
        return real.Dist_graph_create(comm, n, sources, degrees, destinations, weights, info,
                                      reorder, out);
    int rc = PMPI_Comm_group(comm, &group);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = real.Comm_create(comm, group, &new_comm);
    PMPI_Group_free(&group);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = real.Dist_graph_create(new_comm, n, sources, degrees, destinations, weights, info, reorder,
                                out);
    real.Comm_free(&new_comm);
    return rc;
}

INTERPOSE(Dist_graph_create, MPI_Comm comm, int n, const int sources[], const int degrees[],
          const int destinations[], const int weights[], MPI_Info info, int reorder, MPI_Comm *out)
{
    inside_begins();
    int rc =
        dist_graph_create(comm, n, sources, degrees, destinations, weights, info, reorder, out);
    inside_ends();
    if (rc == MPI_SUCCESS)
        made_by_all(comm, *out);
    return rc;
}

/* Frees a communicator by `function`. MPI then deletes attributes, and the functions that do so may
 * free other communicators; so comm_being_freed is restored. */
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
