/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on objects of stale-synchronous and partial allreduces: clocks, runs and results, and what
 * the rest of the library asks about them. */
#include <string.h>

#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/stale/stale.h"

/* The number of times that a call tries to send messages that the transport has refused for lack of
 * room. Then the call ends, and the messages stay withheld. */
#define TRIES 256u

/* ------------------------------------------------------------------ runs --------------------- */

void ncoll__stale_prepare(struct ncoll_group *g, struct call *c)
{
    struct ncoll_stale *s = g->stale;

    s->plan.era = g->known.era;
    if (s->params.partial || s->plan_slack == (unsigned)c->args.root)
        return;
    s->plan_slack = (unsigned)c->args.root;
    struct signature_fields fields = ncoll__signature_fields(s->plan.signature);
    fields.root = s->plan_slack;
    s->plan.signature = ncoll__signature(&fields);
}

/* Begins the run of a call. args.root is the slack of the call, or the quorum of a partial
 * allreduce. The transport makes progress once, even if the call need not wait, so that the result
 * contains the latest contributions. */
static int begin(struct ncoll_stale *s, const struct run *run)
{
    const struct call *c = run->call;
    struct transport *t = s->group->ctx->transport;

    s->epoch = run->epoch;
    s->at = c->clock;
    s->slack = (uint32_t)c->args.root;
    s->first = c->floor;
    s->floor = c->clock > s->slack + c->floor ? c->clock - s->slack : c->floor;
    s->tries = 0;
    s->waits_in = NO_SLOT;
    s->wait_ns = s->waited_ns = 0;
    if (t->must_progress)
        t->ops->progress(t);
    return ncoll__past_start(s, run);
}

static int finish(struct ncoll_stale *s, struct run *run)
{
    struct ncoll_group *g = s->group;
    int rc = ncoll__mail_credits(s, false);

    if (rc == NCOLL_OK && s->n_withheld + s->n_due > 0)
        rc = ncoll__mail_flush(s);
    if (rc != NCOLL_OK)
        return rc;
    if (s->n_refused > 0 && s->tries++ < TRIES) {
        run->waits_for = NO_SLOT;
        run->looks_at = NULL;
        run->waits_for_rank = g->ctx->rank;
        return NCOLL_TIMEOUT;
    }
    ncoll__run_finished(g, run, false);
    return NCOLL_OK;
}

static void note_waiting(struct ncoll_stale *s, const struct call *c, bool waits)
{
    uint64_t now_ns;

    if (c->args.result == NULL || waits == (s->wait_ns != 0))
        return;
    now_ns = ncoll__now_ns(s->group->ctx);
    if (!waits)
        s->waited_ns += now_ns - s->wait_ns;
    s->wait_ns = waits ? now_ns : 0;
}

int ncoll__stale_advance(struct ncoll_group *g, struct run *run, unsigned looks)
{
    struct ncoll_stale *s = g->stale;
    unsigned before = run->next;
    int rc = s->epoch != run->epoch ? begin(s, run) : NCOLL_OK;

    if (rc != NCOLL_OK)
        return rc;
    rc = s->params.partial ? ncoll__partial_advance(s, run, looks)
                           : ncoll__ssp_advance(s, run, looks);
    note_waiting(s, run->call, rc == NCOLL_TIMEOUT);
    if (rc == NCOLL_OK) {
        s->waits_in = NO_SLOT;
        rc = finish(s, run);
    } else if (rc == NCOLL_TIMEOUT && run->next != before) {
        /* the run has advanced, so messages that were withheld may leave now */
        int flushed = ncoll__mail_flush(s);
        rc = flushed != NCOLL_OK ? flushed : rc;
    }
    return rc;
}

void ncoll__stale_progress(struct ncoll_context *ctx)
{
    for (struct ncoll_stale *s = ctx->stales; s != NULL; s = s->next) {
        if (s->stopped || s->n_withheld + s->n_due == 0)
            continue;
        int rc = ncoll__mail_flush(s);
        if (rc != NCOLL_OK && ctx->failure.kind == CONTROL_NONE)
            ncoll__break_job(ctx);
    }
}

