/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts that follow from the checked arguments of a call: its operation, and the bytes that it
 * moves. */
#include "lib/base/signature.h"
#include "lib/compute/reproducible.h"
#include "lib/inspect.h"
#include "lib/base/group.h"
#include "lib/plan/arguments.h"
#include "lib/plan/compile.h"

int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out)
{
    if (op >= OP_USER && op - OP_USER < ctx->ops.count) {
        const ncoll_op_def *def = &ctx->ops.defs[op - OP_USER].def;
        bool commutative = def->flags & NCOLL_OP_COMMUTATIVE;
        *out = (struct op){
            .combine = def->combine,
            .inverse = commutative ? def->inverse : NULL,
            .arg = def->arg,
            .commutative = commutative,
            .idempotent = def->flags & NCOLL_OP_IDEMPOTENT,
            .exact = !ncoll__type_is_float(type),
        };
        return NCOLL_OK;
    }
    if (ncoll__op_builtin(op, type, out))
        return NCOLL_OK;
    if (ncoll__op_known(op))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, ncoll__type_advice(type),
                           "operation %s is not defined for %s", ncoll__op_name(op),
                           ncoll__type_name(type));
    return ncoll__fail(
        ctx, NCOLL_ERR_ARGUMENT, -1,
        "use one of NCOLL_SUM..NCOLL_SUM_REPRODUCIBLE or an operation from ncoll_op_create()",
        "operation %u is unknown", op);
}

size_t ncoll__element_bytes(const struct ncoll_context *ctx, const struct call_args *args)
{
    if (args->collective == COLL_BARRIER)
        return 1;
    if (reduces(args->collective) && args->op == NCOLL_SUM_REPRODUCIBLE)
        return sizeof(struct reproducible);
    return ncoll_context_type_size(ctx, args->type);
}

size_t ncoll__in_bytes(struct ncoll_group *g, const struct call_args *args)
{
    struct shape shape = ncoll__shape(g, args, 1, false);
    size_t element = ncoll_context_type_size(g->ctx, args->type), end = 0, next = 0;
    bool both =
        in_form(args->collective) == FORM_BLOCKS && out_form(args->collective) == FORM_BLOCKS;
    const size_t *counts = args->sends != NULL ? args->sends : args->counts;
    const size_t *displs = both ? args->send_displs : args->displs;

    if (!has_in(&shape) || in_form(args->collective) != FORM_BLOCKS)
        return block_count(&shape, shape.rank) * element;
    if (counts == NULL)
        return args->count * shape.size * element;
    for (unsigned q = 0; q < shape.size; q++) {
        next = (displs != NULL ? displs[q] : next) + counts[q];
        end = counts[q] > 0 && next > end ? next : end;
    }
    return end * element;
}

static const struct algorithm *base_algorithm(enum collective collective)
{
    bool blocks = collective == COLL_ALLGATHER || collective == COLL_ALLTOALL;

    return blocks ? &ncoll__bruck : &ncoll__dissemination;
}

struct call_args ncoll__base_call(enum collective collective, const void *in, void *out,
                                  size_t words, struct signature purpose)
{
    return (struct call_args){
        .collective = collective,
        .in = in,
        .out = out,
        .count = words,
        .type = NCOLL_INT64,
        .op = NCOLL_MIN,
        .radix = 1,
        .internal = true,
        .algorithm = base_algorithm(collective),
        .purpose = purpose,
        .once = true,
    };
}
