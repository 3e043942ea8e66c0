/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators: the time that one takes which is made, used for an allreduce and freed, again and
 * again, and the time of one that is made and used while others of the same ranks are there.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

#define TURNS 101
#define KEPT  24

static int me, ranks;

static MPI_Comm make_and_use(void)
{
    MPI_Comm comm;
    int one = 1, sum = 0;

    MPI_Comm_split(MPI_COMM_WORLD, 0, me, &comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (sum != ranks) {
        fprintf(stderr, "communicators: rank %d has a sum of %d\n", me, sum);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return comm;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print_median(const char *what, double *us, int n)
{
    qsort(us, (size_t)n, sizeof *us, by_value);
    if (me == 0)
        printf("%-28s %8.1f us on %d ranks\n", what, us[n / 2], ranks);
}

int main(int argc, char **argv)
{
    double again[TURNS], first[KEPT];
    MPI_Comm kept[KEPT];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < TURNS; i++) {
        double begin = MPI_Wtime();
        MPI_Comm comm = make_and_use();
        MPI_Comm_free(&comm);
        again[i] = 1e6 * (MPI_Wtime() - begin);
    }
    for (int i = 0; i < KEPT; i++) {
        double begin = MPI_Wtime();
        kept[i] = make_and_use();
        first[i] = 1e6 * (MPI_Wtime() - begin);
    }
    print_median("made, used and freed", again, TURNS);
    print_median("made and used, all kept", first, KEPT);
    for (int i = 0; i < KEPT; i++)
        MPI_Comm_free(&kept[i]);
    return MPI_Finalize();
}
