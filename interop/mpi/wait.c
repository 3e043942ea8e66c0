/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for requests, and tests them, of MPI and of ncoll together. While no request of ncoll is
 * unfinished, MPI's own functions do that. Otherwise these functions advance ncoll, and end in MPI
 * those of its requests that are done; MPI then says whether the call is done. If a collective has
 * failed, MPI says only that its request has ended, and the error is added here. It is looked for
 * after the end of the request, since another thread may end it at any time before.
 */
#include <stdlib.h>

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

/* Returns true if no request of ncoll is unfinished, and none has failed without the program being
 * told. Then MPI's own functions are enough. */
static bool is_quiet(void)
{
    return LIKELY(__atomic_load_n(&pending_total, __ATOMIC_ACQUIRE) == 0 &&
                  __atomic_load_n(&failed_total, __ATOMIC_ACQUIRE) == 0);
}

/* Removes the error of a request that has failed from its status. Returns the class of the error;
 * MPI_SUCCESS: there is none. */
static int take_error(MPI_Status *status)
{
    int class = status->MPI_TAG;

    if (LIKELY(status->MPI_SOURCE != SOURCE_FAILED))
        return MPI_SUCCESS;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    return class;
}

/* Returns the error of a collective whose request MPI has just ended. For a non-blocking one it is
 * in the status. left: what MPI has left of the handle; a persistent request is found by it. */
static int error_of(MPI_Request left, MPI_Status *status)
{
    int class = take_error(status);

    if (UNLIKELY(class != MPI_SUCCESS))
        return class;
    struct request *r = request_of(left);
    return r != NULL && request_reported(r) ? error_class(r->status) : MPI_SUCCESS;
}

/* Tests one request by MPI, and adds the error of its collective. */
static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    MPI_Status own;

    if (is_quiet())
        return real.Test(request, flag, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    int rc = real.Test(request, flag, status);
    return rc == MPI_SUCCESS && *flag ? error_of(*request, status) : rc;
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
    int rc = real.Request_get_status(request, flag, status);
    if (rc == MPI_SUCCESS && *flag && status != MPI_STATUS_IGNORE)
        take_error(status);
    return rc;
}

/* ---------------------------------------------------------------- all ------------------------- */

/* Returns the program's statuses or, if it ignores them, others in their place, for error_of();
 * NULL: there is no memory, and errors are not told. */
static MPI_Status *own_statuses(int count, MPI_Status statuses[])
{
    if (statuses == MPI_STATUSES_IGNORE && count > 0)
        statuses = malloc((size_t)count * sizeof *statuses);
    for (int i = 0; i < count && statuses != NULL; i++)
        statuses[i].MPI_SOURCE = MPI_ANY_SOURCE;
    return statuses;
}

/* Looks for the errors of n requests that have ended. indices: their indices in requests; NULL:
 * they are the first n. As in MPI, the statuses get errors only if there is one. */
static int report_errors(int n, const MPI_Request requests[], const int indices[],
                         MPI_Status statuses[])
{
    bool wrong = false;

    for (int i = 0; i < n; i++) {
        int error = error_of(requests[indices != NULL ? indices[i] : i], &statuses[i]);
        for (int j = 0; j < i && error != MPI_SUCCESS && !wrong; j++)
            statuses[j].MPI_ERROR = MPI_SUCCESS;
        wrong |= error != MPI_SUCCESS;
        if (wrong)
            statuses[i].MPI_ERROR = error;
    }
    return wrong ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
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
    MPI_Status *own = is_quiet() ? NULL : own_statuses(count, statuses);
    if (LIKELY(own == NULL))
        return real.Testall(count, requests, flag, statuses);
    int rc = real.Testall(count, requests, flag, own);
    if (rc == MPI_SUCCESS && *flag)
        rc = report_errors(count, requests, NULL, own);
    if (own != statuses)
        free(own);
    return rc;
}

/* ---------------------------------------------------------------- any, some ------------------- */

static int test_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    MPI_Status own;

    if (is_quiet())
        return real.Testany(count, requests, index, flag, status);
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    int rc = real.Testany(count, requests, index, flag, status);
    return rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED
               ? error_of(requests[*index], status)
               : rc;
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

static int test_some(int count, MPI_Request requests[], int *n, int indices[],
                     MPI_Status statuses[])
{
    MPI_Status *own = is_quiet() ? NULL : own_statuses(count, statuses);

    if (LIKELY(own == NULL))
        return real.Testsome(count, requests, n, indices, statuses);
    int rc = real.Testsome(count, requests, n, indices, own);
    if (rc == MPI_SUCCESS && *n != MPI_UNDEFINED)
        rc = report_errors(*n, requests, indices, own);
    if (own != statuses)
        free(own);
    return rc;
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
