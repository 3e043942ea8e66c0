/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that the program has freed. A rank that is behind may still need the context of
 * another one, so the ranks tell each other by a barrier on it, and each destroys its own when that
 * has ended. Nobody waits for it: MPI lets ranks free communicators in different orders, and use
 * others in between. The barrier begins when the requests of this rank on the communicator are over.
 * It is looked at when a context is made and when a communicator is freed; what is left then goes in
 * MPI_Finalize().
 */
#include <time.h>

#include "interop/mpi/dropin.h"

/* A barrier that takes longer than this is looked at only where a context is made: it has most
 * likely ended by then, and otherwise ncoll logs that it has waited for long. */
#define PATIENCE_NS 5000000000

static struct comm *freed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void farewell_begin(struct comm *c)
{
    c->freed_ns = now_ns();
    pthread_mutex_lock(&lock);
    c->next_freed = freed;
    __atomic_store_n(&freed, c, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* Returns true if no rank needs the context any more. */
static bool is_over(struct comm *c)
{
    int rc = NCOLL_TIMEOUT;

    pthread_mutex_lock(&c->lock);
    if (c->farewell == NULL && c->pending == NULL && c->persistent_there == 0 &&
        ncoll_barrier_start(c->group, &c->farewell) != NCOLL_OK)
        c->farewell = NULL;
    if (c->farewell != NULL)
        rc = ncoll_test(&c->farewell);
    pthread_mutex_unlock(&c->lock);
    return rc != NCOLL_TIMEOUT;
}

/* Takes those that are over off the list. With the lock. */
static struct comm *take_over(bool old_too)
{
    int64_t now = now_ns();
    struct comm *over = NULL;

    for (struct comm **at = &freed, *c; (c = *at) != NULL;) {
        if ((!old_too && now - c->freed_ns > PATIENCE_NS) || !is_over(c)) {
            at = &c->next_freed;
            continue;
        }
        __atomic_store_n(at, c->next_freed, __ATOMIC_RELEASE);
        c->next_freed = over;
        over = c;
    }
    return over;
}

void farewell_poll(bool old_too)
{
    if (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) == NULL || pthread_mutex_trylock(&lock) != 0)
        return;
    struct comm *over = take_over(old_too);
    pthread_mutex_unlock(&lock);
    for (struct comm *next; over != NULL; over = next) {
        next = over->next_freed;
        context_destroy(over);
        comm_forget(over);
    }
}
