/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times the life of a job of many ranks on this machine: they are forked, create their contexts,
 * make some barriers, and end.
 *
 *     measure-start [RANKS [fork|tcp [BARRIERS [SECONDS [mesh]]]]]
 *
 * It prints when the last rank had its context, had made the barriers, and was gone, and the
 * processor time of all. With `mesh` each rank then connects to all others, for an alltoall of 8
 * bytes without hops; it prints how many connections a second that were. It fails if a rank fails,
 * or if all of it takes more than SECONDS (0: any time).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "ncoll.h"
#include "test/support/port.h"

/* Shared by all ranks: the times at which the last of them had come so far. */
struct times {
    _Atomic uint64_t created_ns, called_ns, connected_ns;
    int barriers;
    bool mesh;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void note(_Atomic uint64_t *latest)
{
    uint64_t now = now_ns(), before = atomic_load(latest);

    while (before < now && !atomic_compare_exchange_weak(latest, &before, now))
        ;
}

/* An alltoall of 8 bytes, in which each rank sends to each other one itself. */
static int connect_all(ncoll_group *world, int ranks)
{
    uint64_t *out = calloc((size_t)ranks * 2, sizeof *out);

    if (out == NULL)
        return NCOLL_ERR_MEMORY;
    int rc = ncoll_alltoall(world, out, out + ranks, 1, NCOLL_UINT64, NCOLL_BLOCK);
    free(out);
    return rc;
}

static int rank_main(const ncoll_params *params, void *arg)
{
    struct times *times = arg;
    ncoll_context *ctx;
    ncoll_error error;
    int rc = NCOLL_OK;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "rank %d: %s\n", params->rank, error.cause);
        return 1;
    }
    note(&times->created_ns);
    for (int i = 0; i < times->barriers && rc == NCOLL_OK; i++)
        rc = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    note(&times->called_ns);
    if (times->mesh && rc == NCOLL_OK)
        rc = connect_all(ncoll_world(ctx), params->ranks);
    note(&times->connected_ns);
    if (rc != NCOLL_OK)
        fprintf(stderr, "rank %d: %s\n", params->rank, ncoll_last_error(ctx)->cause);
    ncoll_context_destroy(ctx);
    return rc == NCOLL_OK ? 0 : 1;
}

static double cpu_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 500;
    const char *bootstrap = argc > 2 ? argv[2] : "fork";
    double most_s = argc > 4 ? atof(argv[4]) : 0;
    struct times *times =
        mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ncoll_params params;
    char root[32];

    if (times == MAP_FAILED)
        return EXIT_FAILURE;
    times->barriers = argc > 3 ? atoi(argv[3]) : 100;
    times->mesh = argc > 5 && strcmp(argv[5], "mesh") == 0;
    ncoll_params_init(&params, sizeof params);
    params.alltoall_algorithm = times->mesh ? "direct" : NULL;
    if (strcmp(bootstrap, "tcp") == 0) {
        snprintf(root, sizeof root, "127.0.0.1:%d", free_port());
        params.bootstrap = NCOLL_BOOTSTRAP_TCP;
        params.root = root;
    }
    uint64_t start = now_ns();
    int rc = ncoll_fork_ranks(ranks, &params, rank_main, times, NULL);
    double s = (double)(now_ns() - start) / 1e9;
    printf("%d ranks over %s: created %.2f s, %d barriers %.2f s, gone %.2f s; all %.2f s, "
           "processor time %.2f s\n",
           ranks, bootstrap, (double)(times->created_ns - start) / 1e9, times->barriers,
           (double)(times->called_ns - times->created_ns) / 1e9,
           s - (double)(times->connected_ns - start) / 1e9, s, cpu_s());
    if (times->mesh) {
        double connect_s = (double)(times->connected_ns - times->called_ns) / 1e9;
        int connections = ranks * (ranks - 1) / 2;
        printf("%d connections in %.2f s: %.0f a second\n", connections, connect_s,
               connections / connect_s);
    }
    if (most_s > 0 && s > most_s) {
        fprintf(stderr, "that is more than %g s\n", most_s);
        return EXIT_FAILURE;
    }
    return rc == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
