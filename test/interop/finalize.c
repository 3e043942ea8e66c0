/* SPDX-License-Identifier: BSD-3-Clause */
/* A program whose only collectives are made while MPI_Finalize() deletes the attributes of MPI_COMM_SELF: the report has
 * to count them. */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

static int delete_it(MPI_Comm comm, int key, void *value, void *extra)
{
    int one = 1, sum = 0, ranks;

    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum == ranks)
        return MPI_SUCCESS;
    fprintf(stderr, "finalize: the sum is %d\n", sum);
    exit(EXIT_FAILURE);
}

int main(void)
{
    int key;

    MPI_Init(NULL, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_it, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
