/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocates the library's requests, and finds the persistent request that a handle of MPI stands
 * for. */
#include <stdlib.h>

#include "interop/mpi/dropin.h"

#define BUCKETS 256u

static struct request *unused, *known[BUCKETS];
unsigned failed_total;
/* Held for a few instructions only, since MPI calls request_delete() with locks of its own. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct request *request_new(const struct call *c)
{
    pthread_mutex_lock(&lock);
    struct request *r = unused;
    if (r != NULL)
        unused = r->next;
    pthread_mutex_unlock(&lock);
    if (r == NULL && (r = malloc(sizeof *r)) == NULL)
        return NULL;
    *r = (struct request){.call = *c, .mpi = MPI_REQUEST_NULL};
    return r;
}

void request_delete(struct request *r)
{
    pthread_mutex_lock(&lock);
    r->next = unused;
    unused = r;
    pthread_mutex_unlock(&lock);
}

static struct request **bucket(MPI_Request mpi)
{
    uintptr_t h = (uintptr_t)mpi;

    return &known[(h ^ h >> 8 ^ h >> 16) % BUCKETS];
}

struct request *request_of(MPI_Request mpi)
{
    if (LIKELY(__atomic_load_n(&persistent_total, __ATOMIC_RELAXED) == 0))
        return NULL;
    pthread_mutex_lock(&lock);
    struct request *r = *bucket(mpi);
    while (r != NULL && r->mpi != mpi)
        r = r->next;
    pthread_mutex_unlock(&lock);
    return r;
}

void request_know(struct request *r)
{
    pthread_mutex_lock(&lock);
    r->next = *bucket(r->mpi);
    *bucket(r->mpi) = r;
    __atomic_fetch_add(&persistent_total, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void request_forget(struct request *r)
{
    pthread_mutex_lock(&lock);
    for (struct request **at = bucket(r->mpi); *at != NULL; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            __atomic_fetch_sub(&persistent_total, 1, __ATOMIC_RELAXED);
            break;
        }
    pthread_mutex_unlock(&lock);
}

void request_failed(struct request *r)
{
    __atomic_store_n(&r->failed, true, __ATOMIC_RELEASE);
    __atomic_fetch_add(&failed_total, 1, __ATOMIC_RELEASE);
}

bool request_reported(struct request *r)
{
    if (LIKELY(!__atomic_load_n(&r->failed, __ATOMIC_ACQUIRE)))
        return false;
    __atomic_store_n(&r->failed, false, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&failed_total, 1, __ATOMIC_RELEASE);
    return true;
}
