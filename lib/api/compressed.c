/* SPDX-License-Identifier: BSD-3-Clause */
/* The public compressed collectives: with a time-out, as a request, and as a persistent request. */
#include "lib/api/calls.h"
#include "lib/api/check.h"
#include "lib/api/compressor.h"
#include "lib/base/entry.h"
#include "lib/base/failure.h"
#include "lib/base/names.h"
#include "lib/base/signature.h"
#include "lib/run/call.h"
#include "lib/run/compressed.h"

/* ------------------------------------------------------------------ checks -------------------- */

static int check_compressor(struct ncoll_group *g, const struct call_args *a)
{
    const struct ncoll_compressor *z = a->compressor;

    if (z->group != g)
        return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "make a compressor for this group",
                           "the compressor (codec \"%s\") is for %s", z->name.text,
                           z->group != NULL ? "another group" : "a group that has been freed");
    if (a->count != z->count || a->type != z->type)
        return ncoll__fail(
            g->ctx, NCOLL_ERR_ARGUMENT, -1, "make a compressor for these vectors",
            "the compressor (codec \"%s\") is for %zu elements of type %s, not for %zu "
            "of type %s",
            z->name.text, z->count, ncoll__type_name(z->type), a->count, ncoll__type_name(a->type));
    return NCOLL_OK;
}

/* Checks the arguments as if the call were without compression. The root of a bcast has two
 * buffers, `in` and `out`, which are checked here, too. */
static int check_args(struct ncoll_group *g, const struct call_args *a, ncoll_op op)
{
    struct call_args plain = *a;
    int rc;

    plain.op = op;
    if (a->collective == COLL_BCAST)
        plain.in = plain.out;
    if ((rc = ncoll__check_args(g, &plain)) != NCOLL_OK ||
        (rc = check_compressor(g, a)) != NCOLL_OK)
        return rc;
    if (a->collective == COLL_BCAST && a->root == g->rank)
        return ncoll__check_apart(g, a->in, a->out, a->count * a->compressor->element);
    if (a->collective == COLL_BCAST || op == NCOLL_SUM)
        return NCOLL_OK;
    return ncoll__fail(
        g->ctx, NCOLL_ERR_ARGUMENT, -1, "use NCOLL_SUM, or ncoll_allreduce() without compression",
        "a compressed allreduce cannot do operation %s: what a codec loses is made up "
        "for in a later sum, which no other operation can do",
        ncoll__op_name(op));
}

/* ------------------------------------------------------------------ calls --------------------- */

static int call(struct ncoll_group *g, const struct call_args *args, ncoll_op op,
                int64_t timeout_ns)
{
    int rc;

    if (!is_group(g) || !is_compressor(args->compressor))
        return NCOLL_ERR_HANDLE;
    ENTER(g->ctx);
    if ((rc = check_args(g, args, op)) != NCOLL_OK)
        return rc;
    rc = ncoll__call_blocking_known(g, &args->compressor->known, args, timeout_ns);
    return rc == NCOLL_ERR_CODEC ? ncoll__compressed_fail(args->compressor) : rc;
}

/* Makes a request: one that is started, if start is true, else a persistent one. */
static int make_request(struct ncoll_group *g, const struct call_args *args, ncoll_op op,
                        bool start, ncoll_request **request)
{
    if (!is_group(g) || !is_compressor(args->compressor))
        return NCOLL_ERR_HANDLE;
    ENTER(g->ctx);
    int rc = check_args(g, args, op);
    return rc == NCOLL_OK ? ncoll__request_of(g, args, start, request) : rc;
}

/* ------------------------------------------------------------------ the collectives ----------- */

static struct call_args allreduce(const struct ncoll_group *g, ncoll_compressor *compressor,
                                  const void *in, void *out, size_t count, ncoll_type type)
{
    return (struct call_args){.collective = COLL_ALLREDUCE,
                              .compressor = compressor,
                              .in = in,
                              .out = out,
                              .count = count,
                              .type = type,
                              .op = OP_CODEC,
                              .sync = g != NULL ? g->sync : NCOLL_LOOSE};
}

static struct call_args bcast(const struct ncoll_group *g, ncoll_compressor *compressor,
                              const void *in, void *out, size_t count, ncoll_type type, int root)
{
    struct call_args args = allreduce(g, compressor, in, out, count, type);

    args.collective = COLL_BCAST;
    args.root = root;
    return args;
}

int ncoll_allreduce_compressed(ncoll_group *group, ncoll_compressor *compressor, const void *in,
                               void *out, size_t count, ncoll_type type, ncoll_op op,
                               int64_t timeout_ns)
{
    const struct call_args args = allreduce(group, compressor, in, out, count, type);
    return call(group, &args, op, timeout_ns);
}

int ncoll_allreduce_compressed_start(ncoll_group *group, ncoll_compressor *compressor,
                                     const void *in, void *out, size_t count, ncoll_type type,
                                     ncoll_op op, ncoll_request **request)
{
    const struct call_args args = allreduce(group, compressor, in, out, count, type);
    return make_request(group, &args, op, true, request);
}

int ncoll_allreduce_compressed_init(ncoll_group *group, ncoll_compressor *compressor,
                                    const void *in, void *out, size_t count, ncoll_type type,
                                    ncoll_op op, ncoll_request **request)
{
    const struct call_args args = allreduce(group, compressor, in, out, count, type);
    return make_request(group, &args, op, false, request);
}

int ncoll_bcast_compressed(ncoll_group *group, ncoll_compressor *compressor, const void *in,
                           void *out, size_t count, ncoll_type type, int root, int64_t timeout_ns)
{
    const struct call_args args = bcast(group, compressor, in, out, count, type, root);
    return call(group, &args, 0, timeout_ns);
}

int ncoll_bcast_compressed_start(ncoll_group *group, ncoll_compressor *compressor, const void *in,
                                 void *out, size_t count, ncoll_type type, int root,
                                 ncoll_request **request)
{
    const struct call_args args = bcast(group, compressor, in, out, count, type, root);
    return make_request(group, &args, 0, true, request);
}

int ncoll_bcast_compressed_init(ncoll_group *group, ncoll_compressor *compressor, const void *in,
                                void *out, size_t count, ncoll_type type, int root,
                                ncoll_request **request)
{
    const struct call_args args = bcast(group, compressor, in, out, count, type, root);
    return make_request(group, &args, 0, false, request);
}
