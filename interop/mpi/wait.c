/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for requests, of MPI or of ncoll, one kind beside the other. While no request of ncoll is
 * unfinished this is MPI's own. Otherwise ncoll advances, and ends those of its requests that are
 * done; whether the call is done then MPI says. If a collective has failed, it says that the request
 * has ended, and the error is told here.
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

/* MPI's test of one request, and the error of its collective. */
static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct request *failed = request == NULL ? NULL : failed_request(*request);

    if (LIKELY(failed == NULL))
        return real.Test(request, flag, status);
    int class = error_class(failed->status), rc = real.Test(request, flag, status);
    if (rc != MPI_SUCCESS || !*flag)
        return rc;
    request_reported(failed);
    return class;
}

static int wait(MPI_Request *request, MPI_Status *status)
{
    for (unsigned tries = 0;; tries++) {
        int flag = 0;
        progress_all();
        int rc = test(request, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

static bool is_quiet(void)
{
    return LIKELY(!is_pending() && __atomic_load_n(&failed_total, __ATOMIC_ACQUIRE) == 0);
}

INTERPOSE(Wait, MPI_Request *request, MPI_Status *status)
{
    return is_quiet() ? real.Wait(request, status) : wait(request, status);
}

static inline void drive(void)
{
    if (UNLIKELY(is_pending()))
        progress_all();
}

INTERPOSE(Test, MPI_Request *request, int *flag, MPI_Status *status)
{
    drive();
    return test(request, flag, status);
}

INTERPOSE(Request_get_status, MPI_Request request, int *flag, MPI_Status *status)
{
    drive();
    return real.Request_get_status(request, flag, status);
}

/* ---------------------------------------------------------------- all ------------------------- */

/* Returns the first request whose collective has failed; count: none has. */
static int first_failed(int count, const MPI_Request requests[])
{
    int i = 0;

    if (LIKELY(__atomic_load_n(&failed_total, __ATOMIC_ACQUIRE) == 0))
        return count;
    while (i < count && failed_request(requests[i]) == NULL)
        i++;
    return i;
}

/* All have ended, some with errors. */
static int report_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int flag, rc = test(&requests[i], &flag, status);
        if (status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
    }
    return MPI_ERR_IN_STATUS;
}

/* Waits for one request after the other: MPI_Testall() of MPICH fails if there are persistent
 * collectives. As in MPI, statuses have errors only if there is one. */
INTERPOSE(Waitall, int count, MPI_Request requests[], MPI_Status statuses[])
{
    bool wrong = false;

    if (is_quiet() || requests == NULL)
        return real.Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
        int rc = wait(&requests[i], status);
        for (int j = 0; j < i && rc != MPI_SUCCESS && !wrong && status != MPI_STATUS_IGNORE; j++)
            statuses[j].MPI_ERROR = MPI_SUCCESS;
        wrong |= rc != MPI_SUCCESS;
        if (wrong && status != MPI_STATUS_IGNORE)
            status->MPI_ERROR = rc;
    }
    return wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

INTERPOSE(Testall, int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    drive();
    if (LIKELY(first_failed(count, requests) >= count))
        return real.Testall(count, requests, flag, statuses);
    *flag = 1;
    for (int i = 0; i < count && *flag; i++)
        if (real.Request_get_status(requests[i], flag, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return real.Testall(count, requests, flag, statuses);
    return *flag ? report_all(count, requests, statuses) : MPI_SUCCESS;
}

/* ---------------------------------------------------------------- any, some ------------------- */

static int test_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    int i = first_failed(count, requests);

    if (LIKELY(i >= count))
        return real.Testany(count, requests, index, flag, status);
    int rc = test(&requests[i], flag, status);
    *index = rc == MPI_SUCCESS && !*flag ? MPI_UNDEFINED : i;
    return rc;
}

INTERPOSE(Waitany, int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag = 0;

    if (is_quiet())
        return real.Waitany(count, requests, index, status);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = test_any(count, requests, index, &flag, status);
        if (rc != MPI_SUCCESS || flag)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Testany, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    drive();
    return test_any(count, requests, index, flag, status);
}

/* One that has failed is the only one of those that are told at once. */
static int test_some(int count, MPI_Request requests[], int *n, int indices[],
                     MPI_Status statuses[])
{
    int i = first_failed(count, requests), flag = 0;

    if (LIKELY(i >= count))
        return real.Testsome(count, requests, n, indices, statuses);
    MPI_Status *status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses;
    int rc = test(&requests[i], &flag, status);
    *n = flag || rc != MPI_SUCCESS;
    indices[0] = i;
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = rc;
    return rc == MPI_SUCCESS ? rc : MPI_ERR_IN_STATUS;
}

INTERPOSE(Waitsome, int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    if (is_quiet())
        return real.Waitsome(count, requests, n, indices, statuses);
    for (unsigned tries = 0;; tries++) {
        progress_all();
        int rc = test_some(count, requests, n, indices, statuses);
        if (rc != MPI_SUCCESS || *n != 0)
            return rc;
        progress_idle(tries);
    }
}

INTERPOSE(Testsome, int count, MPI_Request requests[], int *n, int indices[], MPI_Status statuses[])
{
    drive();
    return test_some(count, requests, n, indices, statuses);
}
