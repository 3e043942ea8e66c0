/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "check.h"

/* Other threads compute while the main one is in MPI. */
static void *compute(void *end)
{
    volatile double x = 1;

    while (!__atomic_load_n((int *)end, __ATOMIC_ACQUIRE))
        x = x * 0.5 + 1;
    return NULL;
}

PROGRAM(threads_funneled, "MPI_THREAD_FUNNELED: a thread computes beside the one in MPI",
        .threads = MPI_THREAD_FUNNELED)
{
    pthread_t thread;
    int level, is_main, sum, end = 0;

    OK(MPI_Query_thread(&level));
    OK(MPI_Is_thread_main(&is_main));
    CHECK(level >= MPI_THREAD_FUNNELED && is_main, "level %d, main thread: %d", level, is_main);
    pthread_create(&thread, NULL, compute, &end);
    for (int i = 0; i < 20; i++) {
        int mine = me + i;

        OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == ranks * (ranks - 1) / 2 + i * ranks, "sum %d", sum);
    }
    __atomic_store_n(&end, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}
