/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#define N 8

static struct call calls[N];
static MPI_Request requests[N];
static int in[N], out[N];

/* Calls, messages, a persistent receive, and none, in one list. */
static void start(int time)
{
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks;

    for (int i = 0; i < N; i++) {
        out[i] = value(me, i + time);
        in[i] = -1;
        if (i == 7)
            requests[i] = MPI_REQUEST_NULL;
        else if (i % 3 == 0) {
            call_make(&calls[i], (i + time) % COLLECTIVES, MPI_COMM_WORLD,
                      30 * i * (time % 3 == 0 ? 40 : 1), i % ranks, i);
            call_start(&calls[i], &requests[i]);
        } else if (i % 3 == 1)
            OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]));
        else
            OK(MPI_Isend(&out[i - 1], 1, MPI_INT, right, i - 1, MPI_COMM_WORLD, &requests[i]));
    }
    /* i = 7 has no receive; those of 1 and 4 are sent by 2 and 5 */
}

static void finish(int time)
{
    int left = (me + ranks - 1) % ranks;

    for (int i = 0; i < N; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL, "request %d is there", i);
        if (i % 3 == 0) {
            call_check(&calls[i]);
            call_free(&calls[i]);
        } else if (i == 1 || i == 4)
            CHECK(in[i] == value(left, i + time), "message %d is %d", i, in[i]);
    }
}

PROGRAM(requests_mixed, "lists of calls and messages, ended by each of MPI's waits and tests")
{
    MPI_Status statuses[N];

    for (int time = 0; time < 18; time++) {
        int which[N], count = 0, ended = 0, index, flag = 0;

        start(time);
        switch (time % 6) {
        case 0:
            OK(MPI_Waitall(N, requests, statuses));
            CHECK(statuses[1].MPI_SOURCE == (me + ranks - 1) % ranks && statuses[1].MPI_TAG == 1,
                  "status of a message");
            break;
        case 1:
            while (!flag)
                OK(MPI_Testall(N, requests, &flag, time % 2 ? MPI_STATUSES_IGNORE : statuses));
            break;
        case 2:
            while (OK(MPI_Waitany(N, requests, &index, statuses)) && index != MPI_UNDEFINED) {
                CHECK(requests[index] == MPI_REQUEST_NULL, "request %d has ended, and is there",
                      index);
                ended++;
            }
            CHECK(ended == N - 1, "%d requests ended", ended);
            break;
        case 3:
            while (OK(MPI_Testany(N, requests, &index, &flag, statuses)) &&
                   !(flag && index == MPI_UNDEFINED))
                ended += flag;
            CHECK(ended == N - 1, "%d requests ended", ended);
            break;
        case 4:
            while (OK(MPI_Waitsome(N, requests, &count, which, statuses)) && count != MPI_UNDEFINED)
                ended += count;
            CHECK(ended == N - 1, "%d requests ended", ended);
            break;
        default:
            while (OK(MPI_Testsome(N, requests, &count, which, MPI_STATUSES_IGNORE)) &&
                   count != MPI_UNDEFINED)
                ended += count;
            CHECK(ended == N - 1, "%d requests ended", ended);
        }
        finish(time);
    }
}
