/* SPDX-License-Identifier: BSD-3-Clause */
/* The public calls of ncoll_eventual.h for stale-synchronous and partial allreduces. They check
 * arguments. */
#include <string.h>

#include "lib/api/calls.h"
#include "lib/api/check.h"
#include "lib/base/entry.h"
#include "lib/base/failure.h"
#include "lib/base/names.h"
#include "lib/base/signature.h"
#include "lib/base/type.h"
#include "lib/group/creation.h"
#include "lib/group/mailboxes.h"
#include "lib/plan/arguments.h"
#include "lib/run/call.h"

#define SLACK_MAX        65535
#define SLACK_CLOCKS_MAX 32766 /* an age takes 2 bytes: see append_ages() in lib/stale/mailbox.c */

static bool is_stale(const struct ncoll_stale *s)
{
    return s != NULL && s->magic == STALE_MAGIC;
}

/* ------------------------------------------------------------------ creation ----------------- */

static int bad_params(struct ncoll_context *ctx, const char *remedy, const char *cause, int value)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, remedy, cause, value);
#pragma GCC diagnostic pop
}

static int check_params(struct ncoll_context *ctx, const ncoll_stale_params *p)
{
    if (p->size != sizeof *p)
        return ncoll__fail(
            ctx, NCOLL_ERR_ARGUMENT, -1, "set their size to sizeof(ncoll_stale_params)",
            "the parameters have a size of %zu bytes in place of %zu", p->size, sizeof *p);
    if (p->max_slack < 0 || p->max_slack > SLACK_MAX)
        return bad_params(ctx, "use 0..65535", "max_slack is %d", p->max_slack);
    if (p->clocks < 0 || p->clocks > 1 || p->partial < 0 || p->partial > 1)
        return bad_params(ctx, "use 0 or 1",
                          p->clocks < 0 || p->clocks > 1 ? "clocks is %d" : "partial is %d",
                          p->clocks < 0 || p->clocks > 1 ? p->clocks : p->partial);
    if (p->clocks && p->max_slack > SLACK_CLOCKS_MAX)
        return bad_params(ctx, "use 0..32766, or no clocks", "max_slack is %d, with clocks",
                          p->max_slack);
    if ((int)p->algorithm < NCOLL_STALE_AUTO || (int)p->algorithm > NCOLL_STALE_RING)
        return bad_params(ctx, "use one of enum ncoll_stale_algorithm", "algorithm %d is unknown",
                          (int)p->algorithm);
    return NCOLL_OK;
}

static int check_op(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out)
{
    if (ncoll_context_type_size(ctx, type) == 0)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use NCOLL_INT8..NCOLL_DOUBLE_INT64 or a type from ncoll_type_create()",
                           "type %u is unknown", type);
    int rc = ncoll__op_resolve(ctx, op, type, out);
    if (rc == NCOLL_OK && (!out->commutative || op == NCOLL_SUM_REPRODUCIBLE))
        rc = ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "use an operation that commutes",
                         op == NCOLL_SUM_REPRODUCIBLE
                             ? "the results of different ranks differ, so the sum cannot be "
                               "reproducible"
                             : "the operation does not commute");
    return rc;
}

static ncoll_stale_params params_of(const ncoll_stale_params *params)
{
    ncoll_stale_params own = {.size = sizeof own, .max_slack = 16};

    if (params != NULL)
        own = *params;
    return own;
}

static uint64_t hash_of(struct ncoll_context *ctx, const struct ncoll_stale *s)
{
    const size_t numbers[] = {
        (size_t)s->params.max_slack,
        (size_t)s->params.algorithm,
        (size_t)s->params.clocks,
        (size_t)s->params.partial,
        s->count,
        (size_t)s->type,
        (size_t)s->op_name,
        ncoll__definition(&ctx->types, &ctx->ops, (unsigned)s->type, s->op_name),
    };
    uint64_t hash = ncoll__signature_hash(numbers, sizeof numbers / sizeof numbers[0]);

    return (hash & AMOUNT_MASK) | 1; /* never 0, which stands for a copy without mailboxes */
}

