/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The partial allreduce.
 *
 * S. Li, T. Ben-Nun, S. Di Girolamo, D. Alistarh, T. Hoefler: Taming Unbalanced Training Workloads
 * in Deep Learning with Partial Collective Operations, PPoPP 2020 (eager-SGD: solo and majority
 * allreduce). In that paper a late rank contributes nothing to the call that the others complete
 * without it, and adds this contribution to the one of its next call. Here each rank has a mailbox
 * for each other rank, and takes each message once. The contribution of a late rank is used in the
 * call in which it arrives. If a mailbox is full, the sender adds up the contributions that it
 * withholds. So each contribution is used exactly once on each rank, whatever the quorums.
 */
#include <string.h>

#include "lib/stale/stale.h"
#include "transport/relax.h"

/* Puts the contribution of this call into the mailboxes of all other ranks. */
static int contribute(struct ncoll_stale *s, const struct run *run)
{
    int rc = NCOLL_OK;

    for (unsigned i = 0; i < s->n_outs && rc == NCOLL_OK; i++) {
        const struct outbox *out = &s->outs[i];
        struct stamp stamp = {.clock = s->at, .min = s->at, .hash = s->hash, .sole = true};
        if (out->withheld && out->stamp.min + OLDEST_TOLD < s->at)
            s->outs[i].stamp.min = s->at - OLDEST_TOLD;
        rc = ncoll__mail_add(s, &s->outs[i], run->call->args.in, stamp);
    }
    return rc;
}

static void begin(struct ncoll_stale *s, const struct run *run)
{
    const struct call_args *args = &run->call->args;

    if (args->in != args->out)
        memmove(args->out, args->in, s->count * s->element);
    s->min = s->at;
    for (unsigned i = 0; i < s->n_ins; i++)
        s->ins[i].used = 0;
}

/* Takes all messages that have come, and combines them into OUT. Sets s->fresh to the number of
 * ranks, this one included, from which a contribution with the clock of this call or a later one
 * has come. */
static int take_all(struct ncoll_stale *s, const struct run *run)
{
    unsigned char *out = run->call->args.out;
    int rc = NCOLL_OK;

    s->fresh = 1;
    s->waits_in = NO_SLOT;
    for (unsigned i = 0; i < s->n_ins && rc == NCOLL_OK; i++) {
        struct inbox *in = &s->ins[i];
        while (rc == NCOLL_OK && ncoll__mail_next(s, in)) {
            rc = ncoll__past_check(s, in, &in->last.stamp);
            s->op.combine(out, out, in->last.data, s->count, s->type, s->op.arg);
            s->min = in->last.stamp.min < s->min ? in->last.stamp.min : s->min;
            in->used = in->clock;
            ncoll__mail_drop(s, in);
        }
        if (in->clock >= s->at)
            s->fresh++;
        else if (s->waits_in == NO_SLOT)
            s->waits_in = i;
    }
    return rc;
}

/* Returns the world rank that the run waits for: one whose contribution has not come and that has
 * not left. If there are too few of these for the quorum, returns one that has left, so that the
 * call fails. */
static int rank_to_wait_for(struct ncoll_stale *s)
{
    unsigned can_come = 0;
    int here = -1, left = -1;

    for (unsigned i = 0; i < s->n_ins; i++) {
        int rank = ncoll__world_rank(s->group, s->peers[s->ins[i].from].rank);
        if (s->ins[i].clock >= s->at)
            continue;
        if (s->group->ctx->peers[rank].left) {
            left = rank;
            continue;
        }
        here = here < 0 ? rank : here;
        s->waits_in = can_come++ == 0 ? i : s->waits_in;
    }
    return s->fresh + can_come >= s->slack ? here : left;
}

int ncoll__partial_advance(struct ncoll_stale *s, struct run *run, unsigned looks)
{
    int rc = NCOLL_OK;

    if (run->next == 0 && (rc = contribute(s, run)) == NCOLL_OK) {
        begin(s, run);
        run->next = 1;
    }
    for (; rc == NCOLL_OK; looks--) {
        rc = take_all(s, run);
        if (rc != NCOLL_OK || s->fresh >= s->slack)
            break;
        if ((rc = ncoll__mail_credits(s, true)) == NCOLL_OK)
            rc = ncoll__mail_flush(s);
        if (rc == NCOLL_OK && looks == 0) {
            run->waits_for = NO_SLOT;
            run->looks_at = NULL;
            run->waits_for_rank = rank_to_wait_for(s);
            return NCOLL_TIMEOUT;
        }
        ncoll__relax();
    }
    if (rc != NCOLL_OK)
        return rc;
    uint64_t *clocks = s->told = ncoll__stale_clocks(s, s->at);
    clocks[s->group->rank] = s->at;
    for (unsigned i = 0; i < s->n_ins; i++)
        clocks[s->peers[s->ins[i].from].rank] = s->ins[i].used;
    return NCOLL_OK;
}
