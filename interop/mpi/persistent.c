/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives. MPI lets each rank start them in an order of its own, while ncoll matches
 * calls by the order of the starts in a group. So each request gets a group of its own, which lives
 * as long as the context of the communicator.
 *
 * The program's handle is a persistent receive of no bytes from this process itself. The receive is
 * started with ncoll's request, and its message is sent when that request has ended. So MPI's own
 * calls can wait for it.
 */
#include "interop/mpi/dropin.h"
#include "interop/mpi/parameters.h"

#define TAGS TAG_COPY

static bool tag_taken[TAGS];
static pthread_mutex_t tags_lock = PTHREAD_MUTEX_INITIALIZER;

static void give_tag(int tag)
{
    pthread_mutex_lock(&tags_lock);
    tag_taken[tag] = false;
    pthread_mutex_unlock(&tags_lock);
}

/* Deletes a request, and what its call uses. To be called when it has not been started, or has
 * ended. */
static void forget_call(struct request *r)
{
    keep_call(&r->call, -1);
    stage_free(&r->call);
    request_delete(r);
}

#ifdef HAVE_PERSISTENT
/* Finds a tag that no request uses. Returns false if there is none. */
static bool take_tag(int *tag)
{
    static unsigned next;
    bool found = false;

    pthread_mutex_lock(&tags_lock);
    for (unsigned i = 0; i < TAGS && !found; i++) {
        *tag = (int)(next++ % TAGS);
        found = !tag_taken[*tag];
    }
    if (found)
        tag_taken[*tag] = true;
    pthread_mutex_unlock(&tags_lock);
    return found;
}

/* Makes a group for a persistent request. Returns a status of ncoll, the same on all ranks. */
static int make_group(struct call *c, ncoll_group **group)
{
    int rc;

    for (;;) {
        pthread_mutex_lock(&c->comm->lock);
        rc = ncoll_group_dup(c->group, group, 100000);
        pthread_mutex_unlock(&c->comm->lock);
        if (rc != NCOLL_TIMEOUT)
            return rc;
        progress_others();
    }
}

/* Makes the program's handle. Returns an MPI error code. */
static int make_handle(struct request *r)
{
    int rc;

    keep_call(&r->call, 1);
    if (!take_tag(&r->tag)) {
        forget_call(r);
        return fail(r->call.comm, NCOLL_ERR_RESOURCE);
    }
    rc = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, r->tag, world.self, &r->mpi);
    if (rc != MPI_SUCCESS) {
        r->call.comm->has_failed = true; /* ranks do not agree any more: others make the call */
        give_tag(r->tag);
        forget_call(r);
        return rc;
    }
    __atomic_fetch_add(&r->call.comm->persistent_there, 1, __ATOMIC_RELAXED);
    request_know(r);
    return MPI_SUCCESS;
}

/* Makes a persistent request. Sets *rc to what the MPI function returns, and returns SERVED; or
 * returns the reason why the call has to be left to MPI. */
static enum reason init(struct call *c, MPI_Request *out, int *rc)
{
    struct request *r = NULL;
    ncoll_group *group;
    int status = NCOLL_ERR_MEMORY;

    c->comm->ops->persistent_calls++;
    if (make_group(c, &group) != NCOLL_OK)
        return NO_CONTEXT;
    if ((c->stage == NULL || stage_ok(c)) && (r = request_new(c)) != NULL) {
        pthread_mutex_lock(&c->comm->lock);
        status = issue_init(&r->call, group, &r->nc);
        pthread_mutex_unlock(&c->comm->lock);
    }
    if (status != NCOLL_OK) {
        stage_free(c);
        if (r != NULL)
            request_delete(r);
        if (status == NCOLL_ERR_UNSUPPORTED)
            return NO_ALGORITHM;
        *rc = fail(c->comm, status);
        return SERVED;
    }
    r->group = group;
    r->persistent = true;
    *rc = make_handle(r);
    if (*rc == MPI_SUCCESS)
        *out = r->mpi;
    return SERVED;
}

#define DEFINE(Name, mpi, pmpi, end, INT, PLACE)                                                   \
    INTERPOSE_AS(mpi, pmpi, PARAMETERS_##Name(INT, PLACE), MPI_Info info, MPI_Request *request)    \
    {                                                                                              \
        struct call c;                                                                             \
        enum reason why = prepare_##Name(&c, PERSISTENT_INIT, PREPARED_##Name);                    \
        int rc;                                                                                    \
        if (why == SERVED)                                                                         \
            why = init(&c, request, &rc);                                                          \
        count_call(CALL_##Name, why);                                                              \
        if (why == SERVED)                                                                         \
            return rc;                                                                             \
        call_leave(&c, why);                                                                       \
        return real.Name##_init##end(ARGUMENTS_##Name, info, request);                             \
    }
#define SMALL(Name, name)         SMALL_AS(Name, PERSISTENT(, Name), PERSISTENT(P, Name))
#define SMALL_AS(...)             SMALL_OF(__VA_ARGS__)
#define SMALL_OF(Name, mpi, pmpi) DEFINE(Name, mpi, pmpi, , int, int)
COLLECTIVES(SMALL)
#ifdef HAVE_LARGE
#define LARGE(Name, name)                                                                          \
    DEFINE(Name, MPI_##Name##_init_c, PMPI_##Name##_init_c, _c, MPI_Count, MPI_Aint)
MOVES_AND_REDUCTIONS(LARGE)
#endif
#endif

static int start_it(struct request *r)
{
    return ncoll_start(r->nc);
}

static int start(struct request *r, MPI_Request *handle)
{
    int rc = real.Start(handle);

    if (rc != MPI_SUCCESS)
        return rc;
    request_reported(r);
    if (r->call.stage != NULL)
        stage_before(&r->call);
    if ((rc = pending_start(r, start_it)) == NCOLL_OK)
        return MPI_SUCCESS;
    r->status = rc; /* the program may go on after the error, and wait for r */
    request_end(r);
    return error_class(rc);
}

INTERPOSE(Start, MPI_Request *request)
{
    struct request *r = request == NULL ? NULL : request_of(*request);

    return r == NULL ? real.Start(request) : start(r, request);
}

INTERPOSE(Startall, int count, MPI_Request requests[])
{
    bool any = false;
    int rc = MPI_SUCCESS;

    for (int i = 0; i < count && !any; i++)
        any = request_of(requests[i]) != NULL;
    if (!any)
        return real.Startall(count, requests);
    for (int i = 0; i < count && rc == MPI_SUCCESS; i++) {
        struct request *r = request_of(requests[i]);
        rc = r == NULL ? real.Start(&requests[i]) : start(r, &requests[i]);
    }
    return rc;
}

/* Frees a persistent request. ncoll's part of it stays with its group: it is freed with the
 * context. */
INTERPOSE(Request_free, MPI_Request *request)
{
    struct request *r = request == NULL ? NULL : request_of(*request);

    if (r == NULL)
        return real.Request_free(request);
    for (unsigned tries = 0; __atomic_load_n(&r->active, __ATOMIC_ACQUIRE); tries++) {
        progress_others();
        progress_idle(tries);
    }
    int tag = r->tag, rc;
    request_forget(r);
    request_reported(r);
    __atomic_fetch_sub(&r->call.comm->persistent_there, 1, __ATOMIC_RELAXED);
    forget_call(r);
    rc = real.Request_free(request);
    give_tag(tag);
    return rc;
}
