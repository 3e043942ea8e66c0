/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/repertoire.h"

#include <string.h>

#include "lib/compute/op.h"

static void add_builtin(struct repertoire *r, const struct operation *operation)
{
    struct op op = {0};

    ncoll__op_builtin(operation->op, operation->type, &op);
    r->pieces[r->n++] = (struct piece){
        .operation = *operation,
        .type = operation->type,
        .op = operation->op,
        .element = operation->size,
        .commutative = op.commutative,
        .idempotent = op.idempotent,
    };
}

static void add_users(struct repertoire *r, const struct operation *operation, struct user_op known)
{
    r->pieces[r->n++] = (struct piece){
        .operation = *operation,
        .type = known.type,
        .op = known.op,
        .element = operation->size,
        .commutative = operation->def->flags & NCOLL_OP_COMMUTATIVE,
        .idempotent = operation->def->flags & NCOLL_OP_IDEMPOTENT,
    };
}

int repertoire_open(struct repertoire *r, ncoll_context *ctx)
{
    struct operation builtin[OPERATIONS_MAX];
    unsigned n = reference_operations(builtin, OPERATIONS_MAX - USER_OPS);
    struct user_op known[USER_OPS];

    int rc = user_ops_register(ctx, known);
    if (rc != NCOLL_OK)
        return rc;
    r->n = 0;
    for (unsigned i = 0; i < n; i++)
        add_builtin(r, &builtin[i]);
    for (unsigned i = 0; i < USER_OPS; i++)
        add_users(r, &user_ops[i], known[i]);
    return NCOLL_OK;
}
