/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stale-synchronous allreduce.
 *
 * R. Iakymchuk, A. Faustino, A. Emerson, J. Barreto, V. Bartsch, R. Rodrigues, J. C. Monteiro:
 * Efficient and Eventually Consistent Collective Operations, 2022, Algorithm 1 (allreduce_ssp). The
 * schedule of that algorithm is the hypercube. Here it is any schedule of an allreduce, with two
 * changes:
 *
 *   WAIT  is satisfied by the newest message of its slot, if the oldest contribution in it has
 *         clock c - slack or later (lines 8-11, rcv_data_vec[k]); c is the clock of this call
 *   PUT   sends the minimum of the clocks of the contributions in it (lines 7 and 13), and never
 *         waits
 *
 * Ranks never wait for each other in a circle. Take a rank that waits in its call c in step t. The
 * sender of that slot has not sent a message of its own call c, since all contributions in it would
 * have clock c - slack or later. So the sender has not begun call c; or it waits in an earlier
 * call; or it waits in call c in a step that comes before t in the schedule. In each case the pair
 * (clock, position in the schedule) of the sender is less than that of the rank that waits.
 */
#include <string.h>

#include "lib/stale/stale.h"
#include "transport/relax.h"

static const unsigned char *read_at(const struct ncoll_stale *s, const struct run *run,
                                    struct ref ref)
{
    const struct call_args *args = &run->call->args;
    size_t offset = ref.offset * s->element;

    switch (ref.buffer) {
    case BUF_IN:
        return (const unsigned char *)args->in + offset;
    case BUF_OUT:
        return (const unsigned char *)args->out + offset;
    case BUF_SCRATCH:
        return s->scratch + offset;
    default:
        return s->ins[ref.slot].in_use.data + offset;
    }
}

static unsigned char *write_at(const struct ncoll_stale *s, const struct run *run, struct ref ref)
{
    size_t offset = ref.offset * s->element;

    return ref.buffer == BUF_OUT ? (unsigned char *)run->call->args.out + offset
                                 : s->scratch + offset;
}

/* ------------------------------------------------------------------ clocks ------------------- */

/* Returns the clock of the oldest contribution in a content, which is computed once in a run. */
static uint64_t oldest(const struct ncoll_stale *s, struct content *c)
{
    bool own = c->own || c->n_slots == 0;

    if (c->epoch == s->epoch)
        return c->min;
    c->epoch = s->epoch;
    c->min = own ? s->at : UINT64_MAX;
    for (unsigned i = 0; i < c->n_slots; i++) {
        uint64_t min = s->ins[c->slots[i]].in_use.stamp.min;
        c->min = min < c->min ? min : c->min;
    }
    return c->min;
}

static void take_older(uint64_t *clock, uint64_t other)
{
    *clock = *clock == 0 || other < *clock ? other : *clock;
}

/* Sets clocks[q] to the clock of rank q's contribution in a content; 0: there is none. If there are
 * several, as of slices, it is that of the oldest. */
static void clocks_of(struct ncoll_stale *s, const struct content *c, uint64_t *clocks)
{
    size_t size = (size_t)s->group->size;

    memset(clocks, 0, size * sizeof *clocks);
    if (c->own || c->n_slots == 0)
        clocks[s->group->rank] = s->at;
    for (unsigned i = 0; i < c->n_slots; i++) {
        const struct inbox *in = &s->ins[c->slots[i]];
        const struct mail *m = &in->in_use;
        if (m->ages == NULL)
            take_older(&clocks[s->peers[in->from].rank], m->stamp.min);
        for (size_t q = 0; m->ages != NULL && q < size; q++) {
            uint16_t age;
            memcpy(&age, m->ages + q * sizeof age, sizeof age);
            if (age != 0)
                take_older(&clocks[q], m->stamp.min + age - 1);
        }
    }
}

/* ------------------------------------------------------------------ steps -------------------- */

