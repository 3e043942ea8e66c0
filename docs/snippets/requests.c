/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: requests, and waiting for them. See snippets.h. */
#include "snippets.h"
#include <poll.h>
#include <sched.h>

static void requests(ncoll_context *ctx, ncoll_group *group)
{
    int64_t in = 1, out = 0;
    int steps = 0, status;

    /* [ncoll_allreduce, ncoll_wait, ncoll_progress] Work goes on while an allreduce does: */
    ncoll_request *request;
    status = ncoll_allreduce_start(group, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request);
    while (status == NCOLL_OK && steps++ < 100)
        status = ncoll_progress(ctx); /* and a piece of the work */
    if (status == NCOLL_OK)
        status = ncoll_wait(&request, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out == RANKS);
}

static void event_loop(ncoll_context *ctx, ncoll_group *group)
{
    ncoll_request *request = NULL;
    int fd = -1;

    int status = ncoll_barrier_start(group, &request);
    /* [ncoll_context_fd] Sleep in poll() until a request is done: */
    if (status == NCOLL_OK)
        status = ncoll_context_fd(ctx, &fd);
    while (status == NCOLL_OK && (status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
        struct pollfd pollfd = {.fd = fd, .events = POLLIN}; /* and others */
        status = ncoll_context_arm(ctx);
        if (status == NCOLL_OK)
            poll(&pollfd, 1, -1);
        else if (status == NCOLL_TIMEOUT) /* there is something to do */
            status = NCOLL_OK;
    }
    /* [] */
    EXPECT(status == NCOLL_OK && request == NULL);
}

static void several(ncoll_group *group)
{
    int64_t in[3] = {1, 2, 3}, out[3] = {0};
    int seen = 0, status = NCOLL_OK;

    /* [ncoll_wait_any] Three allreduces, each result as soon as it is there: */
    ncoll_request *requests[3] = {NULL};
    size_t index;
    for (int i = 0; status == NCOLL_OK && i < 3; i++)
        status =
            ncoll_allreduce_start(group, &in[i], &out[i], 1, NCOLL_INT64, NCOLL_SUM, &requests[i]);
    while (status == NCOLL_OK) {
        status = ncoll_wait_any(requests, 3, &index, NCOLL_BLOCK);
        if (index == NCOLL_NO_INDEX)
            break;
        seen += status == NCOLL_OK && out[index] != 0; /* out[index] is there; or it has failed */
    }
    /* [] */
    EXPECT(status == NCOLL_OK && seen == 3 && out[2] == INT64_C(3) * RANKS);
}

static void persistent(ncoll_group *group)
{
    double in[COUNT], out[COUNT];
    int status;

    for (int i = 0; i < COUNT; i++)
        in[i] = i;
    /* [ncoll_start, ncoll_request_free] The same allreduce ten times: */
    ncoll_request *request;
    status = ncoll_allreduce_init(group, in, out, COUNT, NCOLL_DOUBLE, NCOLL_MAX, &request);
    for (int step = 0; status == NCOLL_OK && step < 10; step++) {
        status = ncoll_start(request);
        if (status == NCOLL_OK)
            status = ncoll_wait(&request, NCOLL_BLOCK);
    }
    if (status == NCOLL_OK)
        status = ncoll_request_free(&request);
    /* [] */
    EXPECT(status == NCOLL_OK && out[COUNT - 1] == COUNT - 1);
}

static void in_between(ncoll_group *group)
{
    int32_t vector[COUNT] = {0};

    /* [ncoll_wait] Do other work until a bcast is done. NCOLL_TIMEOUT means that it is not done yet: */
    ncoll_request *request;
    int status = ncoll_bcast_start(group, vector, COUNT, NCOLL_INT32, 0, &request);
    while (status == NCOLL_OK && (status = ncoll_test(&request)) == NCOLL_TIMEOUT)
        status = NCOLL_OK; /* and a piece of the work */
    /* [] */
    EXPECT(status == NCOLL_OK && request == NULL);
}

static void polite(ncoll_context *ctx, ncoll_group *group)
{
    /* [ncoll_progress] A loop that polls leaves its core to others when nothing moves: */
    ncoll_request *request;
    unsigned events;
    int status = ncoll_barrier_start(group, &request);
    while (status == NCOLL_OK && (status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
        status = ncoll_progress_count(ctx, &events);
        if (status == NCOLL_OK && events == 0)
            sched_yield();
    }
    /* [] */
    EXPECT(status == NCOLL_OK && request == NULL);
}

static void all_at_once(ncoll_context *ctx, ncoll_group *group)
{
    double energy = 1, sum = 0;
    float weights[COUNT];

    for (int i = 0; i < COUNT; i++)
        weights[i] = ncoll_group_rank(group) == 0 ? 2 : 0;
    /* [ncoll_wait_all] An allreduce and a bcast go on side by side: */
    ncoll_request *requests[2] = {NULL, NULL};
    size_t failed = NCOLL_NO_INDEX;
    int status =
        ncoll_allreduce_start(group, &energy, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, &requests[0]);
    if (status == NCOLL_OK)
        status = ncoll_bcast_start(group, weights, COUNT, NCOLL_FLOAT, 0, &requests[1]);
    if (status == NCOLL_OK)
        status = ncoll_wait_all(requests, 2, &failed, NCOLL_BLOCK);
    if (failed != NCOLL_NO_INDEX)
        fprintf(stderr, "request %zu: %s\n", failed, ncoll_last_error(ctx)->text);
    /* [] */
    EXPECT(status == NCOLL_OK && sum == RANKS && weights[COUNT - 1] == 2);
}

static void some_at_a_time(ncoll_group *group)
{
    enum { BLOCKS = 8, LENGTH = 100 };
    double blocks[BLOCKS][LENGTH];
    double total = 0;
    int status = NCOLL_OK;

    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < LENGTH; i++)
            blocks[b][i] = b;
    /* [ncoll_wait_some] The blocks of a vector are summed up in place, and used as they become ready: */
    ncoll_request *requests[BLOCKS] = {NULL};
    size_t ready[BLOCKS], n;
    for (int b = 0; status == NCOLL_OK && b < BLOCKS; b++)
        status = ncoll_allreduce_start(group, blocks[b], blocks[b], LENGTH, NCOLL_DOUBLE, NCOLL_SUM,
                                       &requests[b]);
    while (status == NCOLL_OK) {
        status = ncoll_wait_some(requests, BLOCKS, ready, &n, NCOLL_BLOCK);
        if (status != NCOLL_OK || n == 0) /* an error; or all requests have ended */
            break;
        for (size_t i = 0; i < n; i++)
            total += blocks[ready[i]][0]; /* this block is ready */
    }
    /* [] */
    EXPECT(status == NCOLL_OK && total == RANKS * (BLOCKS - 1) * BLOCKS / 2);
}

void show_requests(ncoll_context *ctx, ncoll_group *group)
{
    requests(ctx, group);
    event_loop(ctx, group);
    several(group);
    persistent(group);
    in_between(group);
    polite(ctx, group);
    all_at_once(ctx, group);
    some_at_a_time(group);
}
