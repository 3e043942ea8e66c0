/* SPDX-License-Identifier: BSD-3-Clause */
#include "types.h"

#define N 67

/* Every operation on every type that takes it, in an allreduce and in a reduce. */
static void one(const struct operation *operation, const struct type *type)
{
    char *in = take(N * type->bytes), *out = take(N * type->bytes), *result = take(N * type->bytes);
    int root = (int)shared((unsigned)ranks) * (N * type->bytes <= 2048); /* see in_place.c */

    for (int i = 0; i < N; i++) {
        int all = small(operation, type, 0, i);

        type->put(in, i, small(operation, type, me, i));
        for (int r = 1; r < ranks; r++)
            all = operation->of(all, small(operation, type, r, i));
        type->put(result, i, all);
    }
    OK(MPI_Allreduce(in, out, N, type->type, operation->op, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        if (!CHECK(type->get(out, i) == type->get(result, i), "allreduce, %s of %s: %d, not %d",
                   operation->name, type->name, type->get(out, i), type->get(result, i)))
            break;
    OK(MPI_Reduce(me == root ? MPI_IN_PLACE : in, in, N, type->type, operation->op, root,
                  MPI_COMM_WORLD));
    for (int i = 0; i < N && me == root; i++)
        if (!CHECK(type->get(in, i) == type->get(result, i), "reduce, %s of %s: %d, not %d",
                   operation->name, type->name, type->get(in, i), type->get(result, i)))
            break;
    give(in);
    give(out);
    give(result);
}

PROGRAM(operations, "every predefined operation on every type that takes it")
{
    int pairs = 0;

    for (const struct operation *operation = all_operations(); operation->name != NULL; operation++)
        for (const struct type *type = all_types(); type->name != NULL; type++)
            if (takes(operation, type)) {
                one(operation, type);
                pairs++;
            }
    CHECK(pairs > 200, "%d pairs of operation and type", pairs);
}
