/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the drop-in adds to a call, in nanoseconds: to one that it serves, beside the same call of
 * ncoll, and to one that it leaves to MPI, beside MPI's own. On one rank, so that nobody waits. The
 * two are measured in turns, and the figure is the median of the differences.
 *
 *     NCOLL_MPI=scan LD_PRELOAD=.. mpirun -n 1 cost [LIMIT_SERVED LIMIT_LEFT]
 *
 * With limits it fails if a figure is above its limit.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>

#include "ncoll.h"

#define TURNS 2001
#define CALLS 200

static ncoll_group *group;
static double in = 1, out;
static char buffer[64];
static int (*mpi_scan)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
static int (*mpi_wait)(MPI_Request *, MPI_Status *);

static void served_barrier(void)
{
    MPI_Barrier(MPI_COMM_SELF);
}

static void own_barrier(void)
{
    ncoll_barrier(group, NCOLL_BLOCK);
}

static void served_allreduce(void)
{
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void own_allreduce(void)
{
    ncoll_allreduce(group, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
}

static void served_bcast(void)
{
    MPI_Bcast(buffer, 8, MPI_DOUBLE, 0, MPI_COMM_SELF);
}

static void own_bcast(void)
{
    ncoll_bcast(group, buffer, 64, NCOLL_UINT8, 0, NCOLL_BLOCK);
}

static void served_allgather(void)
{
    MPI_Allgather(&in, 1, MPI_DOUBLE, &out, 1, MPI_DOUBLE, MPI_COMM_SELF);
}

static void own_allgather(void)
{
    ncoll_allgather(group, &in, &out, 8, NCOLL_UINT8, NCOLL_BLOCK);
}

static void left_scan(void)
{
    MPI_Scan(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void mpis_scan(void)
{
    mpi_scan(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void left_wait(void)
{
    MPI_Request none = MPI_REQUEST_NULL;

    MPI_Wait(&none, MPI_STATUS_IGNORE);
}

static void mpis_wait(void)
{
    MPI_Request none = MPI_REQUEST_NULL;

    mpi_wait(&none, MPI_STATUS_IGNORE);
}

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_of(void (*call)(void))
{
    double begin = now_ns();

    for (int i = 0; i < CALLS; i++)
        call();
    return (now_ns() - begin) / CALLS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, TURNS, sizeof *values, by_value);
    return values[TURNS / 2];
}

/* Returns true if the difference is within the limit; a limit of 0 is none. */
static bool compare(const char *what, void (*through)(void), void (*own)(void), double limit)
{
    static double a[TURNS], b[TURNS], difference[TURNS];

    for (int i = 0; i < TURNS; i++) {
        a[i] = time_of(through);
        b[i] = time_of(own);
        difference[i] = a[i] - b[i];
    }
    double more = median(difference);
    printf("%-20s %7.1f ns, by itself %7.1f ns, added %6.1f ns\n", what, median(a), median(b),
           more);
    return limit == 0 || more <= limit;
}

/* MPI's own function, past the drop-in. */
static void find(const char *name, void *place)
{
    static const char *const libraries[] = {"libmpi.so.40", "libmpich.so.12"};
    void *function = NULL;

    for (int i = 0; i < 2 && function == NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL)
            function = dlsym(library, name);
    }
    if (function == NULL) {
        fprintf(stderr, "cost: no %s in MPI's library\n", name);
        exit(EXIT_FAILURE);
    }
    memcpy(place, &function, sizeof function);
}

int main(int argc, char **argv)
{
    double served = argc > 2 ? atof(argv[1]) : 0, left = argc > 2 ? atof(argv[2]) : 0;
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    MPI_Init(NULL, NULL);
    find("PMPI_Scan", &mpi_scan);
    find("PMPI_Wait", &mpi_wait);
    ncoll_params_init(&params, sizeof params);
    params.bootstrap = NCOLL_BOOTSTRAP_SELF;
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "cost: %s\n", error.text);
        return EXIT_FAILURE;
    }
    group = ncoll_world(ctx);
    bool good = compare("barrier, served", served_barrier, own_barrier, served);
    good &= compare("allreduce, served", served_allreduce, own_allreduce, served);
    good &= compare("bcast, served", served_bcast, own_bcast, served);
    good &= compare("allgather, served", served_allgather, own_allgather, served);
    good &= compare("scan, left to MPI", left_scan, mpis_scan, left);
    good &= compare("wait, left to MPI", left_wait, mpis_wait, left);
    ncoll_context_destroy(ctx);
    MPI_Finalize();
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