int ncoll_stale_create(ncoll_group *group, const ncoll_stale_params *params, size_t count,
                       ncoll_type type, ncoll_op op, ncoll_stale **stale, int64_t timeout_ns)
{
    struct ncoll_stale wanted;
    int rc;

    if (!is_group(group))
        return NCOLL_ERR_HANDLE;
    ENTER(group->ctx);
    if (stale == NULL)
        return ncoll__fail(group->ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer to an object",
                           "stale is NULL");
    if ((rc = ncoll__check_timeout(group, timeout_ns)) != NCOLL_OK)
        return rc;
    memset(&wanted, 0, sizeof wanted);
    wanted.params = params_of(params);
    if ((rc = check_params(group->ctx, &wanted.params)) != NCOLL_OK ||
        (rc = check_op(group->ctx, op, type, &wanted.op)) != NCOLL_OK)
        return rc;
    wanted.count = count;
    wanted.type = type;
    wanted.op_name = op;
    wanted.element = ncoll_context_type_size(group->ctx, type);
    if (count > PTRDIFF_MAX / wanted.element / 64 / (size_t)group->size)
        return ncoll__fail(group->ctx, NCOLL_ERR_ARGUMENT, -1, "check the count",
                           "mailboxes for %zu elements of %zu bytes are more than memory can hold",
                           count, wanted.element);
    if ((rc = ncoll__stale_measure(group, &wanted)) != NCOLL_OK)
        return rc;
    return ncoll__stale_create(group, &wanted, hash_of(group->ctx, &wanted), stale, timeout_ns);
}

int ncoll_stale_free(ncoll_stale **stale, int64_t timeout_ns)
{
    struct ncoll_stale *s = stale != NULL ? *stale : NULL;
    int rc;

    if (!is_stale(s))
        return NCOLL_ERR_HANDLE;
    struct ncoll_group *g = s->group;
    ENTER(g->ctx);
    if ((rc = ncoll__check_timeout(g, timeout_ns)) != NCOLL_OK)
        return rc;
    rc = ncoll__group_end(g, timeout_ns);
    if (g->magic == 0)
        *stale = NULL;
    return rc;
}

/* ------------------------------------------------------------------ calls -------------------- */

static inline int check_call(const struct ncoll_stale *s, bool partial, size_t count,
                             ncoll_type type, ncoll_op op, int slack)
{
    struct ncoll_context *ctx = s->group->ctx;
    int most = partial ? s->group->size : s->params.max_slack;

    if ((s->params.partial != 0) != partial)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           partial ? "create it with `partial`" : "create it without `partial`",
                           "the object is not for this collective");
    if (count != s->count || type != s->type || op != s->op_name)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "pass those of ncoll_stale_create(), or create another object",
                           "the object is for %zu elements of type %s and operation %s, not for "
                           "%zu of type %s and operation %s",
                           s->count, ncoll__type_name(s->type), ncoll__op_name(s->op_name), count,
                           ncoll__type_name(type), ncoll__op_name(op));
    if (slack >= 0 && slack <= most)
        return NCOLL_OK;
    return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                       partial ? "use 1..P, NCOLL_SOLO or NCOLL_MAJORITY"
                               : "use 0..max_slack, which ncoll_stale_create() sets",
                       partial ? "the quorum is %d, of %d ranks" : "the slack is %d, of at most %d",
                       slack, most);
}

static inline bool is_wrong(const ncoll_stale_result *result)
{
    return result != NULL && result->size != sizeof *result;
}

static int wrong_result(const struct ncoll_stale *s)
{
    return ncoll__fail(s->group->ctx, NCOLL_ERR_ARGUMENT, -1,
                       "set its size to sizeof(ncoll_stale_result)",
                       "the result of a stale-synchronous or partial allreduce has another size");
}

static unsigned quorum_of(const struct ncoll_stale *s, int quorum)
{
    return quorum == NCOLL_MAJORITY ? (unsigned)s->group->size / 2 + 1 : (unsigned)quorum;
}

/* Collects the arguments of a call, and checks them. partial: `slack` is the quorum. Returns
 * NCOLL_OK or an error. */
static inline __attribute__((always_inline)) int take_args(struct ncoll_stale *s, bool partial,
                                                           const void *in, void *out, size_t count,
                                                           ncoll_type type, ncoll_op op, int slack,
                                                           ncoll_stale_result *result,
                                                           struct call_args *args)
{
    bool checked = in != NULL && out != NULL && in == s->checked_in && out == s->checked_out;
    int rc = check_call(s, partial, count, type, op, slack);

    *args = (struct call_args){
        .collective = COLL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op};
    if (rc == NCOLL_OK && is_wrong(result))
        rc = wrong_result(s);
    if (rc == NCOLL_OK && !checked)
        rc = ncoll__check_args(s->group, args);
    if (rc != NCOLL_OK)
        return rc;
    s->checked_in = in;
    s->checked_out = out;
    args->sync = SYNC_STALE;
    args->root = partial ? (int)quorum_of(s, slack) : slack;
    args->result = result;
    return NCOLL_OK;
}

static int end_synchronous(struct ncoll_stale *s, ncoll_stale_result *result, int rc)
{
    const struct call done = {.args = {.result = result}, .clock = s->blocking_clock};

    if (rc == NCOLL_OK && result != NULL)
        ncoll__stale_result(s, &done);
    return rc;
}

