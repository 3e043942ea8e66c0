/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreeing on the longest block before an alltoall with counts: no rank knows all of them, but all
 * must cut their blocks into the same number of segments. An allreduce of one number goes ahead;
 * the call is planned when that has ended.
 */
#include <string.h>

#include "lib/call.h"
#include "lib/card.h"

struct agreement {
    struct call call;
    struct call_args args; /* of the call that waits; its arrays are the agreement's */
    uint64_t mine, longest;
    size_t arrays[];
};

static int prepare(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;

    int rc = ncoll__plan(g, &a->args, a->longest, &c->plan);
    ncoll__release(g->ctx, a);
    c->arg = NULL;
    return rc;
}

/* The call has ended, perhaps before it was planned. */
static void forget(struct ncoll_group *g, struct call *c)
{
    ncoll__release(g->ctx, c->arg);
    c->arg = NULL;
}

static void copy(size_t **to, const size_t **array, size_t size)
{
    if (*array == NULL)
        return;
    memcpy(*to, *array, size * sizeof **to);
    *array = *to;
    *to += size;
}

int ncoll__agree_first(struct ncoll_group *g, struct call *c)
{
    size_t size = (size_t)g->size;
    struct agreement *a = ncoll__allocate(g->ctx, sizeof *a + 4 * size * sizeof *a->arrays);
    size_t *next;

    if (a == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    for (size_t q = 0; q < size; q++) {
        a->mine = c->args.counts[q] > a->mine ? c->args.counts[q] : a->mine;
        a->mine = c->args.sends[q] > a->mine ? c->args.sends[q] : a->mine;
    }
    a->args = c->args;
    next = a->arrays;
    copy(&next, &a->args.counts, size);
    copy(&next, &a->args.displs, size);
    copy(&next, &a->args.sends, size);
    copy(&next, &a->args.send_displs, size);
    struct card_fields alltoallv = {.collective = COLL_ALLTOALL,
                                    .type = (unsigned)c->args.type,
                                    .op = NCOLL_MAX,
                                    .irregular = true};
    struct call_args args = {.collective = COLL_ALLREDUCE,
                             .in = &a->mine,
                             .out = &a->longest,
                             .count = 1,
                             .type = NCOLL_UINT64,
                             .op = NCOLL_MAX,
                             .internal = true,
                             .errand = ncoll__card(&alltoallv)};
    int rc = ncoll__call_start(g, &a->call, &args);
    if (rc != NCOLL_OK) {
        ncoll__release(g->ctx, a);
        return rc;
    }
    c->arg = a;
    c->alone = true; /* starts when the agreement, and what was before it, has ended */
    c->prepare = prepare;
    c->ended = forget;
    return NCOLL_OK;
}
