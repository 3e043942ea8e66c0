/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "check.h"

#define TIMES 50

/* One thread is in collectives while another one sends and receives. */
static void *messages(void *unused)
{
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;
    int *out = malloc(80000), *in = malloc(80000);

    for (int i = 0; i < TIMES; i++) {
        out[0] = me * 1000 + i;
        OK(MPI_Sendrecv(out, 20000, MPI_INT, right, 3, in, 20000, MPI_INT, left, 3, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE));
        CHECK(in[0] == left * 1000 + i, "message %d from %d is %d", i, left, in[0]);
    }
    free(in);
    free(out);
    return unused;
}

PROGRAM(threads_messages, "MPI_THREAD_MULTIPLE: a thread in collectives, another one with messages",
        .threads = MPI_THREAD_MULTIPLE, .alone = true)
{
    pthread_t thread;
    int level, sum;

    OK(MPI_Query_thread(&level));
    if (level < MPI_THREAD_MULTIPLE) {
        not_run("this MPI has no MPI_THREAD_MULTIPLE");
        return;
    }
    pthread_create(&thread, NULL, messages, NULL);
    for (int i = 0; i < TIMES; i++) {
        OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == ranks * (ranks - 1) / 2, "the sum is %d", sum);
    }
    pthread_join(thread, NULL);
}
