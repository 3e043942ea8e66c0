/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "support.h"
#include "cg.h"

struct state {
    struct problem *problem;
    ncoll_request *exchange; /* persistent */
};

static int open_ncoll(struct problem *p, void **out)
{
    const struct halo *h = &p->halo;
    struct state *s = calloc(1, sizeof *s);

    if (s == NULL)
        return failure_no_memory();
    s->problem = p;
    int status = ncoll_alltoallv_init(p->world, h->send, h->send_counts, h->send_displs, h->recv,
                                      h->recv_counts, h->recv_displs, NCOLL_DOUBLE, &s->exchange);
    if (status != NCOLL_OK) {
        free(s);
        return failure_of_call(p->ctx, status);
    }
    *out = s;
    return NCOLL_OK;
}

static int barrier_ncoll(void *state)
{
    const struct state *s = state;

    return failure_of_call(s->problem->ctx, ncoll_barrier(s->problem->world, NCOLL_BLOCK));
}

static int sum_ncoll(void *state, double *values, size_t count)
{
    const struct state *s = state;

    return failure_of_call(s->problem->ctx,
                           ncoll_allreduce(s->problem->world, values, values, count, NCOLL_DOUBLE,
                                           NCOLL_SUM, NCOLL_BLOCK));
}

static int exchange_ncoll(void *state)
{
    struct state *s = state;
    int status = ncoll_start(s->exchange);

    if (status == NCOLL_OK)
        status = ncoll_wait(&s->exchange, NCOLL_BLOCK);
    return failure_of_call(s->problem->ctx, status);
}

static void close_ncoll(void *state)
{
    struct state *s = state;

    ncoll_request_free(&s->exchange);
    free(s);
}

const struct comm comm_ncoll = {
    .open = open_ncoll,
    .barrier = barrier_ncoll,
    .sum = sum_ncoll,
    .exchange = exchange_ncoll,
    .close = close_ncoll,
};
