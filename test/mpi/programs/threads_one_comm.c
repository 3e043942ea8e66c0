/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "check.h"

#define THREADS 2
#define TIMES   60

static pthread_mutex_t turn_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

/* The threads of a rank take turns on one communicator: calls come one after the other, from another thread each. */
static void *work(void *which)
{
    int t = (int)(intptr_t)which, sum;

    for (int i = 0; i < TIMES; i++) {
        pthread_mutex_lock(&turn_lock);
        while (turn % THREADS != t)
            pthread_cond_wait(&turn_changed, &turn_lock);
        OK(MPI_Allreduce(&turn, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == turn * ranks, "turn %d: %d", turn, sum);
        turn++;
        pthread_cond_broadcast(&turn_changed);
        pthread_mutex_unlock(&turn_lock);
    }
    return NULL;
}

PROGRAM(threads_one_comm, "MPI_THREAD_SERIALIZED: threads take turns on one communicator",
        .threads = MPI_THREAD_SERIALIZED, .alone = true)
{
    pthread_t threads[THREADS];

    turn = 0;
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}
