/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exercises of stale-synchronous and partial allreduces: one call of an object. Its first call waits
 * for all ranks, whatever its slack, and no rank makes a second one; a partial one has a quorum of all.
 * So what has to come out is that of an allreduce. Jobs of many calls are in test/stale.
 */
#include <stdio.h>

#include "test/support/exercise.h"

#define KINDS      5u /* the algorithms with slack, and the partial allreduce */
#define SLACK_MOST 2u

void exercise_let_stale(struct exercise_spec *s, const struct repertoire *repertoire,
                        struct random *random)
{
    s->collective = COLL_ALLREDUCE;
    s->stale = 1 + (unsigned)random_below(random, KINDS * (SLACK_MOST + 1));
    do {
        s->piece = &repertoire->pieces[random_below(random, repertoire->n)];
    } while (!s->piece->commutative || s->piece->op == NCOLL_SUM_REPRODUCIBLE);
}

static bool is_partial(const struct exercise_spec *s)
{
    return s->stale % KINDS == KINDS - 1;
}

static int slack_of(const struct exercise_spec *s)
{
    return (int)((s->stale - 1) / KINDS);
}

bool exercise_is_synchronous(const struct exercise_spec *s)
{
    return s->stale == 0 || (!is_partial(s) && slack_of(s) == 0);
}

static int make(struct exercise *x, ncoll_group *group)
{
    const struct exercise_spec *s = &x->spec;
    const ncoll_stale_params params = {
        .size = sizeof params,
        .max_slack = SLACK_MOST,
        .algorithm = is_partial(s) ? NCOLL_STALE_AUTO : (ncoll_stale_algorithm)(s->stale % KINDS),
        .clocks = (int)(s->values_stream % 2),
        .partial = is_partial(s),
    };

    return ncoll_stale_create(group, &params, s->count, s->piece->type, s->piece->op, &x->stale,
                              NCOLL_BLOCK);
}

int exercise_call_stale(struct exercise *x, ncoll_group *group, const void *in, void *out,
                        int64_t timeout_ns, ncoll_request **request)
{
    const struct exercise_spec *s = &x->spec;
    ncoll_type type = s->piece->type;
    ncoll_op op = s->piece->op;
    int rc = x->stale == NULL ? make(x, group) : NCOLL_OK;

    if (rc != NCOLL_OK)
        return rc;
    x->stale_result = (ncoll_stale_result){.size = sizeof x->stale_result};
    if (is_partial(s))
        return request != NULL
                   ? ncoll_allreduce_partial_start(x->stale, in, out, s->count, type, op, x->ranks,
                                                   &x->stale_result, request)
                   : ncoll_allreduce_partial(x->stale, in, out, s->count, type, op, x->ranks,
                                             &x->stale_result, timeout_ns);
    return request != NULL ? ncoll_allreduce_ssp_start(x->stale, in, out, s->count, type, op,
                                                       slack_of(s), &x->stale_result, request)
                           : ncoll_allreduce_ssp(x->stale, in, out, s->count, type, op, slack_of(s),
                                                 &x->stale_result, timeout_ns);
}

const char *exercise_stale_wrong(const struct exercise *x, char *text, size_t size)
{
    const ncoll_stale_result *r = &x->stale_result;

    /* An empty vector may need no message. */
    if (x->spec.stale == 0 ||
        (r->clock == 1 && r->min_clock == 1 &&
         (r->fresh == x->ranks || x->spec.count == 0 || (r->fresh == -1 && r->clocks == NULL))))
        return NULL;
    snprintf(text, size, "clock %llu, oldest %llu, %d fresh", (unsigned long long)r->clock,
             (unsigned long long)r->min_clock, r->fresh);
    return text;
}

const char *exercise_stale_text(const struct exercise_spec *s)
{
    return s->stale == 0 ? "" : is_partial(s) ? "partial " : "stale-synchronous ";
}

void exercise_close_stale(struct exercise *x)
{
    if (x->stale != NULL)
        ncoll_stale_free(&x->stale, NCOLL_BLOCK);
}
