/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other functions of MPI in which the program's thread may wait for other ranks. MPI's own
 * functions do the work. While a thread is in one, and requests are unfinished, the helper thread
 * may call operations by MPI_Reduce_local() (progress.c).
 */
#include "interop/mpi/dropin.h"

#define WAITS(NAME, parameters, arguments)                                                         \
    INTERPOSE(NAME, EXPAND parameters)                                                             \
    {                                                                                              \
        if (LIKELY(!is_pending()))                                                                 \
            return real.NAME arguments;                                                            \
        inside_begins();                                                                           \
        int rc = real.NAME arguments;                                                              \
        inside_ends();                                                                             \
        return rc;                                                                                 \
    }
#define EXPAND(...) __VA_ARGS__

WAITS(Bsend, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
      (buffer, count, type, to, tag, comm))
WAITS(Rsend, (const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm),
      (buffer, count, type, to, tag, comm))
WAITS(Mrecv, (void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
      (buffer, count, type, message, status))
WAITS(Sendrecv_replace,
      (void *buffer, int count, MPI_Datatype type, int to, int out_tag, int from, int in_tag,
       MPI_Comm comm, MPI_Status *status),
      (buffer, count, type, to, out_tag, from, in_tag, comm, status))
WAITS(Buffer_detach, (void *buffer, int *size), (buffer, size))

WAITS(Comm_accept, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *out),
      (port, info, root, comm, out))
WAITS(Comm_connect, (const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *out),
      (port, info, root, comm, out))
WAITS(Comm_spawn,
      (const char *command, char *argv[], int most, MPI_Info info, int root, MPI_Comm comm,
       MPI_Comm *out, int codes[]),
      (command, argv, most, info, root, comm, out, codes))
WAITS(Intercomm_create,
      (MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag, MPI_Comm *out),
      (local, leader, peer, remote, tag, out))

WAITS(Neighbor_allgather,
      (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
       MPI_Datatype out_type, MPI_Comm comm),
      (in, in_count, in_type, out, out_count, out_type, comm))
WAITS(Neighbor_allgatherv,
      (const void *in, int in_count, MPI_Datatype in_type, void *out, const int counts[],
       const int displs[], MPI_Datatype out_type, MPI_Comm comm),
      (in, in_count, in_type, out, counts, displs, out_type, comm))
WAITS(Neighbor_alltoall,
      (const void *in, int in_count, MPI_Datatype in_type, void *out, int out_count,
       MPI_Datatype out_type, MPI_Comm comm),
      (in, in_count, in_type, out, out_count, out_type, comm))
WAITS(Neighbor_alltoallv,
      (const void *in, const int in_counts[], const int in_displs[], MPI_Datatype in_type,
       void *out, const int out_counts[], const int out_displs[], MPI_Datatype out_type,
       MPI_Comm comm),
      (in, in_counts, in_displs, in_type, out, out_counts, out_displs, out_type, comm))
WAITS(Neighbor_alltoallw,
      (const void *in, const int in_counts[], const MPI_Aint in_displs[],
       const MPI_Datatype in_types[], void *out, const int out_counts[],
       const MPI_Aint out_displs[], const MPI_Datatype out_types[], MPI_Comm comm),
      (in, in_counts, in_displs, in_types, out, out_counts, out_displs, out_types, comm))

WAITS(Win_create, (void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win),
      (base, size, unit, info, comm, win))
WAITS(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *win), (info, comm, win))
WAITS(Win_allocate,
      (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
      (size, unit, info, comm, base, win))
WAITS(Win_allocate_shared,
      (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win),
      (size, unit, info, comm, base, win))
WAITS(Win_free, (MPI_Win * win), (win))
WAITS(Win_fence, (int assert, MPI_Win win), (assert, win))
WAITS(Win_start, (MPI_Group group, int assert, MPI_Win win), (group, assert, win))
WAITS(Win_complete, (MPI_Win win), (win))
WAITS(Win_wait, (MPI_Win win), (win))
WAITS(Win_lock, (int type, int rank, int assert, MPI_Win win), (type, rank, assert, win))
WAITS(Win_lock_all, (int assert, MPI_Win win), (assert, win))
WAITS(Win_unlock, (int rank, MPI_Win win), (rank, win))
WAITS(Win_unlock_all, (MPI_Win win), (win))
WAITS(Win_flush, (int rank, MPI_Win win), (rank, win))
WAITS(Win_flush_all, (MPI_Win win), (win))

WAITS(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
      (comm, name, mode, info, file))
WAITS(File_close, (MPI_File * file), (file))
WAITS(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
WAITS(File_set_view,
      (MPI_File file, MPI_Offset at, MPI_Datatype etype, MPI_Datatype filetype, const char *format,
       MPI_Info info),
      (file, at, etype, filetype, format, info))
WAITS(File_sync, (MPI_File file), (file))
WAITS(File_read_all,
      (MPI_File file, void *buffer, int count, MPI_Datatype type, MPI_Status *status),
      (file, buffer, count, type, status))
WAITS(File_write_all,
      (MPI_File file, const void *buffer, int count, MPI_Datatype type, MPI_Status *status),
      (file, buffer, count, type, status))
WAITS(File_read_at_all,
      (MPI_File file, MPI_Offset at, void *buffer, int count, MPI_Datatype type,
       MPI_Status *status),
      (file, at, buffer, count, type, status))
WAITS(File_write_at_all,
      (MPI_File file, MPI_Offset at, const void *buffer, int count, MPI_Datatype type,
       MPI_Status *status),
      (file, at, buffer, count, type, status))
