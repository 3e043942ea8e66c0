/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define TIMES 30

static int right;

/* Calls on the communicator that is being freed, and on one that is made and freed meanwhile. */
static int delete (MPI_Comm comm, int key, void *value, void *extra)
{
    MPI_Comm other;
    int one = 1, sum = 0;

    (void)key;
    (void)value;
    (void)extra;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    right += CHECK(sum == ranks, "on the communicator: %d", sum);
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    sum = 0;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other));
    right += CHECK(sum == ranks, "on another one: %d", sum);
    OK(MPI_Comm_free(&other));
    return MPI_SUCCESS;
}

/* A function that deletes an attribute makes collective calls. Its communicator's handle then stands for another
 * one. */
PROGRAM(attributes_calls, "collectives where attributes are deleted")
{
    int key, one = 1;

    right = 0;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &key, NULL));
    for (int time = 0; time < TIMES; time++) {
        MPI_Comm comm, self;
        int sum = 0;

        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
        OK(MPI_Comm_set_attr(comm, key, NULL));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
        CHECK(sum == ranks, "before: %d", sum);
        OK(MPI_Comm_dup(MPI_COMM_SELF, &self));
        OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, self));
        CHECK(sum == 1, "of one rank: %d", sum);
        OK(time % 2 ? MPI_Comm_free(&comm) : MPI_Comm_disconnect(&comm));
        OK(MPI_Comm_free(&self));
    }
    CHECK(right == 2 * TIMES, "%d calls were right", right);
    OK(MPI_Comm_free_keyval(&key));
}