static int execute_put(struct ncoll_stale *s, const struct run *run, unsigned i)
{
    struct content *c = &s->contents[s->content_of[i]];
    bool sole = c->own && c->n_slots == 0, ages = s->ages_bytes > 0 && !sole;
    bool known = c->epoch == s->epoch;
    struct stamp stamp = {.clock = s->at,
                          .min = oldest(s, c),
                          .slack = s->slack,
                          .hash = s->hash,
                          .sole = sole || !ages};

    if (ages && !(known && s->sum_of == c))
        clocks_of(s, c, s->sum);
    s->sum_of = ages ? c : s->sum_of;
    return ncoll__mail_send(s, &s->outs[s->out_of[i]], read_at(s, run, s->steps[i].a), stamp, ages);
}

/* Looks in a mailbox for a message that is new enough for this call. If there is one, sets *fresh,
 * and the run uses the message. Returns NCOLL_OK or an error. */
static int look(struct ncoll_stale *s, struct inbox *in, bool *fresh)
{
    int rc = ncoll__mail_newest(s, in) ? ncoll__past_check(s, in, &in->last.stamp) : NCOLL_OK;

    *fresh = rc == NCOLL_OK && in->holds && in->last.stamp.min >= s->floor;
    if (*fresh) {
        in->in_use = in->last;
        in->use_epoch = s->epoch;
    }
    return rc;
}

/* Called before a rank waits: gives all credits that it can give, and sends the withheld messages
 * that it can send. Returns NCOLL_OK or an error. */
static int prepare_wait(struct ncoll_stale *s, const struct inbox *in)
{
    int rc = s->withholds ? ncoll__mail_take_ahead(s, in) : NCOLL_OK;

    if (rc == NCOLL_OK)
        rc = ncoll__mail_credits(s, true);
    return rc == NCOLL_OK ? ncoll__mail_flush(s) : rc;
}

static int execute_wait(struct ncoll_stale *s, struct run *run, unsigned i, unsigned *looks)
{
    struct inbox *in = &s->ins[s->steps[i].slot];
    bool fresh;
    int rc = look(s, in, &fresh);

    if (rc != NCOLL_OK || fresh)
        return rc;
    if ((rc = prepare_wait(s, in)) != NCOLL_OK)
        return rc;
    for (; *looks > 0; --*looks) {
        ncoll__relax();
        if ((rc = look(s, in, &fresh)) != NCOLL_OK || fresh)
            return rc;
    }
    s->waits_in = (unsigned)(in - s->ins);
    run->waits_for = NO_SLOT;
    run->looks_at = NULL;
    run->waits_for_rank = ncoll__world_rank(s->group, s->peers[in->from].rank);
    return NCOLL_TIMEOUT;
}

static int execute(struct ncoll_stale *s, struct run *run, unsigned i, unsigned *looks)
{
    const struct step *step = &s->steps[i];
    const struct op *op = &s->op;
    unsigned char *to;

    if (step->kind == STEP_PUT)
        return execute_put(s, run, i);
    if (step->kind == STEP_WAIT)
        return execute_wait(s, run, i, looks);
    to = write_at(s, run, step->dst);
    const unsigned char *a = read_at(s, run, step->a);
    if (step->kind == STEP_COPY)
        memmove(to, a, step->count * s->element);
    else
        (step->kind == STEP_REDUCE ? op->combine : op->inverse)(to, a, read_at(s, run, step->b),
                                                                step->count, s->type, op->arg);
    return NCOLL_OK;
}

int ncoll__ssp_advance(struct ncoll_stale *s, struct run *run, unsigned looks)
{
    struct content *result = &s->contents[s->n_contents - 1];
    int rc = NCOLL_OK;

    while (rc == NCOLL_OK && run->next < s->n_steps) {
        rc = execute(s, run, run->next, &looks);
        run->next += rc == NCOLL_OK;
    }
    if (rc != NCOLL_OK)
        return rc;
    s->min = oldest(s, result);
    if (s->clocks != NULL && run->call->args.result != NULL) {
        uint64_t *clocks = s->told = ncoll__stale_clocks(s, s->at);
        clocks_of(s, result, clocks);
        s->fresh = 0;
        for (int q = 0; q < s->group->size; q++)
            s->fresh += clocks[q] >= s->at;
    }
    return NCOLL_OK;
}
