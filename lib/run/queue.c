/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of a group's calls that have not ended, in the order in which they were made. */
#include <string.h>

#include "lib/base/compressor.h"
#include "lib/choose/planned.h"
#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/run/probes.h"
#include "lib/run/threshold.h"
#include "lib/run/traced.h"

/* The buffer of a barrier, so that there is no pointer arithmetic on NULL. */
static unsigned char nothing;

void ncoll__call_set_nothing(struct call *c)
{
    if (c->args.in == NULL)
        c->args.in = &nothing;
    if (c->args.out == NULL)
        c->args.out = &nothing;
}

static void now_busy(struct ncoll_group *g)
{
    g->busy = true;
    g->next_busy = g->ctx->busy;
    g->ctx->busy = g;
}

void ncoll__call_queue(struct ncoll_group *g, struct call *c)
{
    c->state = CALL_QUEUED;
    c->next = NULL;
    g->ctx->pending++;
    if (g->last != NULL)
        g->last->next = c;
    else
        g->first = c;
    g->last = c;
    if (g->starting == NULL)
        g->starting = c;
    if (__builtin_expect(!g->busy, 0))
        now_busy(g);
}

void ncoll__call_queue_before(struct ncoll_group *g, struct call *c, struct call *before)
{
    struct call **link = &g->first;

    while (*link != before)
        link = &(*link)->next;
    c->state = CALL_QUEUED;
    c->next = before;
    *link = c;
    g->ctx->pending++;
    if (g->starting == before)
        g->starting = c;
}

int ncoll__call_queue_own(struct ncoll_group *g, struct call *c, struct call *before)
{
    ncoll__call_set_nothing(c);
    int rc = ncoll__plan(g, &c->args, 0, &c->plan);
    if (rc != NCOLL_OK)
        return rc;
    if (before != NULL)
        ncoll__call_queue_before(g, c, before);
    else
        ncoll__call_queue(g, c);
    return NCOLL_OK;
}

static void unlink_call(struct ncoll_group *g, struct call *c)
{
    struct call *before = NULL, **link = &g->first;

    while (*link != c) {
        before = *link;
        link = &before->next;
    }
    *link = c->next;
    if (g->last == c)
        g->last = before;
    if (g->starting == c)
        g->starting = c->next;
    g->ctx->pending--;
}

void ncoll__call_over(struct ncoll_group *g, struct call *c, int status)
{
    if (__builtin_expect(status != NCOLL_OK && c->started > 0 && g->ctx->trace != NULL, 0))
        ncoll__traced_ends(g, c, g->next_epoch - 1, status);
    c->state = CALL_ENDED;
    c->status = status;
    g->ctx->ended++;
    if (c->plan != NULL)
        ncoll__plan_leave(g, c->plan);
    if (__builtin_expect(c->copy != NULL, 0))
        ncoll__unstage(g, c, status);
    c->plan = NULL;
    if (c->ended != NULL)
        c->ended(g, c);
}

/* Tells hooks and probes that a call of the user's has ended. */
static void tell_end(struct ncoll_group *g, struct call *c)
{
    PROBE_CALL_END(g, c, c->called != 0 ? c->called : (unsigned)c->args.collective, c->status);
    ncoll__hooked_ends(g->ctx, &c->hooked, c->status);
}

void ncoll__call_end(struct ncoll_group *g, struct call *c, int status)
{
    bool users = c->users; /* a call of the library's own may be freed when it is over */

    unlink_call(g, c);
    ncoll__call_over(g, c, status);
    if (users)
        tell_end(g, c);
}

void ncoll__calls_end(struct ncoll_group *g, int status)
{
    memset(g->runs, 0, sizeof g->runs);
    while (g->first != NULL)
        ncoll__call_end(g, g->first, status);
}

void ncoll__calls_free(struct ncoll_group *g)
{
    ncoll__calls_end(g, NCOLL_ERR_PEER);
    if (g->known.unfinished != NULL)
        ncoll__threshold_leave(g, g->known.unfinished->args.made);
    for (struct ncoll_request *r = g->ctx->requests; r != NULL; r = r->next)
        if (r->group == g && r->magic == REQUEST_MAGIC)
            ncoll__request_drop(r);
    for (struct ncoll_compressor *z = g->ctx->compressors; z != NULL; z = z->next)
        if (z->group == g)
            z->group = NULL;
}
