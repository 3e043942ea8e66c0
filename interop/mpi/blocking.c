/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives. A call that takes long waits in slices. In between it advances the requests
 * on other communicators, and MPI, since another rank may wait for an MPI message of this one
 * before it enters the collective.
 */
#include <stdio.h>

#include "interop/mpi/dropin.h"
#include "interop/mpi/parameters.h"

#define FIRST_SLICE_NS 20000
#define SLICE_NS       50000
#define LONG_SLICE_NS  200000
#define LONG_AFTER     20 /* the number of slices after which they are longer */

int error_class(int status)
{
    switch (status) {
    case NCOLL_OK:
        return MPI_SUCCESS;
    case NCOLL_ERR_MEMORY:
    case NCOLL_ERR_RESOURCE:
        return MPI_ERR_NO_MEM;
    case NCOLL_ERR_ARGUMENT:
        return MPI_ERR_BUFFER;
    case NCOLL_ERR_MISMATCH:
        return MPI_ERR_TRUNCATE;
    case NCOLL_ERR_INTERNAL:
        return MPI_ERR_INTERN;
    default:
        return MPI_ERR_OTHER;
    }
}

/* An MPI error has a class and nothing else, so the text of ncoll's error is printed. */
int fail(struct comm *c, int status)
{
    const ncoll_error *error = ncoll_last_error(c->ctx);
    int class = error_class(status);

    c->has_failed = true;
    fprintf(stderr, "%s\n", (int)error->status == status ? error->text : ncoll_status_text(status));
    PMPI_Comm_call_errhandler(c->mpi == MPI_COMM_NULL ? MPI_COMM_WORLD : c->mpi, class);
    return class;
}

static int issue_guarded(struct call *c, int64_t timeout_ns)
{
    if (!c->comm->guarded)
        return issue(c, timeout_ns);
    pthread_mutex_lock(&c->comm->lock);
    int rc = issue(c, timeout_ns);
    pthread_mutex_unlock(&c->comm->lock);
    return rc;
}

/* Carries out a call until its end, in slices. Between them the lock is free, so that other threads
 * can wait for requests in the same context. */
static int run_on(struct call *c, int status)
{
    for (unsigned slices = 0; status == NCOLL_TIMEOUT; slices++) {
        if (slices > 0)
            progress_others();
        status = issue_guarded(c, slices < LONG_AFTER ? SLICE_NS : LONG_SLICE_NS);
    }
    return status;
}

static int run_staged(struct call *c)
{
    int status = NCOLL_ERR_MEMORY;

    if (stage_ok(c)) {
        stage_before(c);
        status = run_on(c, NCOLL_TIMEOUT);
        if (status == NCOLL_OK)
            stage_after(c);
    }
    stage_free(c);
    return status;
}

/* Carries out a call. Sets *rc to what the MPI function returns, and returns SERVED; or returns the
 * reason why the call has to be left to MPI. */
static inline enum reason run(struct call *c, int *rc)
{
    int status = NCOLL_TIMEOUT;

    if (UNLIKELY(c->stage != NULL)) {
        status = run_staged(c);
    } else {
        if (LIKELY(!c->comm->guarded))
            status = issue(c, FIRST_SLICE_NS);
        if (UNLIKELY(status != NCOLL_OK))
            status = run_on(c, status);
    }
    if (UNLIKELY(status == NCOLL_ERR_UNSUPPORTED))
        return NO_ALGORITHM;
    *rc = LIKELY(status == NCOLL_OK) ? MPI_SUCCESS : fail(c->comm, status);
    return SERVED;
}

#define DEFINE(Name, end, INT, PLACE)                                                              \
    INTERPOSE(Name##end, PARAMETERS_##Name(INT, PLACE))                                            \
    {                                                                                              \
        struct call c;                                                                             \
        enum reason why = prepare_##Name(&c, BLOCKING, PREPARED_##Name);                           \
        int rc;                                                                                    \
        if (LIKELY(why == SERVED))                                                                 \
            why = run(&c, &rc);                                                                    \
        count_call(CALL_##Name, why);                                                              \
        if (LIKELY(why == SERVED))                                                                 \
            return rc;                                                                             \
        call_leave(&c, why);                                                                       \
        if (LIKELY(!is_pending()))                                                                 \
            return real.Name##end(ARGUMENTS_##Name);                                               \
        left_begins(OPERATION_##Name);                                                             \
        rc = real.Name##end(ARGUMENTS_##Name);                                                     \
        inside_ends();                                                                             \
        return rc;                                                                                 \
    }
#define SMALL(Name, name) DEFINE(Name, , int, int)
COLLECTIVES(SMALL)
#ifdef HAVE_LARGE
#define LARGE(Name, name) DEFINE(Name, _c, MPI_Count, MPI_Aint)
MOVES_AND_REDUCTIONS(LARGE)
#endif