/* ------------------------------------------------------------------ results ------------------ */

void ncoll__stale_result(struct ncoll_stale *s, const struct call *c)
{
    bool synchronous = !ncoll__is_stale(c), knows = s->clocks != NULL;
    ncoll_stale_result *result = c->args.result;
    uint64_t *clocks = NULL;

    if (result == NULL)
        return;
    if (knows)
        clocks = synchronous ? ncoll__stale_clocks(s, c->clock) : s->told;
    for (int q = 0; synchronous && knows && q < s->group->size; q++)
        clocks[q] = c->clock;
    *result = (ncoll_stale_result){.size = sizeof *result,
                                   .clock = c->clock,
                                   .min_clock = synchronous ? c->clock : s->min,
                                   .fresh = synchronous ? s->group->size
                                            : knows     ? (int)s->fresh
                                                        : -1,
                                   .clocks = clocks,
                                   .waited_ns = synchronous ? 0 : s->waited_ns};
}

/* ------------------------------------------------------------------ questions ---------------- */

/* A partial allreduce counts as waiting for a rank only if its quorum is all ranks. Otherwise any
 * of several ranks may be enough. */
bool ncoll__stale_waits_for(const struct ncoll_group *g, unsigned *peer, uint32_t *slot)
{
    const struct ncoll_stale *s = g->stale;

    if (s->waits_in == NO_SLOT)
        return false;
    if (s->params.partial && s->slack < (unsigned)g->size)
        return false;
    *peer = s->peers[s->ins[s->waits_in].from].rank;
    *slot = s->ins[s->waits_in].slot;
    return true;
}

bool ncoll__stale_has_come(struct ncoll_group *g)
{
    const struct ncoll_stale *s = g->stale;

    return s->waits_in == NO_SLOT || ncoll__mail_has(s, &s->ins[s->waits_in]);
}

/*
 * The teller waits in epoch e, in its call c, for a message of clock c - slack or later, from after
 * the last call with slack 0. This function computes c from e: if the last run of this rank was one
 * on mailboxes, c is its clock plus the number of epochs since. For the teller has completed all
 * calls before c, and those with slack 0 need all ranks. So there is none of these after the last
 * run of this rank, and each call since has taken one epoch and one clock.
 */
bool ncoll__stale_owes(const struct ncoll_group *g, int teller, const struct position *p)
{
    const struct ncoll_stale *s = g->stale;
    uint64_t last = g->next_epoch - 1;
    int64_t slack = (int64_t)ncoll__signature_fields(p->signature).root, ahead;

    if (last != s->epoch)
        return p->epoch > last;
    ahead = (int64_t)(p->epoch - last);
    slack = s->params.partial ? 0 : slack;
    int64_t oldest = (int64_t)s->at + ahead - slack, first = (int64_t)s->first;
    /* no call uses contributions from before the last call with slack 0 */
    oldest = oldest > first ? oldest : first;
    for (unsigned i = 0; i < s->n_outs; i++) {
        const struct outbox *out = &s->outs[i];
        if (out->slot == p->slot && ncoll__world_rank(g, s->peers[out->to].rank) == teller)
            return (int64_t)(s->params.partial ? out->stamp.clock : out->stamp.min) < oldest;
    }
    return false;
}

/* Looks at all mailboxes, since a rank that calls something else may have sent messages to some
 * that this rank does not read now. */
void ncoll__stale_check(struct ncoll_group *g)
{
    struct ncoll_stale *s = g->stale;

    for (unsigned p = 0; p < s->n_peers && !s->stopped; p++)
        for (unsigned i = 0; i < s->peers[p].n_ins; i++) {
            const struct inbox *in = &s->ins[s->peers[p].ins[i]];
            struct stamp stamp;
            for (unsigned k = 0; ncoll__mail_peek(s, in, &k, &stamp);)
                ncoll__past_check(s, in, &stamp);
        }
}
