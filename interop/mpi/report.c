/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the report that NCOLL_MPI_REPORT asks for: how many calls were accelerated, and why the
 * others were not. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interop/mpi/dropin.h"

uint64_t counters[COLLECTIVE_COUNT][REASON_COUNT];

static const char *const reasons[REASON_COUNT] = {
#define TEXT(name, text) text,
    REASONS(TEXT)
#undef TEXT
};

typedef uint64_t table[COLLECTIVE_COUNT][REASON_COUNT];

static uint64_t sum_of(const uint64_t *row)
{
    uint64_t sum = 0;

    for (int r = 0; r < REASON_COUNT; r++)
        sum += row[r];
    return sum;
}

static void print(FILE *out, table t, const uint64_t contexts[2], int ranks)
{
    uint64_t served = 0, all = 0;

    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        served += t[i][SERVED];
        all += sum_of(t[i]);
    }
    fprintf(out,
            "ncoll: accelerated %" PRIu64 " of %" PRIu64 " calls of MPI's collectives (%d %s)\n",
            served, all, ranks, ranks == 1 ? "rank" : "ranks");
    for (int i = 0; i < COLLECTIVE_COUNT; i++) {
        if (sum_of(t[i]) == 0)
            continue;
        fprintf(out, "ncoll:   %-20s %" PRIu64 " of %" PRIu64, collective_names[i], t[i][SERVED],
                sum_of(t[i]));
        for (int r = SERVED + 1; r < REASON_COUNT; r++)
            if (t[i][r] > 0)
                fprintf(out, "; %" PRIu64 ": %s", t[i][r], reasons[r]);
        fputc('\n', out);
    }
    fprintf(out,
            "ncoll:   contexts of communicators: %" PRIu64 " made, %" PRIu64
            " taken over from freed ones\n",
            contexts[0], contexts[1]);
}

/* Rank 0 prints the sums over all ranks. */
void report(void)
{
    const char *where = getenv("NCOLL_MPI_REPORT");
    int rank, ranks, wanted;
    const uint64_t own[2] = {contexts_made, contexts_taken_over};
    uint64_t contexts[2];
    table sums;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wanted = rank == 0 && where != NULL && *where != '\0' && strcmp(where, "0") != 0;
    if (real.Bcast(&wanted, 1, MPI_INT, 0, MPI_COMM_WORLD) != MPI_SUCCESS || !wanted ||
        real.Reduce(counters, sums, COLLECTIVE_COUNT * REASON_COUNT, MPI_UINT64_T, MPI_SUM, 0,
                    MPI_COMM_WORLD) != MPI_SUCCESS ||
        real.Reduce(own, contexts, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD) != MPI_SUCCESS ||
        rank != 0)
        return;
    FILE *out = strcmp(where, "1") == 0 ? stderr : fopen(where, "w");
    if (out == NULL) {
        fprintf(stderr, "ncoll: NCOLL_MPI_REPORT: cannot write %s\n", where);
        out = stderr;
    }
    print(out, sums, contexts, ranks);
    if (out != stderr)
        fclose(out);
}
