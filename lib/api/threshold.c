/* SPDX-License-Identifier: BSD-3-Clause */
/* The public collectives with a threshold, and the checks of their arguments. */
#include <math.h>

#include "lib/api/calls.h"
#include "lib/api/check.h"
#include "lib/base/entry.h"
#include "lib/base/error.h"
#include "lib/plan/arguments.h"
#include "lib/run/call.h"
#include "lib/run/threshold.h"

/* ------------------------------------------------------------------ checks -------------------- */

static int bad(struct ncoll_group *g, const char *remedy, const char *cause)
{
    return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, remedy, "%s", cause);
}

/* Returns the number of weights that this rank's call reads. */
static size_t weights_read(const struct ncoll_group *g, const struct threshold_call *c)
{
    bool reads = c->collective == COLL_REDUCE || g->rank == c->root;

    if (c->threshold.of == NCOLL_THRESHOLD_HEAVIEST)
        return reads ? c->count : 0;
    return c->threshold.of == NCOLL_THRESHOLD_RANKS && c->threshold.weights != NULL
               ? (size_t)g->size
               : 0;
}

static int check_weights(struct ncoll_group *g, const struct threshold_call *c)
{
    size_t n = weights_read(g, c);
    const double *weights = c->threshold.weights;

    if (n > 0 && weights == NULL)
        return bad(g, "pass a weight for each element, or use NCOLL_THRESHOLD_DATA",
                   "the weights of the heaviest elements are NULL");
    for (size_t i = 0; i < n; i++)
        if (isnan(weights[i]))
            return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "pass numbers; use 0 for no weight",
                               "weight %zu of a threshold is not a number", i);
    return NCOLL_OK;
}

/* Returns how many of the marks are set. */
static size_t count_marks(const uint8_t *marks, size_t n)
{
    size_t set = 0;

    for (size_t i = 0; i < n; i++)
        set += marks[i] != 0;
    return set;
}

/* Checks the elements that are in, according to the status of the earlier call. Their positions are
 * checked only if this rank needs them. */
static int check_elements_in(struct ncoll_group *g, const struct threshold_call *c)
{
    const ncoll_threshold_status *after = c->threshold.after;
    bool needed = weights_read(g, c) > 0 || (c->status != NULL && c->status->element_in != NULL);

    if (after->elements > c->count)
        return bad(g, "pass the status that the earlier call has set",
                   "more elements are in, according to `after`, than the vector has");
    if (c->threshold.of != NCOLL_THRESHOLD_HEAVIEST || !needed || c->count == 0)
        return NCOLL_OK;
    if (after->element_in == NULL)
        return bad(g, "give the status of the earlier call an array element_in",
                   "`after` does not say which elements are in");
    if (count_marks(after->element_in, c->count) != after->elements)
        return bad(g, "pass the status that the earlier call has set",
                   "`after` has another number of elements than its element_in");
    return NCOLL_OK;
}

static int check_ranks_in(struct ncoll_group *g, const struct threshold_call *c)
{
    const ncoll_threshold_status *after = c->threshold.after;

    if (after->rank_in == NULL)
        return bad(g, "give the status of the earlier call an array rank_in",
                   "`after` does not say which ranks are in");
    if (after->rank_in[c->root] == 0)
        return bad(g, "go on with the same root", "the root is not in, according to `after`");
    if (count_marks(after->rank_in, (size_t)g->size) != (size_t)after->ranks)
        return bad(g, "pass the status that the earlier call has set",
                   "`after` has another number of ranks than its rank_in");
    if (c->collective == COLL_REDUCE && c->op == NCOLL_SUM_REPRODUCIBLE)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_POSSIBLE), -1,
                           "add all ranks in one call, or use NCOLL_SUM",
                           "a reproducible sum cannot go on with a result that was rounded");
    return NCOLL_OK;
}

