/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress of requests. ncoll makes progress only in its own calls, and so does MPI. So a call that
 * waits in one drives the other: wait.c and point_to_point.c drive ncoll while they wait in MPI,
 * and blocking.c drives MPI while it waits in ncoll. A program may also wait in other calls of MPI
 * (inside.c), or compute. For that there is a helper thread: it advances unfinished requests when
 * nothing else has advanced them for a millisecond. It calls no function of MPI but
 * MPI_Reduce_local(), for operations, and that only while the program's thread is known to be in
 * MPI.
 *
 * Locks are taken in this order: `progress`, which covers the lists of requests; `operations`,
 * which the helper thread holds while it may call operations; and that of a communicator, which
 * covers its context. Calls of MPI that may call back into this library are made without `progress`
 * and without the lock of a communicator.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include "interop/mpi/dropin.h"

#define HELP_AFTER_NS 1000000
#define TRIES         20 /* the number of looks in vain before a rank lets others run */

unsigned pending_total, persistent_total, inside_mpi;

static pthread_mutex_t progress = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t operations = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t helper_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t helper_wakes = PTHREAD_COND_INITIALIZER;
static pthread_t helper;
static bool helper_runs, helper_stops;
static struct comm *active;
static unsigned rounds; /* calls of progress_all(), by the program's threads */

/* ---------------------------------------------------------------- the helper ------------------ */

void operations_lock(void)
{
    pthread_mutex_lock(&operations);
}

void operations_unlock(void)
{
    pthread_mutex_unlock(&operations);
}

/* With MPI_THREAD_MULTIPLE no lock is needed: operations must allow that several threads call
 * them. */
void inside_ends(void)
{
    if (!world.threads)
        operations_lock();
    __atomic_fetch_sub(&inside_mpi, 1, __ATOMIC_RELAXED);
    if (!world.threads)
        operations_unlock();
}

/* Returns true if the helper thread may advance the requests on a communicator: none needs an
 * operation of MPI, or operations may be called now. Called with the lock `operations`. */
static bool may_help(const struct comm *c)
{
    if (world.threads || __atomic_load_n(&inside_mpi, __ATOMIC_RELAXED) != 0)
        return true;
    for (const struct request *r = c->pending; r != NULL; r = r->next_pending)
        if (r->call.foreign != NULL)
            return false;
    return true;
}

static void help(void)
{
    if (pthread_mutex_trylock(&progress) != 0)
        return;
    operations_lock();
    for (struct comm *c = active; c != NULL; c = c->next_pending)
        if (may_help(c) && pthread_mutex_trylock(&c->lock) == 0) {
            ncoll_progress(c->ctx); /* an error comes again when the request is waited for */
            pthread_mutex_unlock(&c->lock);
        }
    operations_unlock();
    pthread_mutex_unlock(&progress);
}

static void *helper_main(void *unused)
{
    const struct timespec pause = {.tv_nsec = HELP_AFTER_NS};
    unsigned seen = 0;

    (void)unused;
    pthread_mutex_lock(&helper_lock);
    while (!helper_stops) {
        if (!is_pending()) {
            pthread_cond_wait(&helper_wakes, &helper_lock);
            continue;
        }
        pthread_mutex_unlock(&helper_lock);
        nanosleep(&pause, NULL);
        unsigned now = __atomic_load_n(&rounds, __ATOMIC_RELAXED);
        if (now == seen && is_pending())
            help();
        seen = now;
        pthread_mutex_lock(&helper_lock);
    }
    pthread_mutex_unlock(&helper_lock);
    return NULL;
}

/* Starts the helper thread, if there is none, and wakes it. If it cannot be started, MPI calls that
 * are not interposed still work, unless they wait for what a request of this rank has to do. */
