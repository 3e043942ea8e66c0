/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

/* Operations of the program's own on elements of up to 256 KiB, each a vector of ints. */
static void sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int bytes;

    MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *length * (bytes / (int)sizeof(int)); i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void check_sums(const struct call *c, int last, int offset)
{
    int ints, n = c->count;

    MPI_Type_size(c->type, &ints);
    ints /= (int)sizeof(int);
    CHECK_EACH(i, n * ints, (int *)c->out, sum_of_values(0, last, offset * ints + i),
               "%s of %d elements of %d ints", collective_names[c->collective], n, ints);
}

static void check_call(const struct call *c)
{
    if (c->collective == ALLREDUCE || (c->collective == REDUCE && c->rank == c->root))
        check_sums(c, c->size, 0);
    else if (c->collective == SCAN || (c->collective == EXSCAN && c->rank > 0))
        check_sums(c, c->rank + (c->collective == SCAN), 0);
    else if (c->collective == REDUCE_SCATTER || c->collective == REDUCE_SCATTER_BLOCK)
        check_sums(c, c->size, c->rank * c->count);
}

static void clear(const struct call *c)
{
    int bytes;

    MPI_Type_size(c->type, &bytes);
    memset(c->out, 0, (size_t)bytes * (size_t)c->count);
}

/* In all three forms. */
static void forms(struct call *c)
{
    MPI_Request request;

    clear(c);
    CALL(BLOCKING, c, );
    check_call(c);
    clear(c);
    CALL(NONBLOCKING, c, , &request);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_call(c);
#ifdef PERSISTENT
    CALL(PERSISTENT, c, , MPI_INFO_NULL, &request);
    for (int time = 0; time < 2; time++) {
        clear(c);
        OK(MPI_Start(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check_call(c);
    }
    OK(MPI_Request_free(&request));
#endif
}

static void all_reductions(MPI_Comm comm, int rank, int size, int ints, int count)
{
    static const enum collective collectives[] = {ALLREDUCE, REDUCE,         SCAN,
                                                  EXSCAN,    REDUCE_SCATTER, REDUCE_SCATTER_BLOCK};
    struct call c = {.comm = comm, .rank = rank, .size = size, .count = count, .root = size - 1};

    c.in = take_values(rank, ints * count * size);
    c.out = take((size_t)ints * (size_t)count * sizeof(int));
    c.counts = malloc((size_t)size * sizeof *c.counts);
    for (int i = 0; i < size; i++)
        c.counts[i] = count;
    OK(MPI_Type_contiguous(ints, MPI_INT, &c.type));
    OK(MPI_Type_commit(&c.type));
    for (int commutes = 0; commutes < 2; commutes++) {
        OK(MPI_Op_create(sum, commutes, &c.op));
        for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
            c.collective = collectives[i];
            forms(&c);
        }
        OK(MPI_Op_free(&c.op));
    }
    OK(MPI_Type_free(&c.type));
    free(c.counts);
    give(c.out);
    give(c.in);
}

PROGRAM(user_operation_large, "an operation of the program's own on large elements", .alone = true)
{
    static const int ints[] = {8192, 65536};

    for (int i = 0; i < 2; i++)
        all_reductions(MPI_COMM_WORLD, me, ranks, ints[i], 1);
}
