/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define N 1000

/* The root has ints, one behind the other, and the others receive a column: a rank that looks at its own type alone
 * cannot tell what the others have. Short, long, and with the parts exchanged. */
static void sides(MPI_Comm comm, int rank, int size)
{
    for (int n = 4; n <= N; n += N - 4)
        for (int root = 0; root < size; root++)
            for (int swap = 0; swap < 2; swap++) {
                bool plain = (rank == root) != (swap == 1);
                MPI_Datatype column;
                int *room = take((size_t)n * 2 * sizeof *room), step = plain ? 1 : 2;

                OK(MPI_Type_vector(n, 1, 2, MPI_INT, &column));
                OK(MPI_Type_commit(&column));
                memset(room, 0xff, (size_t)n * 2 * sizeof *room);
                for (int i = 0; i < n && rank == root; i++)
                    room[i * step] = value(root, i);
                OK(MPI_Bcast(room, plain ? n : 1, plain ? MPI_INT : column, root, comm));
                for (int i = 0; i < n; i++)
                    if (!CHECK(room[i * step] == value(root, i), "%d ints from %d: element %d", n,
                               root, i))
                        break;
                for (int i = 1; i < 2 * n && !plain; i += 2)
                    if (!CHECK(room[i] == -1, "%d ints from %d: the gap past element %d", n, root,
                               i / 2))
                        break;
                OK(MPI_Type_free(&column));
                give(room);
            }
}

PROGRAM(derived_root_ints,
        "the root sends ints, the others receive a column; and the other way round")
{
    each_comm(sides);
}
