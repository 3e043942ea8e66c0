/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking messages. While requests of ncoll are unfinished, such a call is made as a non-blocking
 * one of MPI, so that MPI and ncoll are both driven while it waits. */
#include "interop/mpi/dropin.h"

INTERPOSE(Send, const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;

    if (LIKELY(!is_pending()))
        return real.Send(buffer, count, type, to, tag, comm);
    int rc = PMPI_Isend(buffer, count, type, to, tag, comm, &request);
    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

INTERPOSE(Ssend, const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    MPI_Request request;

    if (LIKELY(!is_pending()))
        return real.Ssend(buffer, count, type, to, tag, comm);
    int rc = PMPI_Issend(buffer, count, type, to, tag, comm, &request);
    return rc == MPI_SUCCESS ? wait_driving(&request, MPI_STATUS_IGNORE) : rc;
}

INTERPOSE(Recv, void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
          MPI_Status *status)
{
    MPI_Request request;

    if (LIKELY(!is_pending()))
        return real.Recv(buffer, count, type, from, tag, comm, status);
    int rc = PMPI_Irecv(buffer, count, type, from, tag, comm, &request);
    return rc == MPI_SUCCESS ? wait_driving(&request, status) : rc;
}

INTERPOSE(Sendrecv, const void *out, int out_count, MPI_Datatype out_type, int to, int out_tag,
          void *in, int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
          MPI_Status *status)
{
    MPI_Request receive, send;

    if (LIKELY(!is_pending()))
        return real.Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from,
                             in_tag, comm, status);
    int rc = PMPI_Irecv(in, in_count, in_type, from, in_tag, comm, &receive);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Isend(out, out_count, out_type, to, out_tag, comm, &send);
    int sent = rc == MPI_SUCCESS ? wait_driving(&send, MPI_STATUS_IGNORE) : rc;
    rc = wait_driving(&receive, status);
    return sent == MPI_SUCCESS ? rc : sent;
}

INTERPOSE(Probe, int from, int tag, MPI_Comm comm, MPI_Status *status)
{
    int flag = 0;

    if (LIKELY(!is_pending()))
        return real.Probe(from, tag, comm, status);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = real.Iprobe(from, tag, comm, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Mprobe, int from, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int flag = 0;

    if (LIKELY(!is_pending()))
        return real.Mprobe(from, tag, comm, message, status);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = real.Improbe(from, tag, comm, &flag, message, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Iprobe, int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    if (UNLIKELY(is_pending()))
        progress_all();
    return real.Iprobe(from, tag, comm, flag, status);
}

INTERPOSE(Improbe, int from, int tag, MPI_Comm comm, int *flag, MPI_Message *message,
          MPI_Status *status)
{
    if (UNLIKELY(is_pending()))
        progress_all();
    return real.Improbe(from, tag, comm, flag, message, status);
}
