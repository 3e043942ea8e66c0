/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: requests, and waiting for them. See snippets.h. */
#include "snippets.h"
#include <poll.h>

static void requests(ncoll_context *ctx, ncoll_group *group)
{
    int64_t in = 1, out = 0;
    int steps = 0, status;

    /* [ncoll_wait, ncoll_progress, ncoll_allreduce] Work goes on while an allreduce does: */
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

    /* [ncoll_wait_any, ncoll_wait_all, ncoll_wait_some] Three allreduces, each result as soon as it is
     * there: */
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

void show_requests(ncoll_context *ctx, ncoll_group *group)
{
    requests(ctx, group);
    event_loop(ctx, group);
    several(group);
    persistent(group);
}
