/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that the program has freed. A rank that is behind may still need another rank to
 * keep its context, so the ranks tell each other, by a barrier on the context, that they have freed
 * the communicator. No rank waits for the barrier: MPI lets ranks free communicators in different
 * orders, and use others in between. It begins when the requests of this rank on the communicator
 * are over, and is tested when a context is made and when a communicator is freed.
 *
 * When the barrier has ended, a rank may destroy its context at any time. It keeps the last few,
 * since a context takes long to make, and many programs make communicators of the same ranks again
 * and again: the ranks of a new communicator say which contexts they have, and use one that all
 * have (context.c).
 */
#include <string.h>
#include <time.h>

#include "interop/mpi/dropin.h"

#define KEPT 16
/* A barrier that takes longer, in nanoseconds, is tested only when a context is made, since there
 * may be many: a program may free many communicators while another rank has not freed one. */
#define PATIENCE_NS 5000000000

static struct comm *freed; /* list of the freed communicators, the last one first */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void farewell_begin(struct comm *c)
{
    c->freed = FREED_HERE;
    pthread_mutex_lock(&lock);
    c->next_freed = freed;
    __atomic_store_n(&freed, c, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* ---------------------------------------------------------------- the barrier ----------------- */

static bool begin_barrier(struct comm *c)
{
    if (c->pending != NULL || __atomic_load_n(&c->ending, __ATOMIC_ACQUIRE) > 0 ||
        c->persistent_there > 0)
        return false;
    if (ncoll_barrier_start(c->group, &c->farewell) == NCOLL_OK) {
        c->freed = FREED_BEGUN;
        c->begun_ns = now_ns();
        return true;
    }
    c->farewell = NULL;
    if (c->has_failed)
        c->freed = FREED_BROKEN;
    return false;
}

/* Tests the barrier. Called with the lock of the communicator, or when no other thread knows it. */
static void test_barrier(struct comm *c)
{
    int rc = ncoll_test(&c->farewell);

    if (rc != NCOLL_TIMEOUT)
        c->freed = rc == NCOLL_OK ? FREED_BY_ALL : FREED_BROKEN;
}

static void advance(struct comm *c, bool old_too, int64_t now)
{
    pthread_mutex_lock(&c->lock);
    if ((c->freed == FREED_HERE && begin_barrier(c)) ||
        (c->freed == FREED_BEGUN && (old_too || now - c->begun_ns < PATIENCE_NS)))
        test_barrier(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---------------------------------------------------------------- another use ----------------- */

/* Returns true if another communicator may get the context. Groups of persistent requests stay in a
 * context, so one that has had some is not used again. */
static bool may_serve_again(const struct comm *c)
{
    return (c->freed == FREED_BEGUN || c->freed == FREED_BY_ALL) && c->offered_to == NULL &&
           !c->has_failed && c->ops->persistent_calls == 0;
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
        if (may_serve_again(f) && same_ranks(f, c)) {
            f->offered_to = c;
            ids[n++] = f->id;
        }
    pthread_mutex_unlock(&lock);
}

/* Removes an entry from the list. Called with the lock. */
static struct comm *take(struct comm **at)
{
    struct comm *c = *at;

    __atomic_store_n(at, c->next_freed, __ATOMIC_RELEASE);
    return c;
}

static struct comm *take_offered(const struct comm *to, int64_t id)
{
    struct comm *taken = NULL;

    pthread_mutex_lock(&lock);
    for (struct comm **at = &freed, *f; (f = *at) != NULL;) {
        bool mine = f->offered_to == to;
        if (mine)
            f->offered_to = NULL;
        if (mine && f->id == id)
            taken = take(at);
        else
            at = &f->next_freed;
    }
    pthread_mutex_unlock(&lock);
    return taken;
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

/* All ranks have offered the context, so all have begun its barrier: this rank can wait for its
 * end. */
void farewell_take(struct comm *c, int64_t id)
{
    struct comm *taken = take_offered(c, id);

    if (taken == NULL)
        return;
    for (unsigned tries = 0; taken->freed == FREED_BEGUN; tries++) {
        test_barrier(taken);
        if (tries > 0)
            progress_others();
        progress_idle(tries);
    }
    hand_over(taken, c);
    comm_forget(taken);
}

/* ---------------------------------------------------------------- the end --------------------- */

static void destroy_all(struct comm *over)
{
    for (struct comm *next; over != NULL; over = next) {
        next = over->next_freed;
        context_destroy(over);
        comm_forget(over);
    }
}

/* Removes from the list those communicators whose contexts are to be destroyed, and returns them.
 * It keeps the last `most` of those that all ranks have freed. Called with the lock. */
static struct comm *take_over(bool old_too, unsigned most)
{
    int64_t now = now_ns();
    struct comm *over = NULL;
    unsigned kept = 0;

    for (struct comm **at = &freed, *c; (c = *at) != NULL;) {
        if (c->offered_to == NULL)
            advance(c, old_too, now);
        kept += c->freed == FREED_BY_ALL;
        bool is_over = c->freed == FREED_BROKEN || (c->freed == FREED_BY_ALL && kept > most);
        if (c->offered_to != NULL || !is_over) {
            at = &c->next_freed;
            continue;
        }
        take(at);
        c->next_freed = over;
        over = c;
    }
    return over;
}

void farewell_poll(bool old_too)
{
    if (__atomic_load_n(&freed, __ATOMIC_ACQUIRE) == NULL || pthread_mutex_trylock(&lock) != 0)
        return;
    struct comm *over = take_over(old_too, KEPT);
    pthread_mutex_unlock(&lock);
    destroy_all(over);
}

void farewell_keep_none(void)
{
    pthread_mutex_lock(&lock);
    struct comm *over = take_over(true, 0);
    pthread_mutex_unlock(&lock);
    destroy_all(over);
}

void farewell_finish(void)
{
    pthread_mutex_lock(&lock);
    __atomic_store_n(&freed, NULL, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