/* Makes a blocking call with slack 0, which is an ordinary call of the group. The call gets its
 * clock when it begins, since other ranks may go on meanwhile, and send messages of later calls. A
 * call that could not begin is not counted. */
static int call_synchronous(struct ncoll_stale *s, const void *in, void *out,
                            ncoll_stale_result *result, int64_t timeout_ns)
{
    struct ncoll_group *g = s->group;
    uint64_t floor, restart = s->restart, begun = g->known.begun;
    bool begins = g->known.unfinished == NULL && g->creating == NULL && timeout_ns >= 0;

    if (begins)
        s->blocking_clock = ncoll__stale_count(s, 0, &floor);
    int rc = ncoll__call_allreduce(g, in, out, s->count, s->type, s->op_name, timeout_ns);
    if (begins && rc != NCOLL_OK && rc != NCOLL_TIMEOUT && g->known.begun == begun) {
        s->clock--;
        s->restart = restart;
    }
    return end_synchronous(s, result, rc);
}

/* The short path of a call with slack 0. Returns true if the call has been made. The group's
 * expected call has been made on this object before, so its arguments need no check. */
static inline __attribute__((always_inline)) bool
call_expected(struct ncoll_stale *s, const void *in, void *out, size_t count, ncoll_type type,
              ncoll_op op, ncoll_stale_result *result, int64_t timeout_ns, int *rc)
{
    const struct plain_args args = {
        .collective = COLL_ALLREDUCE, .in = in, .out = out, .count = count, .type = type, .op = op};
    struct ncoll_group *g = s->group;
    uint64_t floor;

    if (__builtin_expect(timeout_ns < 0 || is_wrong(result) || !ncoll__call_is_expected(g, &args),
                         0))
        return false;
    s->blocking_clock = ncoll__stale_count(s, 0, &floor);
    *rc = ncoll__call_plain(g, g->known.latest->then, timeout_ns);
    if (result != NULL)
        end_synchronous(s, result, *rc);
    return true;
}

static int call(struct ncoll_stale *s, const struct call_args *args, int64_t timeout_ns)
{
    if (args->root == 0)
        return call_synchronous(s, args->in, args->out, args->result, timeout_ns);
    return ncoll__call_blocking_known(s->group, &s->known, args, timeout_ns);
}

/* Defines the three calls (blocking, start, init) of a collective. number: its slack or quorum. */
#define EACH(name, is_partial, number)                                                             \
    int ncoll_allreduce_##name(ncoll_stale *stale, const void *in, void *out, size_t count,        \
                               ncoll_type type, ncoll_op op, int number,                           \
                               ncoll_stale_result *result, int64_t timeout_ns)                     \
    {                                                                                              \
        struct call_args args;                                                                     \
        int rc;                                                                                    \
        if (!is_stale(stale))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        ENTER(stale->group->ctx);                                                                  \
        if (!(is_partial) && (number) == 0 &&                                                      \
            call_expected(stale, in, out, count, type, op, result, timeout_ns, &rc))               \
            return rc;                                                                             \
        rc = take_args(stale, is_partial, in, out, count, type, op, number, result, &args);        \
        return rc == NCOLL_OK ? call(stale, &args, timeout_ns) : rc;                               \
    }                                                                                              \
    int ncoll_allreduce_##name##_start(ncoll_stale *stale, const void *in, void *out,              \
                                       size_t count, ncoll_type type, ncoll_op op, int number,     \
                                       ncoll_stale_result *result, ncoll_request **request)        \
    {                                                                                              \
        struct call_args args;                                                                     \
        int rc;                                                                                    \
        if (!is_stale(stale))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        ENTER(stale->group->ctx);                                                                  \
        rc = take_args(stale, is_partial, in, out, count, type, op, number, result, &args);        \
        return rc == NCOLL_OK ? ncoll__request_of(stale->group, &args, true, request) : rc;        \
    }                                                                                              \
    int ncoll_allreduce_##name##_init(ncoll_stale *stale, const void *in, void *out, size_t count, \
                                      ncoll_type type, ncoll_op op, int number,                    \
                                      ncoll_stale_result *result, ncoll_request **request)         \
    {                                                                                              \
        struct call_args args;                                                                     \
        int rc;                                                                                    \
        if (!is_stale(stale))                                                                      \
            return NCOLL_ERR_HANDLE;                                                               \
        ENTER(stale->group->ctx);                                                                  \
        rc = take_args(stale, is_partial, in, out, count, type, op, number, result, &args);        \
        return rc == NCOLL_OK ? ncoll__request_of(stale->group, &args, false, request) : rc;       \
    }

EACH(ssp, false, slack)
EACH(partial, true, quorum)
