/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes calls for a debugger to see their probes: see ./probes. Prints how many of each kind. */
#include <stdio.h>

#include "ncoll.h"

enum { TIMES = 3 };

static int made[NCOLL_CALL_GROUP_FREE + 1];

static int calls(ncoll_group *g)
{
    int64_t in = 1, out = 0;
    size_t count = 1;
    ncoll_request *request = NULL;
    int rc = NCOLL_OK;

    for (int i = 0; i < TIMES && rc == NCOLL_OK; i++) {
        rc = ncoll_barrier(g, NCOLL_BLOCK);
        made[NCOLL_CALL_BARRIER]++;
        for (int k = 0; k < 2 && rc == NCOLL_OK; k++, made[NCOLL_CALL_ALLREDUCE]++)
            rc = ncoll_allreduce(g, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
        if (rc == NCOLL_OK)
            rc = ncoll_bcast_start(g, &in, 1, NCOLL_INT64, 0, &request);
        if (rc == NCOLL_OK)
            rc = ncoll_wait(&request, NCOLL_BLOCK);
        made[NCOLL_CALL_BCAST]++;
        if (rc == NCOLL_OK)
            rc =
                ncoll_alltoallv(g, &in, &count, NULL, &out, &count, NULL, NCOLL_INT64, NCOLL_BLOCK);
        made[NCOLL_CALL_ALLTOALL]++;
    }
    if (rc == NCOLL_OK)
        rc = ncoll_scan_init(g, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request);
    for (int i = 0; i < TIMES && rc == NCOLL_OK; i++, made[NCOLL_CALL_SCAN]++) {
        rc = ncoll_start(request);
        if (rc == NCOLL_OK)
            rc = ncoll_wait(&request, NCOLL_BLOCK);
    }
    return rc;
}

int main(void)
{
    ncoll_context *ctx;

    if (ncoll_context_create(NULL, &ctx, NULL) != NCOLL_OK)
        return 1;
    int rc = calls(ncoll_world(ctx));
    if (rc == NCOLL_OK) { /* a call that does not begin has no probe */
        int64_t in = 1, out = 0;
        rc = ncoll_allreduce(ncoll_world(ctx), &in, &out, 1, NCOLL_INT64, 999, NCOLL_BLOCK) ==
                     NCOLL_ERR_ARGUMENT
                 ? NCOLL_OK
                 : NCOLL_ERR_INTERNAL;
    }
    ncoll_context_destroy(ctx);
    for (int kind = 0; kind <= NCOLL_CALL_GROUP_FREE; kind++)
        if (made[kind] > 0)
            printf("made %d %d\n", kind, made[kind]);
    return rc != NCOLL_OK;
}