static int check_after(struct ncoll_group *g, const struct threshold_call *c)
{
    const ncoll_threshold_status *after = c->threshold.after;

    if (after == NULL)
        return NCOLL_OK;
    if (after->size != sizeof *after)
        return bad(g, "set its size to sizeof(ncoll_threshold_status)",
                   "`after` of a threshold has another size");
    if (after->of != c->threshold.of || after->count != c->count)
        return bad(g, "go on with the same kind and the same count",
                   "`after` is of a threshold of another kind, or of another count");
    return c->threshold.of == NCOLL_THRESHOLD_RANKS ? check_ranks_in(g, c)
                                                    : check_elements_in(g, c);
}

static int check_threshold(struct ncoll_group *g, const struct threshold_call *c)
{
    const ncoll_threshold *t = &c->threshold;
    struct op op = {.commutative = true};
    int rc = NCOLL_OK;

    if (t->of != NCOLL_THRESHOLD_DATA && t->of != NCOLL_THRESHOLD_HEAVIEST &&
        t->of != NCOLL_THRESHOLD_RANKS)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use NCOLL_THRESHOLD_DATA, _HEAVIEST or _RANKS",
                           "a threshold is of kind %d, which is unknown", (int)t->of);
    if (!(t->fraction >= 0 && t->fraction <= 1))
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "use a fraction from 0 to 1",
                           "the fraction of a threshold is %g", t->fraction);
    if (c->status != NULL && c->status->size != sizeof *c->status)
        return bad(g, "set its size to sizeof(ncoll_threshold_status)",
                   "the status of a threshold has another size");
    if (c->collective == COLL_REDUCE)
        rc = ncoll__op_resolve(g->ctx, c->op, c->type, &op);
    if (rc == NCOLL_OK && t->of == NCOLL_THRESHOLD_RANKS && !op.commutative)
        return ncoll__fail(g->ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_POSSIBLE), -1,
                           "use a fraction of the data, or an operation that commutes",
                           "a fraction of the ranks is combined in another order, and the "
                           "operation does not commute");
    if (rc == NCOLL_OK)
        rc = check_weights(g, c);
    return rc == NCOLL_OK ? check_after(g, c) : rc;
}

/* Checks the arguments as if the call were for all data and all ranks, and then the threshold. */
static int check(struct ncoll_group *g, const struct threshold_call *c)
{
    /* when a reduce of ranks goes on, the root starts from its earlier result in `out` */
    bool goes_on = c->collective == COLL_REDUCE && c->threshold.of == NCOLL_THRESHOLD_RANKS &&
                   c->threshold.after != NULL && g->rank == c->root;
    const struct call_args whole = {.collective = c->collective,
                                    .in = goes_on ? c->out : c->in,
                                    .out = c->out,
                                    .count = c->count,
                                    .type = c->type,
                                    .op = c->op,
                                    .root = c->root};
    int rc = ncoll__check_args(g, &whole);

    if (rc == NCOLL_OK && c->threshold.size != sizeof c->threshold)
        rc = bad(g, "pass a threshold, with its size set to sizeof(ncoll_threshold)",
                 "the threshold is NULL, or has another size");
    return rc == NCOLL_OK ? check_threshold(g, c) : rc;
}

/* ------------------------------------------------------------------ calls --------------------- */

static int make(struct ncoll_group *g, const struct threshold_call *c, struct threshold **t)
{
    int rc = check(g, c);

    return rc == NCOLL_OK ? ncoll__threshold_make(g, c, t) : rc;
}

static bool is_unfinished(const struct ncoll_group *g, const struct threshold *t)
{
    return g->known.unfinished != NULL && g->known.unfinished->args.made == t;
}

/* Makes a blocking call, or goes on with the one that has timed out, with the same threshold. */
static int call(struct ncoll_group *g, const struct threshold_call *c, int64_t timeout_ns)
{
    struct threshold *t;
    int rc;

    ENTER(g->ctx);
    t = g->known.unfinished != NULL ? g->known.unfinished->args.made : NULL;
    if ((t == NULL || !ncoll__threshold_is_of(t, c)) && (rc = make(g, c, &t)) != NCOLL_OK)
        return rc;
    rc = ncoll__call(g, &t->args, timeout_ns);
    if (!is_unfinished(g, t))
        ncoll__threshold_leave(g, t);
    return rc;
}

