/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strict entry and exit: a call with a barrier in front of it, behind it, or both. The group starts
 * nothing else in between, so that the data moves when all have entered the call, and whoever
 * leaves it knows that all have theirs.
 *
 * Where a barrier comes last, it is what the user waits for, and takes the place of the user's
 * call; the call itself is one of the library's own then.
 */
#include "lib/call/call.h"

struct strict {
    struct call entry; /* a barrier */
    struct call data;  /* what the user has called, if a barrier comes behind it */
    unsigned users;    /* calls that have not ended */
};

static void leave(struct ncoll_group *g, struct strict *s)
{
    if (--s->users == 0)
        ncoll__release(g->ctx, s);
}

static void call_ended(struct ncoll_group *g, struct call *c)
{
    leave(g, c->arg);
}

/* What has come of the call is what the user is told. */
static void exit_ended(struct ncoll_group *g, struct call *c)
{
    struct strict *s = c->arg;

    c->status = s->data.status != NCOLL_OK ? s->data.status : c->status;
    leave(g, s);
}

/* The plan of a barrier that says what it is for. */
static int plan_barrier(struct ncoll_group *g, unsigned purpose, struct call *c)
{
    const struct call_args args = {.collective = COLL_BARRIER, .sync = purpose};

    ncoll__call_clear(c, &args);
    c->ended = call_ended;
    return ncoll__plan(g, &c->args, 0, &c->plan);
}

static void unplan(struct ncoll_group *g, struct call *c)
{
    if (c->plan != NULL)
        ncoll__plan_leave(g, c->plan);
    c->plan = NULL;
}

/* The call, with what has to be agreed on before it; *first is the first of them all. */
static int queue_data(struct ncoll_group *g, struct call *c, const struct call_args *args,
                      struct call **first)
{
    struct call_args loose = *args;
    struct call *before = g->last;

    loose.sync = NCOLL_LOOSE;
    int rc = ncoll__call_start(g, c, &loose);
    if (rc == NCOLL_OK)
        *first = before != NULL ? before->next : g->first;
    return rc;
}

int ncoll__strict_start(struct ncoll_group *g, struct call *c, const struct call_args *args)
{
    bool entry = (args->sync & NCOLL_STRICT_ENTRY) != 0,
         exit = (args->sync & NCOLL_STRICT_EXIT) != 0;
    struct strict *s = ncoll__allocate(g->ctx, sizeof *s);
    struct call *first;
    int rc = NCOLL_OK;

    if (s == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a strict call");
    s->users = (unsigned)entry + (unsigned)exit;
    c->plan = NULL;
    if (entry) /* before anything is queued, all is planned that can be */
        rc = plan_barrier(g, NCOLL_STRICT_ENTRY, &s->entry);
    if (rc == NCOLL_OK && exit)
        rc = plan_barrier(g, NCOLL_STRICT_EXIT, c);
    struct call *data = exit ? &s->data : c;
    if (rc == NCOLL_OK)
        rc = queue_data(g, data, args, &first);
    if (rc != NCOLL_OK) {
        unplan(g, &s->entry);
        if (exit)
            unplan(g, c);
        ncoll__release(g->ctx, s);
        return rc;
    }
    s->entry.arg = s;
    if (entry) { /* it moves nothing, so that it need not be alone */
        data->alone = true;
        ncoll__call_queue_before(g, &s->entry, first);
    }
    if (exit) {
        c->arg = s;
        c->ended = exit_ended;
        c->alone = true;
        ncoll__call_queue(g, c);
    }
    return NCOLL_OK;
}
