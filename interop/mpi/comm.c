/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators. What the library knows of one, a struct comm, is an attribute of the communicator.
 * It is also in a small cache, since MPI takes long to look an attribute up. MPI deletes the
 * attribute with the communicator.
 *
 * A communicator gets its context at its first blocking collective, or in the call that makes it
 * (create.c): in these calls all its ranks take part, and may wait for each other. Before that, a
 * call that must not wait is left to MPI.
 */
#include <stdlib.h>
#include <string.h>

#include "interop/mpi/dropin.h"

#define CACHED 64u
/* The number of communicators that get a context in the call that makes them, of those made from
 * MPI_COMM_WORLD, and of those made from any other communicator: create.c. */
#define EARLY_OF_WORLD 64
#define EARLY_OF_OTHER 8

static struct comm *cache[CACHED];
static struct comm *all, *unused;
_Thread_local MPI_Comm comm_being_freed = MPI_COMM_NULL;
static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct comm **cached(MPI_Comm mpi)
{
    uintptr_t h = (uintptr_t)mpi;

    return &cache[(h ^ h >> 6 ^ h >> 12) % CACHED];
}

/* Finds the numbers of the ranks in MPI_COMM_WORLD. Returns true if all are there. In a process of
 * another world (MPI_Comm_spawn()) ncoll may not have started. Ranks of both worlds see that some
 * ranks are of another one. */
static bool is_of_world(struct comm *c)
{
    int *ranks = malloc((size_t)c->size * sizeof *ranks), in_world = 0;
    MPI_Group group, all_ranks;

    c->world_ranks = malloc((size_t)c->size * sizeof *c->world_ranks);
    if (ranks == NULL || c->world_ranks == NULL) {
        free(ranks);
        return false;
    }
    for (int r = 0; r < c->size; r++)
        ranks[r] = r;
    PMPI_Comm_group(c->mpi, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &all_ranks);
    PMPI_Group_translate_ranks(group, c->size, ranks, all_ranks, c->world_ranks);
    PMPI_Group_free(&group);
    PMPI_Group_free(&all_ranks);
    free(ranks);
    while (in_world < c->size && c->world_ranks[in_world] != MPI_UNDEFINED)
        in_world++;
    return in_world == c->size;
}

/* Returns an unused entry. Entries are used again and never freed, since another thread may be
 * looking at one in the cache. */
static struct comm *allocate(void)
{
    pthread_mutex_lock(&lock);
    struct comm *c = unused;
    if (c != NULL)
        unused = c->next;
    pthread_mutex_unlock(&lock);
    if (c == NULL && (c = malloc(sizeof *c)) == NULL)
        return NULL;
    memset(c, 0, sizeof *c);
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

/* Makes the entry and the attribute of a communicator. Called without the lock: MPI has a lock of
 * its own for attributes, which it holds when it deletes one. */
static struct comm *new_comm(MPI_Comm mpi)
{
    struct comm *c = allocate();
    int inter = 0;

    if (c == NULL)
        return NULL;
    c->mpi = mpi;
    c->pending_end = &c->pending;
    c->guarded = world.threads;
    c->early = mpi == MPI_COMM_WORLD ? EARLY_OF_WORLD : EARLY_OF_OTHER;
    PMPI_Comm_test_inter(mpi, &inter);
    PMPI_Comm_rank(mpi, &c->rank);
    PMPI_Comm_size(mpi, &c->size);
    c->state = inter ? COMM_OFF : COMM_UNKNOWN;
    c->why = INTER;
    if (!inter && !is_of_world(c)) {
        c->state = COMM_OFF;
        c->why = OTHER_WORLD;
    }
    c->numbers = malloc(4 * (size_t)c->size * sizeof *c->numbers);
    if (c->numbers == NULL || PMPI_Comm_set_attr(mpi, keyval, c) != MPI_SUCCESS) {
        c->state = COMM_OFF;
        c->why = NO_CONTEXT;
    }
    pthread_mutex_lock(&lock);
    c->next = all;
    all = c;
    pthread_mutex_unlock(&lock);
    return c;
}

static struct comm *find(MPI_Comm mpi)
{
    struct comm *c = NULL;
    int found = 0;

    if (!world.on || mpi == MPI_COMM_NULL)
        return NULL;
    if (world.ends && mpi == MPI_COMM_SELF) /* its attributes are being deleted */
        return NULL;
    if (PMPI_Comm_get_attr(mpi, keyval, &c, &found) != MPI_SUCCESS)
        return NULL;
    if (!found && mpi == comm_being_freed)
        return NULL;
    if (!found)
        c = new_comm(mpi);
    if (c != NULL)
        __atomic_store_n(cached(mpi), c, __ATOMIC_RELEASE);
    return c;
}

struct comm *comm_of(MPI_Comm mpi)
{
    struct comm *c = __atomic_load_n(cached(mpi), __ATOMIC_ACQUIRE);

    return LIKELY(c != NULL && c->mpi == mpi) ? c : find(mpi);
}

enum reason comm_join(struct comm *c, enum how how)
{
    ncoll_error error;

    if (c->state == COMM_OFF)
        return c->why;
    if (c->size > 1 && how == NONBLOCKING)
        return TOO_EARLY;
    if (c->state == COMM_UNKNOWN) {
        bool made = context_make(c, true, &error);
        c->why = NO_CONTEXT;
        c->state = made ? COMM_ON : COMM_OFF;
    }
    return c->state == COMM_ON ? SERVED : c->why;
}

void comm_forget(struct comm *c)
{
    pthread_mutex_lock(&lock);
    for (struct comm **at = &all; *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    free(c->numbers);
    free(c->world_ranks);
    pthread_mutex_destroy(&c->lock);
    c->next = unused;
    unused = c;
    pthread_mutex_unlock(&lock);
}

/* Called when MPI deletes the attribute with its communicator. The context stays until no rank
 * needs it, and perhaps for longer (farewell.c). */
static int deleted(MPI_Comm mpi, int key, void *attribute, void *extra)
{
    struct comm *c = attribute;

    (void)key;
    (void)extra;
    if (__atomic_load_n(cached(mpi), __ATOMIC_ACQUIRE) == c)
        __atomic_store_n(cached(mpi), NULL, __ATOMIC_RELEASE);
    c->mpi = MPI_COMM_NULL;
    if (c->ctx != NULL)
        farewell_begin(c);
    else
        comm_forget(c);
    return MPI_SUCCESS;
}

int comms_start(void)
{
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &keyval, NULL);
}

/* Attributes of communicators that still exist stay, and say that there is no context. */
void comms_finish(void)
{
    pthread_mutex_lock(&lock);
    for (struct comm *c = all; c != NULL; c = c->next) {
        context_destroy(c);
        c->state = COMM_OFF;
        c->why = NOT_JOINED;
    }
    memset(cache, 0, sizeof cache);
    pthread_mutex_unlock(&lock);
    farewell_finish();
}