static int start(struct ncoll_group *g, const struct threshold_call *c, ncoll_request **request)
{
    struct threshold *t;
    int rc;

    ENTER(g->ctx);
    if ((rc = make(g, c, &t)) != NCOLL_OK)
        return rc;
    rc = ncoll__call_start(g, &t->args, request);
    ncoll__threshold_leave(g, t);
    return rc;
}

/* Makes a persistent request, which keeps the threshold. */
static int init(struct ncoll_group *g, const struct threshold_call *c, ncoll_request **request)
{
    struct threshold *t;
    int rc;

    ENTER(g->ctx);
    if ((rc = make(g, c, &t)) != NCOLL_OK)
        return rc;
    if ((rc = ncoll__call_init(g, &t->args, request)) != NCOLL_OK)
        ncoll__threshold_leave(g, t);
    return rc;
}

static struct threshold_call bcast(void *buffer, size_t count, ncoll_type type, int root,
                                   const ncoll_threshold *threshold, ncoll_threshold_status *status)
{
    return (struct threshold_call){
        .collective = COLL_BCAST,
        .in = buffer,
        .out = buffer,
        .count = count,
        .type = type,
        .root = root,
        .threshold = threshold != NULL ? *threshold : (ncoll_threshold){0},
        .status = status,
    };
}

static struct threshold_call reduce(const void *in, void *out, size_t count, ncoll_type type,
                                    ncoll_op op, int root, const ncoll_threshold *threshold,
                                    ncoll_threshold_status *status)
{
    struct threshold_call c = bcast(out, count, type, root, threshold, status);

    c.collective = COLL_REDUCE;
    c.in = in;
    c.op = op;
    return c;
}

int ncoll_bcast_threshold(ncoll_group *group, void *buffer, size_t count, ncoll_type type, int root,
                          const ncoll_threshold *threshold, ncoll_threshold_status *status,
                          int64_t timeout_ns)
{
    struct threshold_call c = bcast(buffer, count, type, root, threshold, status);
    return is_group(group) ? call(group, &c, timeout_ns) : NCOLL_ERR_HANDLE;
}

int ncoll_bcast_threshold_start(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                                int root, const ncoll_threshold *threshold,
                                ncoll_threshold_status *status, ncoll_request **request)
{
    struct threshold_call c = bcast(buffer, count, type, root, threshold, status);
    return is_group(group) ? start(group, &c, request) : NCOLL_ERR_HANDLE;
}

int ncoll_bcast_threshold_init(ncoll_group *group, void *buffer, size_t count, ncoll_type type,
                               int root, const ncoll_threshold *threshold,
                               ncoll_threshold_status *status, ncoll_request **request)
{
    struct threshold_call c = bcast(buffer, count, type, root, threshold, status);
    return is_group(group) ? init(group, &c, request) : NCOLL_ERR_HANDLE;
}

int ncoll_reduce_threshold(ncoll_group *group, const void *in, void *out, size_t count,
                           ncoll_type type, ncoll_op op, int root, const ncoll_threshold *threshold,
                           ncoll_threshold_status *status, int64_t timeout_ns)
{
    struct threshold_call c = reduce(in, out, count, type, op, root, threshold, status);
    return is_group(group) ? call(group, &c, timeout_ns) : NCOLL_ERR_HANDLE;
}

int ncoll_reduce_threshold_start(ncoll_group *group, const void *in, void *out, size_t count,
                                 ncoll_type type, ncoll_op op, int root,
                                 const ncoll_threshold *threshold, ncoll_threshold_status *status,
                                 ncoll_request **request)
{
    struct threshold_call c = reduce(in, out, count, type, op, root, threshold, status);
    return is_group(group) ? start(group, &c, request) : NCOLL_ERR_HANDLE;
}

int ncoll_reduce_threshold_init(ncoll_group *group, const void *in, void *out, size_t count,
                                ncoll_type type, ncoll_op op, int root,
                                const ncoll_threshold *threshold, ncoll_threshold_status *status,
                                ncoll_request **request)
{
    struct threshold_call c = reduce(in, out, count, type, op, root, threshold, status);
    return is_group(group) ? init(group, &c, request) : NCOLL_ERR_HANDLE;
}
