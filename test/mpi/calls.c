/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

const char *const collective_names[COLLECTIVES] = {
    "barrier",  "bcast",     "reduce",    "allreduce",      "gather",
    "gatherv",  "scatter",   "scatterv",  "allgather",      "allgatherv",
    "alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block",
    "scan",     "exscan"};

/* Ints in the send and in the receive buffer of a rank. */
static int length_of(const struct call *c, bool sends)
{
    bool at_root = c->rank == c->root;

    switch (c->collective) {
    case BARRIER:
        return 0;
    case BCAST:
        return sends ? 0 : c->count;
    case REDUCE:
        return sends || at_root ? c->count : 0;
    case ALLREDUCE:
    case SCAN:
    case EXSCAN:
        return c->count;
    case GATHER:
    case GATHERV:
        return sends ? c->count : at_root ? c->count * c->size : 0;
    case SCATTER:
    case SCATTERV:
        return !sends ? c->count : at_root ? c->count * c->size : 0;
    case ALLGATHER:
    case ALLGATHERV:
        return sends ? c->count : c->count * c->size;
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        return sends ? c->count * c->size : c->count;
    default:
        return c->count * c->size;
    }
}

void call_fill(struct call *c, int salt)
{
    int n = length_of(c, true);

    c->salt = salt;
    for (int i = 0; i < n; i++)
        ((int *)c->in)[i] = value(c->rank, i + salt);
    if (c->collective == BCAST && c->rank == c->root)
        for (int i = 0; i < c->count; i++)
            ((int *)c->out)[i] = value(c->root, i + salt);
    else
        memset(c->out, 0xff, (size_t)length_of(c, false) * sizeof(int));
}

void call_make(struct call *c, enum collective collective, MPI_Comm comm, int count, int root,
               int salt)
{
    *c = (struct call){.collective = collective,
                       .comm = comm,
                       .count = count,
                       .root = root,
                       .type = MPI_INT,
                       .op = MPI_SUM};
    PMPI_Comm_rank(comm, &c->rank);
    PMPI_Comm_size(comm, &c->size);
    c->in = take((size_t)length_of(c, true) * sizeof(int));
    c->out = take((size_t)length_of(c, false) * sizeof(int));
    c->counts = take((size_t)c->size * sizeof(int));
    c->starts = take((size_t)c->size * sizeof(int));
    c->bytes = take((size_t)c->size * sizeof(int));
    c->types = take((size_t)c->size * sizeof *c->types);
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = count;
        c->starts[r] = r * count;
        c->bytes[r] = r * count * (int)sizeof(int);
        c->types[r] = MPI_INT;
    }
    c->send_counts = c->counts;
    c->send_starts = c->starts;
    c->send_bytes = c->bytes;
    call_fill(c, salt);
}

void call_block(struct call *c)
{
    CALL(BLOCKING, c, )
}

void call_start(struct call *c, MPI_Request *request)
{
    CALL(NONBLOCKING, c, , request)
}

bool call_init(struct call *c, MPI_Request *request)
{
#ifdef PERSISTENT
    CALL(PERSISTENT, c, , MPI_INFO_NULL, request)
    return true;
#else
    (void)c;
    (void)request;
    not_run("this MPI has no persistent collectives");
    return false;
#endif
}

static int expected(const struct call *c, int i)
{
    int n = c->count, block = n > 0 ? i / n : 0, at = n > 0 ? i % n : 0, salt = c->salt;

    switch (c->collective) {
    case BCAST:
        return value(c->root, i + salt);
    case REDUCE:
    case ALLREDUCE:
        return sum_of_values(0, c->size, i + salt);
    case GATHER:
    case GATHERV:
    case ALLGATHER:
    case ALLGATHERV:
        return value(block, at + salt);
    case SCATTER:
    case SCATTERV:
        return value(c->root, c->rank * n + i + salt);
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
        return value(block, c->rank * n + at + salt);
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        return sum_of_values(0, c->size, c->rank * n + i + salt);
    case SCAN:
        return sum_of_values(0, c->rank + 1, i + salt);
    case EXSCAN:
        return sum_of_values(0, c->rank, i + salt);
    default:
        return 0;
    }
}

void call_check(const struct call *c)
{
    if (c->collective != EXSCAN || c->rank > 0)
        CHECK_EACH(i, length_of(c, false), (int *)c->out, expected(c, i),
                   "%s of %d on %d ranks, root %d", collective_names[c->collective], c->count,
                   c->size, c->root);
    CHECK_EACH(i, length_of(c, true), (int *)c->in, value(c->rank, i + c->salt),
               "what a %s has sent", collective_names[c->collective]);
}

void call_free(struct call *c)
{
    give(c->in);
    give(c->out);
    give(c->counts);
    give(c->starts);
    give(c->bytes);
    give(c->types);
}
