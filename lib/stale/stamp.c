/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares the calls of other ranks with those of this rank. The stamp of a message has the slack
 * of the sender's call, and the sender's history hash in that call. This hash covers the slack of
 * all earlier calls, so it does not matter that a rank reads only some of the messages. The stamp
 * of a call that this rank has made is compared at once. The stamp of a later call is kept as a
 * claim, and compared when this rank makes that call.
 */
#include "lib/base/failure.h"
#include "lib/base/signature.h"
#include "lib/stale/stale.h"

static struct signature signature_with(const struct ncoll_stale *s, uint32_t slack, uint16_t hash)
{
    struct signature_fields fields = ncoll__signature_fields(s->plan.signature);

    fields.root = s->params.partial ? ROOT_PARTIAL : slack;
    struct signature signature = ncoll__signature(&fields);
    signature.amount |= (uint64_t)hash << AMOUNT_BITS;
    return signature;
}

/* Compares a call of this rank with the call of the same clock that `rank` has made. Returns
 * NCOLL_OK or NCOLL_ERR_MISMATCH. */
static int compare(struct ncoll_stale *s, const struct past_call *own, uint32_t slack,
                   uint16_t hash, int rank)
{
    if (own->slack == slack && (!own->checked || own->hash == hash))
        return NCOLL_OK;
    /* the mismatch breaks the run of this epoch; ranks in earlier runs finish those first */
    uint64_t epoch = own->checked ? own->epoch : s->group->credits.finished + 1;
    ncoll__mismatch_at(s->group, epoch,
                       signature_with(s, own->slack, own->checked ? own->hash : hash),
                       ncoll__world_rank(s->group, (unsigned)rank), signature_with(s, slack, hash));
    return NCOLL_ERR_MISMATCH;
}

bool ncoll__past_signature(const struct ncoll_stale *s, uint64_t epoch, struct signature *out)
{
    for (unsigned i = 0; i < s->n_own; i++) {
        const struct past_call *own = &s->own[i];
        if (own->clock == 0 || !own->checked || own->epoch != epoch)
            continue;
        *out = signature_with(s, own->slack, 0);
        return true;
    }
    return false;
}

void ncoll__past_begin(struct ncoll_stale *s, const struct past_call *own)
{
    const struct past_call *claim = &s->claims[own->clock & (s->n_claims - 1)];

    /* compares now, since ncoll__past_start() is not called for calls with slack 0 */
    if (claim->clock == own->clock)
        compare(s, own, claim->slack, claim->hash, claim->rank);
}

int ncoll__past_start(struct ncoll_stale *s, const struct run *run)
{
    struct past_call *own = &s->own[s->at & (s->n_own - 1)],
                     *claim = &s->claims[s->at & (s->n_claims - 1)];

    s->hash = (uint16_t)(run->history_hash >> AMOUNT_BITS);
    if (own->clock != s->at) /* a request begun since, of a later clock, has overwritten it */
        return NCOLL_OK;
    own->hash = s->hash;
    own->epoch = s->epoch;
    own->checked = true;
    return claim->clock == s->at ? compare(s, own, claim->slack, claim->hash, claim->rank)
                                 : NCOLL_OK;
}

int ncoll__past_check(struct ncoll_stale *s, const struct inbox *in, const struct stamp *stamp)
{
    const struct past_call *own = &s->own[stamp->clock & (s->n_own - 1)];
    struct past_call *claim = &s->claims[stamp->clock & (s->n_claims - 1)];
    int rank = (int)s->peers[in->from].rank;

    if (own->clock == stamp->clock && (own->checked || own->slack != stamp->slack))
        return compare(s, own, stamp->slack, stamp->hash, rank);
    if (stamp->clock < s->at || claim->clock >= stamp->clock)
        return NCOLL_OK;
    *claim = (struct past_call){
        .clock = stamp->clock, .slack = stamp->slack, .hash = stamp->hash, .rank = rank};
    s->claimed = stamp->clock > s->claimed ? stamp->clock : s->claimed;
    return NCOLL_OK;
}
