/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that the program has freed. Their contexts are kept for a while: many programs make
 * and free communicators of the same ranks again and again, and a context takes long to make. The
 * last few contexts are kept; all ranks of a new communicator say which of them they have, and use
 * one that all have (context.c).
 *
 * Older ones are destroyed. A rank that is behind may still need the context of another one, so the
 * ranks tell each other by a barrier on it, and each destroys its own when that has ended. Nobody
 * waits for it: MPI lets ranks free communicators in different orders, and use others in between. The
 * barrier begins when the requests of this rank on the communicator are over. It is looked at when a
 * context is made and when a communicator is freed; what is left then goes in MPI_Finalize().
 */
#include <string.h>
#include <time.h>

#include "interop/mpi/dropin.h"

/* A barrier that takes longer than this is looked at only where a context is made: it has most
 * likely ended by then, and otherwise ncoll logs that it has waited for long. */
#define PATIENCE_NS 5000000000
#define KEPT        16

static struct comm *freed; /* the last one first */
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

/* ---------------------------------------------------------------- another use ----------------- */

/* Groups of persistent requests stay in a context, so one that has some is not used again. */
static bool may_serve_again(struct comm *c)
{
    pthread_mutex_lock(&c->lock);
    bool may = c->farewell == NULL && c->pending == NULL && c->ops->persistent_calls == 0 &&
               !c->has_failed && c->offered_to == NULL;
    pthread_mutex_unlock(&c->lock);
    return may;
}

static bool same_ranks(const struct comm *a, const struct comm *b)
{
    return a->size == b->size && a->rank == b->rank &&
           memcmp(a->world_ranks, b->world_ranks, (size_t)a->size * sizeof *a->world_ranks) == 0;
}

void farewell_offer(const struct comm *c, int64_t ids[OFFERS])
{
    unsigned n = 0;

    memset(ids, 0, OFFERS * sizeof *ids);
    pthread_mutex_lock(&lock);
    for (struct comm *f = freed; f != NULL && n < OFFERS; f = f->next_freed)
        if (same_ranks(f, c) && may_serve_again(f)) {
            f->offered_to = c;
            ids[n++] = f->id;
        }
    pthread_mutex_unlock(&lock);
}

static void hand_over(struct comm *from, struct comm *to)
{
    to->ctx = from->ctx;
    to->group = from->group;
    to->ops = from->ops;
    to->id = from->id;
    from->ctx = NULL;
    from->group = NULL;
    from->ops = NULL;
}

void farewell_take(struct comm *c, int64_t id)
{
    struct comm *taken = NULL;

    pthread_mutex_lock(&lock);
    for (struct comm **at = &freed, *f; (f = *at) != NULL;) {
        bool is_it = f->offered_to == c && f->id == id;
        if (f->offered_to == c)
            f->offered_to = NULL;
        if (is_it) {
            __atomic_store_n(at, f->next_freed, __ATOMIC_RELEASE);
            taken = f;
        } else {
            at = &f->next_freed;
        }
    }
    pthread_mutex_unlock(&lock);
    if (taken != NULL) {
        hand_over(taken, c);
        comm_forget(taken);
    }
}

/* ---------------------------------------------------------------- the end --------------------- */

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
    unsigned kept = 0;

    for (struct comm **at = &freed, *c; (c = *at) != NULL;) {
        bool keep = c->offered_to != NULL || (kept < KEPT && may_serve_again(c));
        kept += keep;
        if (keep || (!old_too && now - c->freed_ns > PATIENCE_NS) || !is_over(c)) {
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

void farewell_finish(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&freed, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
