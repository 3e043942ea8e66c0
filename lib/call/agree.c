/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Agreeing on an alltoall with counts before it is planned: no rank knows all of them, but all must
 * cut their blocks into the same number of segments. An allreduce of the longest block goes ahead.
 *
 * It finds out as well whether senders and receivers say the same of every block. Where one of them
 * says that there is none, no message would tell: so each rank adds up a hash of every block that
 * it sends, and takes away that of every one that it gets, and the sum over all ranks is 0 if they
 * agree. If they do not, the ranks exchange their counts, and those that see a difference tell it.
 */
#include <string.h>

#include "lib/call/call.h"
#include "lib/failure/card.h"
#include "lib/failure/failure.h"

/* What is agreed on. As wide as the type that stands for it. */
struct verdict {
    uint64_t longest;
    uint64_t difference; /* what is sent less what is expected: 0 */
};
#define VERDICT_TYPE NCOLL_COMPLEX_DOUBLE
_Static_assert(sizeof(struct verdict) == 2 * sizeof(double), "it goes for a complex number");

struct agreement {
    struct call call;
    struct call_args args; /* of the call that waits; its arrays are the agreement's */
    struct verdict mine, agreed;
    struct call exchange; /* of counts, to find out who differs */
    uint64_t *sent;       /* [size] what others send to this rank; NULL: not asked */
    size_t arrays[];
};

static void combine(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                    void *arg)
{
    struct verdict a, b;

    (void)type, (void)arg;
    for (size_t i = 0; i < count * sizeof a; i += sizeof a) {
        memcpy(&a, (const unsigned char *)left + i, sizeof a);
        memcpy(&b, (const unsigned char *)right + i, sizeof b);
        a.longest = a.longest > b.longest ? a.longest : b.longest;
        a.difference += b.difference;
        memcpy((unsigned char *)out + i, &a, sizeof a);
    }
}

static const struct op agree = {.combine = combine, .commutative = true, .exact = true};

static uint64_t mix(uint64_t h)
{
    h *= UINT64_C(0x9e3779b97f4a7c15);
    return h ^ h >> 31;
}

/* Of a block; 0 if it is empty, since most may be. */
static uint64_t hash(uint64_t from, uint64_t to, uint64_t count)
{
    return count == 0 ? 0 : mix(mix(mix(count) ^ from) ^ to);
}

static struct verdict own_verdict(const struct ncoll_group *g, const struct call_args *args)
{
    struct verdict v = {0};
    uint64_t rank = (uint64_t)g->rank;

    for (uint64_t q = 0; q < (uint64_t)g->size; q++) {
        v.longest = args->counts[q] > v.longest ? args->counts[q] : v.longest;
        v.longest = args->sends[q] > v.longest ? args->sends[q] : v.longest;
        v.difference += hash(rank, q, args->sends[q]) - hash(q, rank, args->counts[q]);
    }
    return v;
}

static struct card card_of(const struct call_args *args, unsigned op, uint64_t amount)
{
    struct card_fields alltoallv = {.collective = COLL_ALLTOALL,
                                    .type = (unsigned)args->type,
                                    .op = op,
                                    .irregular = true,
                                    .amount = amount};
    return ncoll__card(&alltoallv);
}

/* ------------------------------------------------------------------ counts that differ -------- */

static int exchange_counts(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;
    struct card errand = ncoll__card_with(card_of(&a->args, 0, AMOUNT_WHOLE), ERRAND_WIRE);

    a->sent = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *a->sent);
    if (a->sent == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    a->exchange =
        (struct call){.args = ncoll__base_call(COLL_ALLTOALL, a->args.sends, a->sent, 1, errand)};
    int rc = ncoll__plan(g, &a->exchange.args, 0, &a->exchange.plan);
    if (rc == NCOLL_OK)
        ncoll__call_queue_before(g, &a->exchange, c);
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

/* A rank whose own counts are right waits to be told of the others'. */
static int find_who_differs(struct ncoll_group *g, struct call *c)
{
    const struct agreement *a = c->arg;

    if (a->sent == NULL)
        return exchange_counts(g, c);
    for (int q = 0; q < g->size; q++)
        if (a->sent[q] != a->args.counts[q])
            return ncoll__mismatch(g, card_of(&a->args, 0, a->args.counts[q]),
                                   ncoll__world_rank(g, (unsigned)q),
                                   card_of(&a->args, 0, a->sent[q]));
    return NCOLL_TIMEOUT;
}

/* ------------------------------------------------------------------ the agreement ------------- */

/* The call has ended, perhaps before it was planned. */
static void forget(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;

    if (a != NULL)
        ncoll__release(g->ctx, a->sent);
    ncoll__release(g->ctx, a);
    c->arg = NULL;
}

static int prepare(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;

    if (a->agreed.difference != 0)
        return find_who_differs(g, c);
    int rc = ncoll__plan(g, &a->args, a->agreed.longest, &c->plan);
    forget(g, c);
    return rc;
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
    a->mine = own_verdict(g, &c->args);
    a->args = c->args;
    next = a->arrays;
    copy(&next, &a->args.counts, size);
    copy(&next, &a->args.displs, size);
    copy(&next, &a->args.sends, size);
    copy(&next, &a->args.send_displs, size);
    struct call_args args = {.collective = COLL_ALLREDUCE,
                             .in = &a->mine,
                             .out = &a->agreed,
                             .count = 1,
                             .type = VERDICT_TYPE,
                             .op = NCOLL_MAX,
                             .own_op = &agree,
                             .internal = true,
                             .errand = card_of(&c->args, NCOLL_MAX, AMOUNT_WHOLE)};
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
