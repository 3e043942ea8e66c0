/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

static void all_roots(MPI_Comm comm, int rank, int size)
{
    for (int root = 0; root < size; root++)
        for (const int *count = counts; *count >= 0; count++) {
            int *data = take((size_t)*count * sizeof *data);

            for (int i = 0; i < *count && rank == root; i++)
                data[i] = value(root, i);
            OK(MPI_Bcast(data, *count, MPI_INT, root, comm));
            CHECK_EACH(i, *count, data, value(root, i), "bcast of %d from %d", *count, root);
            give(data);
        }
}

PROGRAM(bcast, "every root, several counts")
{
    each_comm(all_roots);
}
