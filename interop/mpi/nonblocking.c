/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-blocking collectives. The program gets a generalised request of MPI, which MPI's own calls
 * can wait for and test beside others. progress.c ends it when ncoll's request has ended.
 */
#include "interop/mpi/dropin.h"
#include "interop/mpi/parameters.h"

/* Fills in the status of the generalised request; MPI calls it in the thread that ends the request.
 * An error is put into the status, where wait.c finds it and tells the program. */
static int query(void *state, MPI_Status *status)
{
    const struct request *r = state;

    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = LIKELY(r->status == NCOLL_OK) ? MPI_ANY_SOURCE : SOURCE_FAILED;
    status->MPI_TAG = LIKELY(r->status == NCOLL_OK) ? MPI_ANY_TAG : error_class(r->status);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    request_reported(state);
    request_delete(state);
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static int start_it(struct request *r)
{
    return issue_start(&r->call, &r->nc);
}

/* Starts a call. Sets *rc to what the MPI function returns, and returns SERVED; or returns the
 * reason why the call has to be left to MPI. */
static enum reason start(struct call *c, MPI_Request *out, int *rc)
{
    struct request *r = c->stage == NULL || stage_ok(c) ? request_new(c) : NULL;

    if (r == NULL) {
        stage_free(c);
        *rc = fail(c->comm, NCOLL_ERR_MEMORY);
        return SERVED;
    }
    if (c->stage != NULL)
        stage_before(c);
    *rc = PMPI_Grequest_start(query, release, cancel, r, &r->mpi);
    if (*rc != MPI_SUCCESS) {
        stage_free(c);
        request_delete(r);
        c->comm->has_failed = true; /* ranks do not agree any more: others make the call */
        return SERVED;
    }
    MPI_Request handle = r->mpi;
    keep_call(c, 1);
    int status = pending_start(r, start_it);
    if (status == NCOLL_ERR_UNSUPPORTED) {
        keep_call(c, -1);
        stage_free(c);
        PMPI_Grequest_complete(handle);
        real.Request_free(&handle);
        return NO_ALGORITHM;
    }
    *out = handle;
    *rc = MPI_SUCCESS;
    if (status != NCOLL_OK) {
        r->status = status; /* the program may go on after the error, and wait for r */
        request_end(r);
        *rc = error_class(status);
    }
    return SERVED;
}

#define DEFINE(Name, Iname, end, INT, PLACE)                                                       \
    INTERPOSE(I##Iname##end, PARAMETERS_##Name(INT, PLACE), MPI_Request *request)                  \
    {                                                                                              \
        struct call c;                                                                             \
        enum reason why = prepare_##Name(&c, NONBLOCKING, PREPARED_##Name);                        \
        int rc;                                                                                    \
        if (LIKELY(why == SERVED))                                                                 \
            why = start(&c, request, &rc);                                                         \
        count_call(CALL_##Name, why);                                                              \
        if (LIKELY(why == SERVED))                                                                 \
            return rc;                                                                             \
        call_leave(&c, why);                                                                       \
        return real.I##Iname##end(ARGUMENTS_##Name, request);                                      \
    }
#define SMALL(Name, name) DEFINE(Name, name, , int, int)
COLLECTIVES(SMALL)
#ifdef HAVE_LARGE
#define LARGE(Name, name) DEFINE(Name, name, _c, MPI_Count, MPI_Aint)
MOVES_AND_REDUCTIONS(LARGE)
#endif
