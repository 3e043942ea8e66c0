/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures the time that an MPI program is in collectives, to be preloaded before the drop-in, or
 * alone: LD_PRELOAD="libcollective-time.so libncoll-mpi-openmpi.so". It hands each call on to whoever
 * comes next, the drop-in or MPI, so both are measured in the same way, and it makes none of its own.
 *
 * In MPI_Finalize() each rank writes what it has counted to $COLLECTIVE_TIME.RANK, a line for each
 * function: its name, calls, seconds. Of non-blocking collectives that is the call that starts them,
 * not the wait. "MPI_Init" is the time in it, "program" that from its end to MPI_Finalize().
 * Persistent collectives are not measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "interop/mpi/mpi_api.h"
#include "interop/mpi/parameters.h"

/* Calls that make and free communicators, which the drop-in has work in. */
#define COMMUNICATORS(X)                                                                           \
    X(Comm_free, (MPI_Comm * comm), (comm))                                                        \
    X(Comm_dup, (MPI_Comm comm, MPI_Comm * out), (comm, out))                                      \
    X(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * out), (comm, group, out))           \
    X(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out),                 \
      (comm, group, tag, out))                                                                     \
    X(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out))     \
    X(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *out),           \
      (comm, type, key, info, out))                                                                \
    X(Cart_create,                                                                                 \
      (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm *out),   \
      (comm, n, dims, periods, reorder, out))                                                      \
    X(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *out), (comm, remain, out))

enum function {
#define BLOCKING(Name, name)    FUNCTION_##Name,
#define NONBLOCKING(Name, name) FUNCTION_I##name,
#define COMMUNICATOR(Name, ...) FUNCTION_##Name,
    COLLECTIVES(BLOCKING) COLLECTIVES(NONBLOCKING) COMMUNICATORS(COMMUNICATOR) FUNCTIONS
#undef BLOCKING
#undef NONBLOCKING
#undef COMMUNICATOR
};

static const char *const names[FUNCTIONS] = {
#define BLOCKING(Name, name)    "MPI_" #Name,
#define NONBLOCKING(Name, name) "MPI_I" #name,
#define COMMUNICATOR(Name, ...) "MPI_" #Name,
    COLLECTIVES(BLOCKING) COLLECTIVES(NONBLOCKING) COMMUNICATORS(COMMUNICATOR)
#undef BLOCKING
#undef NONBLOCKING
#undef COMMUNICATOR
};

static struct {
    unsigned long calls;
    double seconds;
} totals[FUNCTIONS];
static double begun, initialised;
/* A call that another one makes belongs to that one. */
static _Thread_local int depth;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Threads may lose a count now and then; the programs that are measured call from one thread. */
#define MEASURE(function, call)                                                                    \
    if (depth > 0)                                                                                 \
        return call;                                                                               \
    depth++;                                                                                       \
    double start = now();                                                                          \
    int rc = call;                                                                                 \
    totals[function].seconds += now() - start;                                                     \
    totals[function].calls++;                                                                      \
    depth--;                                                                                       \
    return rc;

#define BLOCKING(Name, name)                                                                       \
    INTERPOSE(Name, PARAMETERS_##Name(int, int))                                                   \
    {                                                                                              \
        MEASURE(FUNCTION_##Name, real.Name(ARGUMENTS_##Name))                                      \
    }
COLLECTIVES(BLOCKING)

#define NONBLOCKING(Name, name)                                                                    \
    INTERPOSE(I##name, PARAMETERS_##Name(int, int), MPI_Request *request)                          \
    {                                                                                              \
        MEASURE(FUNCTION_I##name, real.I##name(ARGUMENTS_##Name, request))                         \
    }
COLLECTIVES(NONBLOCKING)

#define EXPAND(...) __VA_ARGS__
#define COMMUNICATOR(Name, parameters, arguments)                                                  \
    INTERPOSE(Name, EXPAND parameters)                                                             \
    {                                                                                              \
        MEASURE(FUNCTION_##Name, real.Name arguments)                                              \
    }
COMMUNICATORS(COMMUNICATOR)

INTERPOSE(Init, int *argc, char ***argv)
{
    depth++;
    begun = now();
    int rc = real.Init(argc, argv);
    initialised = now();
    depth--;
    return rc;
}

INTERPOSE(Init_thread, int *argc, char ***argv, int required, int *provided)
{
    depth++;
    begun = now();
    int rc = real.Init_thread(argc, argv, required, provided);
    initialised = now();
    depth--;
    return rc;
}

static void write_totals(void)
{
    const char *prefix = getenv("COLLECTIVE_TIME");
    char path[4096];
    int rank;

    if (prefix == NULL)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", prefix, rank);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        fprintf(stderr, "collective_time: COLLECTIVE_TIME: cannot write %s\n", path);
        return;
    }
    fprintf(out, "MPI_Init 1 %.9f\nprogram 1 %.9f\n", initialised - begun, now() - initialised);
    for (int i = 0; i < FUNCTIONS; i++)
        if (totals[i].calls > 0)
            fprintf(out, "%s %lu %.9f\n", names[i], totals[i].calls, totals[i].seconds);
    fclose(out);
}

INTERPOSE(Finalize, void)
{
    write_totals();
    depth++;
    return real.Finalize();
}
