/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

/* Even ranks send doubles and odd ones ints; the displacements are bytes. */
static void exchange(MPI_Comm comm, int rank, int size)
{
    int n = size, *sent = take((size_t)n * sizeof(int)), *send_at = take((size_t)n * sizeof(int));
    int *received = take((size_t)n * sizeof(int)), *receive_at = take((size_t)n * sizeof(int));
    MPI_Datatype *send_types = malloc((size_t)n * sizeof *send_types),
                 *receive_types = malloc((size_t)n * sizeof *send_types);
    char *in = take((size_t)n * 64), *out = take((size_t)n * 64);

    for (int r = 0; r < size; r++) {
        sent[r] = 1 + (rank + r) % 3;
        received[r] = 1 + (rank + r) % 3;
        send_at[r] = receive_at[r] = r * 64;
        send_types[r] = rank % 2 ? MPI_INT : MPI_DOUBLE;
        receive_types[r] = r % 2 ? MPI_INT : MPI_DOUBLE;
        for (int i = 0; i < sent[r]; i++)
            if (rank % 2)
                ((int *)(in + r * 64))[i] = value(rank + r, i);
            else
                ((double *)(in + r * 64))[i] = value(rank + r, i);
    }
    OK(MPI_Alltoallw(in, sent, send_at, send_types, out, received, receive_at, receive_types,
                     comm));
    for (int r = 0; r < size; r++)
        if (r % 2)
            CHECK_EACH(i, received[r], (int *)(out + r * 64), value(rank + r, i), "ints of %d", r);
        else
            CHECK_EACH(i, received[r], (double *)(out + r * 64), value(rank + r, i),
                       "doubles of %d", r);
    give(in);
    give(out);
    give(sent);
    give(send_at);
    give(received);
    give(receive_at);
    free(send_types);
    free(receive_types);
}

PROGRAM(alltoallw, "a type for each pair")
{
    each_comm(exchange);
}
