/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "check.h"

#define THREADS 3
#define TIMES   20000
#define BLOCKS  10

static MPI_Comm comms[THREADS];

/* Numbers at absolute addresses, with gaps between them. A communicator of one rank makes the threads wait for nobody,
 * and so meet more often. */
static void *work(void *which)
{
    static int numbers[THREADS][2 * BLOCKS], copies[THREADS][BLOCKS];
    int t = (int)(intptr_t)which, *own = numbers[t], *copy = copies[t];
    MPI_Aint at[BLOCKS];
    MPI_Datatype apart;

    for (int i = 0; i < BLOCKS; i++)
        OK(MPI_Get_address(&own[2 * i], &at[i]));
    OK(MPI_Type_create_hindexed_block(BLOCKS, 1, at, MPI_INT, &apart));
    OK(MPI_Type_commit(&apart));
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < BLOCKS; i++)
            own[2 * i] = t * 1000000 + time + i;
        OK(MPI_Allgather(MPI_BOTTOM, 1, apart, copy, BLOCKS, MPI_INT, comms[t]));
        CHECK_EACH(i, BLOCKS, copy, t * 1000000 + time + i, "from thread %d, time %d", t, time);
        copy[0]++;
        OK(MPI_Allgather(copy, BLOCKS, MPI_INT, MPI_BOTTOM, 1, apart, comms[t]));
        CHECK_EACH(i, 2 * BLOCKS, own, i % 2 ? 0 : t * 1000000 + time + (i == 0 ? 1 : i / 2),
                   "to thread %d, time %d", t, time);
    }
    OK(MPI_Type_free(&apart));
    return NULL;
}

PROGRAM(bottom_threads, "MPI_THREAD_MULTIPLE: threads move data at absolute addresses",
        .threads = MPI_THREAD_MULTIPLE, .alone = true)
{
    pthread_t threads[THREADS];
    int level;

    OK(MPI_Query_thread(&level));
    if (level < MPI_THREAD_MULTIPLE) {
        not_run("this MPI has no MPI_THREAD_MULTIPLE");
        return;
    }
    for (int t = 0; t < THREADS; t++)
        OK(MPI_Comm_dup(MPI_COMM_SELF, &comms[t]));
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        OK(MPI_Comm_free(&comms[t]));
}