static void wake_helper(void)
{
    sigset_t none, before;

    pthread_mutex_lock(&helper_lock);
    if (!helper_runs && !helper_stops) {
        sigfillset(&none);
        pthread_sigmask(SIG_SETMASK, &none, &before);
        helper_runs = pthread_create(&helper, NULL, helper_main, NULL) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_cond_signal(&helper_wakes);
    pthread_mutex_unlock(&helper_lock);
}

/* Forgets requests that the program has left unfinished: nothing must look at them when their
 * contexts are gone. */
static void forget_all(void)
{
    pthread_mutex_lock(&progress);
    for (struct comm *c; (c = active) != NULL;) {
        for (struct request *r = c->pending; r != NULL; r = r->next_pending)
            __atomic_store_n(&r->active, false, __ATOMIC_RELEASE);
        c->pending = NULL;
        c->pending_end = &c->pending;
        c->is_listed = false;
        active = c->next_pending;
    }
    __atomic_store_n(&pending_total, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&progress);
}

void progress_finish(void)
{
    pthread_mutex_lock(&helper_lock);
    bool runs = helper_runs;
    helper_stops = true;
    helper_runs = false;
    pthread_cond_signal(&helper_wakes);
    pthread_mutex_unlock(&helper_lock);
    if (runs)
        pthread_join(helper, NULL);
    forget_all();
}

/* ---------------------------------------------------------------- requests -------------------- */

int pending_start(struct request *r, int (*start)(struct request *r))
{
    struct comm *c = r->call.comm;

    pthread_mutex_lock(&progress);
    pthread_mutex_lock(&c->lock);
    int rc = start(r);
    if (rc == NCOLL_OK) {
        r->active = true;
        r->next_pending = NULL;
        *c->pending_end = r;
        c->pending_end = &r->next_pending;
        c->guarded = true;
        if (!c->is_listed) {
            c->is_listed = true;
            c->next_pending = active;
            active = c;
        }
        __atomic_fetch_add(&pending_total, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_unlock(&progress);
    if (rc == NCOLL_OK)
        wake_helper();
    return rc;
}

/* Moves the requests that have ended to the list `done`. Called with the locks `progress` and
 * c->lock. */
static void collect(struct comm *c, struct request ***done)
{
    struct request **at = &c->pending, *r;

    while ((r = *at) != NULL) {
        int status = ncoll_test(&r->nc);
        if (status == NCOLL_TIMEOUT) {
            at = &r->next_pending;
            continue;
        }
        r->status = status;
        c->ending++;
        c->has_failed |= status != NCOLL_OK;
        *at = r->next_pending;
        r->next_pending = NULL;
        **done = r;
        *done = &r->next_pending;
    }
    c->pending_end = at;
}

void request_end(struct request *r)
{
    struct comm *c = r->call.comm;
    struct call *call = &r->call;

    if (call->stage != NULL && r->status == NCOLL_OK)
        stage_after(call);
    if (r->status != NCOLL_OK) {
        request_failed(r);
        fail(c, r->status); /* before the program may free the communicator */
    }
    if (r->persistent) {
        real.Send(NULL, 0, MPI_BYTE, 0, r->tag, world.self);
        __atomic_store_n(&r->active, false, __ATOMIC_RELEASE);
    } else {
        keep_call(call, -1);
        stage_free(call);
        PMPI_Grequest_complete(r->mpi); /* r may be gone after that */
    }
}

void progress_all(void)
{
    struct request *done = NULL, **last = &done;

    __atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
    if (pthread_mutex_trylock(&progress) != 0)
        return;
    for (struct comm **at = &active, *c; (c = *at) != NULL;) {
        if (pthread_mutex_trylock(&c->lock) != 0) {
            at = &c->next_pending;
            continue;
        }
        collect(c, &last);
        if (c->pending == NULL) {
            *at = c->next_pending;
            c->is_listed = false;
            c->guarded = world.threads;
        } else {
            at = &c->next_pending;
        }
        pthread_mutex_unlock(&c->lock);
    }
    pthread_mutex_unlock(&progress);
    for (struct request *next; done != NULL; done = next) {
        struct comm *c = done->call.comm;
        next = done->next_pending;
        request_end(done);
        __atomic_fetch_sub(&c->ending, 1, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&pending_total, 1, __ATOMIC_RELEASE);
    }
}

/* Advances MPI by a test of a receive whose message never comes: MPI_Test() advances all of MPI,
 * while MPI_Iprobe() of MPICH does not if there is only one rank. Each thread has its own receive,
 * since two threads must not test one request. They stay until MPI_Finalize(). */
static void drive_mpi(void)
{
    static _Thread_local MPI_Request never;
    static _Thread_local bool posted;
    int flag;

    if (!posted)
        posted = PMPI_Irecv(NULL, 0, MPI_BYTE, 0, TAG_NEVER, world.self, &never) == MPI_SUCCESS;
    if (posted)
        real.Test(&never, &flag, MPI_STATUS_IGNORE);
}

void progress_others(void)
{
    drive_mpi();
    if (is_pending())
        progress_all();
}

void progress_idle(unsigned tries)
{
    if (tries >= TRIES)
        sched_yield();
}
