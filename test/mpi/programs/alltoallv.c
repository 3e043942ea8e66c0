/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#define GAP 1

static int length(int from, int to, int scale)
{
    return (from * 3 + to * 5) % 4 * scale + (from == to ? 1 : 0);
}

static void exchange(MPI_Comm comm, int rank, int size, int scale)
{
    int *number[4], send_total = 0, receive_total = 0, *in, *out;

    for (int i = 0; i < 4; i++)
        number[i] = take((size_t)size * sizeof(int));
    for (int r = 0; r < size; r++) {
        number[0][r] = length(rank, r, scale);
        number[1][r] = send_total;
        send_total += number[0][r];
    }
    for (int r = size - 1; r >= 0; r--) {
        number[2][r] = length(r, rank, scale);
        number[3][r] = receive_total;
        receive_total += number[2][r] + GAP;
    }
    in = take((size_t)send_total * sizeof *in);
    out = take((size_t)receive_total * sizeof *out);
    memset(out, 0xff, (size_t)receive_total * sizeof *out);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < number[0][r]; i++)
            in[number[1][r] + i] = value(rank * 64 + r, i);
    OK(MPI_Alltoallv(in, number[0], number[1], MPI_INT, out, number[2], number[3], MPI_INT, comm));
    for (int r = 0; r < size; r++) {
        CHECK_EACH(i, number[2][r], out + number[3][r], value(r * 64 + rank, i),
                   "block of %d, scale %d", r, scale);
        CHECK_EACH(i, GAP, out + number[3][r] + number[2][r], -1, "the gap past block %d", r);
    }
    give(in);
    give(out);
    for (int i = 0; i < 4; i++)
        give(number[i]);
}

static void scales(MPI_Comm comm, int rank, int size)
{
    exchange(comm, rank, size, 0);
    exchange(comm, rank, size, 1);
    exchange(comm, rank, size, 700);
}

PROGRAM(alltoallv, "another length for each pair, some of them zero")
{
    each_comm(scales);
}
