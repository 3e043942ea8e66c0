/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "calls.h"

#define THREADS 3
#define TIMES   40

static MPI_Comm comms[THREADS];

/* Each thread on a communicator of its own. */
static void *work(void *which)
{
    int t = (int)(intptr_t)which;

    for (int i = 0; i < TIMES; i++) {
        MPI_Request request;
        struct call call;

        call_make(&call, (i + t) % COLLECTIVES, comms[t], 10 + i % 3 * 500, i % ranks, t);
        if (i % 2) {
            call_block(&call);
        } else {
            call_start(&call, &request);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        }
        call_check(&call);
        call_free(&call);
    }
    return NULL;
}

PROGRAM(threads, "MPI_THREAD_MULTIPLE: three threads, each on its communicator",
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
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]));
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        OK(MPI_Comm_free(&comms[t]));
}
