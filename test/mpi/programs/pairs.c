/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stddef.h>

#define N 23

/* MPI_MAXLOC and MPI_MINLOC: of equal values the one with the lower index; the pairs have holes. */
#define PAIR(c, mpi)                                                                               \
    {                                                                                              \
        struct {                                                                                   \
            c value;                                                                               \
            int index;                                                                             \
        } in[N], most[N], least[N];                                                                \
        for (int i = 0; i < N; i++) {                                                              \
            in[i].value = (c)(value(me, i) % 4);                                                   \
            in[i].index = 1000 - me;                                                               \
        }                                                                                          \
        OK(MPI_Allreduce(in, most, N, mpi, MPI_MAXLOC, MPI_COMM_WORLD));                           \
        OK(MPI_Allreduce(in, least, N, mpi, MPI_MINLOC, MPI_COMM_WORLD));                          \
        for (int i = 0; i < N; i++) {                                                              \
            int top = find(i, 1), low = find(i, -1);                                               \
            CHECK((int)most[i].value == value(top, i) % 4 && most[i].index == 1000 - top,          \
                  "maximum of " #mpi);                                                             \
            CHECK((int)least[i].value == value(low, i) % 4 && least[i].index == 1000 - low,        \
                  "minimum of " #mpi);                                                             \
        }                                                                                          \
    }

/* The rank with the extreme value, and of several the last one, whose index is the lowest. */
static int find(int i, int sign)
{
    int best = 0;

    for (int r = 1; r < ranks; r++)
        if (sign * (value(r, i) % 4) >= sign * (value(best, i) % 4))
            best = r;
    return best;
}

static void fortran_pairs(void)
{
    float in[2 * N], out[2 * N];

    for (int i = 0; i < N; i++) {
        in[2 * i] = (float)(value(me, i) % 4);
        in[2 * i + 1] = (float)(1000 - me);
    }
    if (MPI_2REAL == MPI_DATATYPE_NULL)
        return;
    OK(MPI_Allreduce(in, out, N, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        CHECK((int)out[2 * i] == value(find(i, 1), i) % 4 &&
                  (int)out[2 * i + 1] == 1000 - find(i, 1),
              "MPI_2REAL");
}

PROGRAM(pairs, "MPI_MAXLOC and MPI_MINLOC of all pairs")
{
    PAIR(float, MPI_FLOAT_INT)
    PAIR(double, MPI_DOUBLE_INT)
    PAIR(long, MPI_LONG_INT)
    PAIR(int, MPI_2INT)
    PAIR(short, MPI_SHORT_INT)
    PAIR(long double, MPI_LONG_DOUBLE_INT)
    fortran_pairs();
}
