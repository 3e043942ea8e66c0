/* SPDX-License-Identifier: BSD-3-Clause */
#include "types.h"

#define N 31

static int number(const struct type *type, int rank, int i)
{
    return value(rank, i) % (type->kind == LOGICAL ? 2 : 100);
}

static void one(const struct type *type)
{
    char *in = take(N * type->bytes), *out = take((size_t)ranks * N * type->bytes);
    int root = (int)shared((unsigned)ranks);

    for (int i = 0; i < N; i++)
        type->put(in, i, number(type, me, i));
    OK(MPI_Allgather(in, N, type->type, out, N, type->type, MPI_COMM_WORLD));
    for (int i = 0; i < ranks * N; i++)
        if (!CHECK(type->get(out, i) == number(type, i / N, i % N), "allgather of %s", type->name))
            break;
    OK(MPI_Bcast(in, N, type->type, root, MPI_COMM_WORLD));
    for (int i = 0; i < N; i++)
        if (!CHECK(type->get(in, i) == number(type, root, i), "bcast of %s", type->name))
            break;
    give(in);
    give(out);
}

PROGRAM(moved_types, "every predefined type in calls that move data")
{
    int types = 0;

    for (const struct type *type = all_types(); type->name != NULL; type++, types++)
        one(type);
    CHECK(types > 30, "%d types", types);
}
