/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that are threads of one process. The library has no global state: each thread has a context
 * of its own, which no other thread uses. They find each other through a board in memory.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 4

struct note {
    struct note *next;
    int rank; /* that has published this */
    char key[32];
    size_t len;
    unsigned char bytes[];
};

static struct {
    pthread_mutex_t lock;
    pthread_barrier_t fence;
    struct note *notes;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE); /* the whole job, since all ranks are this process */
}

static int put(void *arg, const char *key, const void *value, size_t len)
{
    struct note *note = malloc(sizeof *note + len);

    if (note == NULL)
        return -1;
    *note = (struct note){.rank = (int)(intptr_t)arg, .len = len};
    snprintf(note->key, sizeof note->key, "%s", key);
    memcpy(note->bytes, value, len);
    pthread_mutex_lock(&board.lock);
    note->next = board.notes;
    board.notes = note;
    pthread_mutex_unlock(&board.lock);
    return 0;
}

/* It may block for longer than the time-out, since no thread can die without the others. */
static int fence(void *arg, int64_t timeout_ns)
{
    int status = pthread_barrier_wait(&board.fence);

    (void)arg, (void)timeout_ns;
    return status == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : status;
}

/* The lock is needed here as well: ranks that are ahead put while others still get. */
static int get(void *arg, int rank, const char *key, void *value, size_t *len)
{
    (void)arg;
    pthread_mutex_lock(&board.lock);
    const struct note *note = board.notes;
    while (note != NULL && (note->rank != rank || strcmp(note->key, key) != 0))
        note = note->next;
    pthread_mutex_unlock(&board.lock);
    if (note == NULL)
        return -1;
    memcpy(value, note->bytes, note->len < *len ? note->len : *len);
    *len = note->len;
    return 0;
}

static void *rank_main(void *arg)
{
    int rank = (int)(intptr_t)arg;
    int64_t own = rank + 1, sum = 0;
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    check(NULL, ncoll_params_init(&params, sizeof params));
    params.bootstrap = NCOLL_BOOTSTRAP_USER;
    params.callbacks = (ncoll_bootstrap_callbacks){put, fence, get, arg};
    params.rank = rank;
    params.ranks = RANKS;
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(EXIT_FAILURE);
    }
    check(ctx,
          ncoll_allreduce(ncoll_world(ctx), &own, &sum, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK));
    if (rank == 0)
        printf("%d threads of one process: the sum of their numbers is %d\n", RANKS, (int)sum);
    ncoll_context_destroy(ctx);
    if (sum != RANKS * (RANKS + 1) / 2)
        exit(EXIT_FAILURE);
    return NULL;
}

int main(void)
{
    pthread_t threads[RANKS];

    if (pthread_barrier_init(&board.fence, NULL, RANKS) != 0)
        return EXIT_FAILURE;
    for (intptr_t r = 0; r < RANKS; r++)
        if (pthread_create(&threads[r], NULL, rank_main, (void *)r) != 0)
            return EXIT_FAILURE;
    for (int r = 0; r < RANKS; r++)
        if (pthread_join(threads[r], NULL) != 0)
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
