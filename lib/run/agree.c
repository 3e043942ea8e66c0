/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The agreement that precedes the planning of an alltoall with counts. No rank knows all counts,
 * but all ranks must cut their blocks into the same number of segments. So an allreduce of the
 * longest block comes first.
 *
 * The agreement also checks that sender and receiver of every block have the same count. If one of
 * them has count 0, no message would show the difference. So each rank adds a hash of every block
 * that it sends, and subtracts the hash of every block that it receives. The sum over all ranks is
 * 0 if they agree. If it is not, the ranks exchange their counts, and every rank that sees a
 * difference reports it.
 */
#include <string.h>

#include "lib/run/call.h"
#include "lib/run/hooked.h"
#include "lib/base/signature.h"
#include "lib/plan/arguments.h"
#include "lib/plan/plan.h"
#include "lib/choose/planned.h"
#include "lib/base/failure.h"

/* The data that the agreement combines. It travels as one element of VERDICT_TYPE, which has the
 * same size. */
struct verdict {
    uint64_t longest;
    /* hashes of blocks sent minus hashes of blocks expected; 0 if ranks agree */
    uint64_t difference;
};
#define VERDICT_TYPE NCOLL_COMPLEX_DOUBLE
_Static_assert(sizeof(struct verdict) == 2 * sizeof(double), "it goes for a complex number");

struct agreement {
    struct call call;
    struct call_args args; /* arguments of the call that waits; the context keeps their arrays */
    struct verdict mine, agreed;
    struct call exchange; /* exchange of counts, by which the ranks that differ are found */
    uint64_t *sent; /* [size] counts of the blocks sent to this rank; NULL: not exchanged yet */
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

/* Returns the hash of a block; 0 if it is empty, as most blocks may be. */
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

static struct signature signature_of(const struct ncoll_group *g, const struct call_args *args,
                                     unsigned op, uint64_t amount)
{
    struct signature_fields alltoallv = {
        .collective = COLL_ALLTOALL,
        .type = (unsigned)args->type,
        .op = op,
        .irregular = true,
        .amount = amount,
        .definition = ncoll__definition(&g->ctx->types, &g->ctx->ops, (unsigned)args->type, 0)};
    return ncoll__signature(&alltoallv);
}

/* ------------------------------------------------------------------ counts that differ -------- */

static int exchange_counts(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;
    struct signature purpose =
        ncoll__signature_with(signature_of(g, &a->args, 0, AMOUNT_WHOLE), PURPOSE_WIRE);

    a->sent = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *a->sent);
    if (a->sent == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    a->exchange =
        (struct call){.args = ncoll__base_call(COLL_ALLTOALL, a->args.sends, a->sent, 1, purpose)};
    int rc = ncoll__call_queue_own(g, &a->exchange, c);
    return rc == NCOLL_OK ? NCOLL_TIMEOUT : rc;
}

/* Compares the exchanged counts. A rank that sees no difference waits until another rank reports
 * one. */
static int find_who_differs(struct ncoll_group *g, struct call *c)
{
    const struct agreement *a = c->arg;

    if (a->sent == NULL)
        return exchange_counts(g, c);
    for (int q = 0; q < g->size; q++)
        if (a->sent[q] != a->args.counts[q])
            return ncoll__mismatch(g, signature_of(g, &a->args, 0, a->args.counts[q]),
                                   ncoll__world_rank(g, (unsigned)q),
                                   signature_of(g, &a->args, 0, a->sent[q]));
    return NCOLL_TIMEOUT;
}

/* ------------------------------------------------------------------ the agreement ------------- */

/* Frees the agreement. Called when the call has been planned, or when it ends before that. */
static void forget(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;

    if (a == NULL)
        return;
    ncoll__release(g->ctx, a->sent);
    ncoll__arrays_leave(g->ctx, &a->args);
    ncoll__release(g->ctx, a);
    c->arg = NULL;
}

static int prepare(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = c->arg;

    if (a->agreed.difference != 0)
        return find_who_differs(g, c);
    int rc = ncoll__plan(g, &a->args, a->agreed.longest, &c->plan);
    ncoll__hooked_planned(c);
    forget(g, c);
    return rc;
}

int ncoll__agree_first(struct ncoll_group *g, struct call *c)
{
    struct agreement *a = ncoll__allocate(g->ctx, sizeof *a);
    int rc;

    if (a == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    *a = (struct agreement){.mine = own_verdict(g, &c->args), .args = c->args};
    c->arg = a;
    if (!ncoll__arrays_keep(g->ctx, &a->args, (unsigned)g->size)) {
        forget(g, c);
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to plan a collective");
    }
    a->call.args =
        (struct call_args){.collective = COLL_ALLREDUCE,
                           .in = &a->mine,
                           .out = &a->agreed,
                           .count = 1,
                           .type = VERDICT_TYPE,
                           .op = NCOLL_MAX,
                           .own_op = &agree,
                           .internal = true,
                           .purpose = signature_of(g, &c->args, NCOLL_MAX, AMOUNT_WHOLE)};
    if ((rc = ncoll__call_queue_own(g, &a->call, NULL)) != NCOLL_OK) {
        forget(g, c);
        return rc;
    }
    c->alone = true; /* starts when the agreement and all earlier calls have ended */
    c->prepare = prepare;
    c->ended = forget;
    return NCOLL_OK;
}
