/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and their memory. Memory of finished requests is used again late, the oldest first. So
 * for a while the handle of a finished request is recognised as invalid, and does not stand for a
 * new request.
 */
#include "lib/base/error.h"
#include "lib/base/group.h"
#include "lib/base/system.h"
#include "lib/plan/plan.h"
#include "lib/run/call.h"
#include "lib/run/threshold.h"

#define IDLE_REQUESTS 16u

struct ncoll_request *ncoll__request_take(struct ncoll_group *g)
{
    struct ncoll_context *ctx = g->ctx;
    struct ncoll_request *r;

    if (ctx->n_idle > IDLE_REQUESTS) {
        r = ctx->oldest_idle;
        ctx->oldest_idle = r->next_idle;
        ctx->n_idle--;
    } else if ((r = ncoll__allocate(ctx, sizeof *r)) != NULL) {
        r->next = ctx->requests;
        ctx->requests = r;
    }
    if (r == NULL)
        ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a request");
    else
        *r = (struct ncoll_request){.group = g, .call.users = true, .next = r->next};
    return r;
}

void ncoll__request_give(struct ncoll_request *r)
{
    struct ncoll_context *ctx = r->group->ctx;

    r->magic = 0;
    r->next_idle = NULL;
    if (ctx->n_idle++ == 0)
        ctx->oldest_idle = r;
    else
        ctx->latest_idle->next_idle = r;
    ctx->latest_idle = r;
}

void ncoll__request_drop(struct ncoll_request *r)
{
    if (r->known.plan != NULL)
        ncoll__plan_leave(r->group, r->known.plan);
    ncoll__threshold_leave(r->group, r->known.args.made);
    r->known.args.made = NULL;
    ncoll__release(r->group->ctx, r->arrays);
    r->known.plan = NULL;
    r->arrays = NULL;
    ncoll__request_give(r);
}
