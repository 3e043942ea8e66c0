/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for requests, of MPI or of ncoll, one kind beside the other. While no request of ncoll is
 * unfinished this is MPI's own. Otherwise ncoll advances, and ends those of its requests that are
 * done; whether the call is done then MPI says.
 */
#include "interop/mpi/dropin.h"

int wait_driving(MPI_Request *request, MPI_Status *status)
{
    for (unsigned tries = 0;; tries++) {
        int flag = 0;
        progress_all();
        int rc = real.Test(request, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Wait, MPI_Request *request, MPI_Status *status)
{
    return LIKELY(!is_pending()) ? real.Wait(request, status) : wait_driving(request, status);
}

INTERPOSE(Waitall, int count, MPI_Request requests[], MPI_Status statuses[])
{
    int flag = 0;

    if (LIKELY(!is_pending()))
        return real.Waitall(count, requests, statuses);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = real.Testall(count, requests, &flag, statuses);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag = 0;

    if (LIKELY(!is_pending()))
        return real.Waitany(count, requests, index, status);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = real.Testany(count, requests, index, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Waitsome, int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    if (LIKELY(!is_pending()))
        return real.Waitsome(count, requests, n, indices, statuses);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = real.Testsome(count, requests, n, indices, statuses);
        if (rc != MPI_SUCCESS || *n != 0)
            return rc;
        progress_idle(tries);
    }
}

static inline void drive(void)
{
    if (UNLIKELY(is_pending()))
        progress_all();
}

INTERPOSE(Test, MPI_Request *request, int *flag, MPI_Status *status)
{
    drive();
    return real.Test(request, flag, status);
}

INTERPOSE(Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    drive();
    return real.Testall(count, requests, flag, statuses);
}

INTERPOSE(Testany, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    drive();
    return real.Testany(count, requests, index, flag, status);
}

INTERPOSE(Testsome, int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    drive();
    return real.Testsome(count, requests, n, indices, statuses);
}

INTERPOSE(Request_get_status, MPI_Request request, int *flag, MPI_Status *status)
{
    drive();
    return real.Request_get_status(request, flag, status);
}
