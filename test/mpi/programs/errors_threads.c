/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>

#include "check.h"

#define TIMES 25

static int over;

/* Makes progress for the other thread. */
static void *look(void *unused)
{
    int flag;

    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        OK(MPI_Iprobe(MPI_ANY_SOURCE, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    return unused;
}

/* The ranks disagree about the operation. Returns true if this rank hears of it. */
static bool disagree(int time)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Comm comm;
    int one = 1, out, rc, ended, flag = 0, n, indices[2];

    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    rc = MPI_Iallreduce(&one, &out, 1, MPI_INT, me == 0 ? MPI_MAX : MPI_SUM, comm, &requests[1]);
    if (time % 5 == 0)
        ended = MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    else if (time % 5 == 1)
        ended = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else if (time % 5 == 2)
        ended = MPI_Waitany(2, requests, indices, statuses);
    else if (time % 5 == 3)
        ended = MPI_Waitsome(2, requests, &n, indices, statuses);
    else
        do
            ended = MPI_Testall(2, requests, &flag, statuses);
        while (ended == MPI_SUCCESS && !flag);
    CHECK(requests[1] == MPI_REQUEST_NULL, "the request is left, time %d", time);
    if (time % 5 >= 3 && ended != MPI_SUCCESS)
        CHECK(ended == MPI_ERR_IN_STATUS && statuses[time % 5 == 4].MPI_ERROR != MPI_SUCCESS,
              "time %d: the error is not in the status", time);
    OK(MPI_Comm_free(&comm));
    return rc != MPI_SUCCESS || ended != MPI_SUCCESS;
}

PROGRAM(errors_threads, "MPI_THREAD_MULTIPLE: a thread ends calls that fail, another one waits",
        .threads = MPI_THREAD_MULTIPLE, .alone = true, .ranks = 2)
{
    pthread_t thread;
    int level, heard = 0;

    OK(MPI_Query_thread(&level));
    if (level < MPI_THREAD_MULTIPLE) {
        not_run("this MPI has no MPI_THREAD_MULTIPLE");
        return;
    }
    pthread_create(&thread, NULL, look, NULL);
    for (int time = 0; time < TIMES; time++)
        heard += disagree(time);
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(heard == 0 || heard == TIMES, "%d of %d errors were told", heard, TIMES);
}
