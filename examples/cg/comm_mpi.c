/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the same collectives on the same buffers through MPI, with its blocking calls, which are
 * the fastest.
 */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "mpi_board.h"
#include "support.h"
#include "cg.h"

struct state {
    const struct halo *halo;
    int *send_counts, *send_displs, *recv_counts, *recv_displs;
};

static int open_mpi(struct problem *p, void **out)
{
    const struct halo *h = &p->halo;
    size_t ranks = (size_t)p->ranks;

    if (h->n_send > INT_MAX || h->n_recv > INT_MAX)
        return failure_say(NCOLL_ERR_UNSUPPORTED, "MPI takes no more than 2^31 - 1 elements");
    struct state *s = calloc(1, sizeof *s);
    int *numbers = calloc(4 * ranks, sizeof *numbers);
    if (s == NULL || numbers == NULL) {
        free(numbers);
        free(s);
        return failure_no_memory();
    }
    *s = (struct state){h, numbers, numbers + ranks, numbers + 2 * ranks, numbers + 3 * ranks};
    for (size_t r = 0; r < ranks; r++) {
        s->send_counts[r] = (int)h->send_counts[r];
        s->send_displs[r] = (int)h->send_displs[r];
        s->recv_counts[r] = (int)h->recv_counts[r];
        s->recv_displs[r] = (int)h->recv_displs[r];
    }
    *out = s;
    return NCOLL_OK;
}

static int barrier_mpi(void *state)
{
    (void)state;
    return mpi_said(MPI_Barrier(MPI_COMM_WORLD));
}

static int sum_mpi(void *state, double *values, size_t count)
{
    (void)state;
    return mpi_said(
        MPI_Allreduce(MPI_IN_PLACE, values, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
}

static int exchange_mpi(void *state)
{
    const struct state *s = state;

    return mpi_said(MPI_Alltoallv(s->halo->send, s->send_counts, s->send_displs, MPI_DOUBLE,
                                  s->halo->recv, s->recv_counts, s->recv_displs, MPI_DOUBLE,
                                  MPI_COMM_WORLD));
}

static void close_mpi(void *state)
{
    struct state *s = state;

    free(s->send_counts);
    free(s);
}

const struct comm comm_mpi = {
    .open = open_mpi,
    .barrier = barrier_mpi,
    .sum = sum_mpi,
    .exchange = exchange_mpi,
    .close = close_mpi,
};
