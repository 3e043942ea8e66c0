/* SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"
#include "own.h"
#include "types.h"

#define STEPS    40
#define OPEN_MAX 4
#define TYPES    5
#define COMMS    5

/* Random calls: collective, communicator, type, operation, count, root, in place or not, blocking or several at once.
 * MPI's own call on the same data says what the result has to be, byte by byte. */
struct trial {
    struct call call;
    const struct operation *operation; /* NULL: the call moves data */
    const struct type *number;
    bool in_place;
    size_t in_bytes, out_bytes;
    char *in, *out, *reference;
};

static MPI_Datatype moved[TYPES];
static MPI_Comm comms[COMMS];

static bool reduces(enum collective c)
{
    return c == REDUCE || c == ALLREDUCE || c == REDUCE_SCATTER || c == REDUCE_SCATTER_BLOCK ||
           c == SCAN || c == EXSCAN;
}

/* Some short, some long; now and then none. */
static int draw_count(void)
{
    return (int)shared(shared(4) > 0 ? 12 : shared(5) > 0 ? 700 : 9000);
}

static void draw_blocks(struct trial *t, bool pairs)
{
    struct call *c = &t->call;
    int n = c->size, at[2] = {0, 0}, *table = malloc((size_t)ranks * (size_t)ranks * sizeof *table);
    MPI_Aint lower, extent;

    PMPI_Type_get_extent(c->type, &lower, &extent);
    for (int i = 0; i < ranks * ranks; i++) /* alike on communicators of other sizes */
        table[i] = shared(3) > 0 ? (int)shared((unsigned)c->count + 1) : 0;
    c->send_counts = malloc((size_t)n * sizeof(int));
    c->send_starts = malloc((size_t)n * sizeof(int));
    c->send_bytes = malloc((size_t)n * sizeof(int));
    c->counts = malloc((size_t)n * sizeof(int));
    c->starts = malloc((size_t)n * sizeof(int));
    c->bytes = malloc((size_t)n * sizeof(int));
    c->types = malloc((size_t)n * sizeof *c->types);
    for (int r = 0; r < n; r++) {
        c->types[r] = c->type;
        c->counts[r] = table[pairs ? r * n + c->rank : r];
        c->starts[r] = at[0];
        c->bytes[r] = at[0] * (int)extent;
        at[0] += c->counts[r] + (c->collective == REDUCE_SCATTER ? 0 : r % 3);
        c->send_counts[r] = table[pairs ? c->rank * n + r : r];
        c->send_starts[r] = at[1];
        c->send_bytes[r] = at[1] * (int)extent;
        at[1] += c->send_counts[r] + r % 2;
    }
    t->in_bytes = (size_t)(at[0] + at[1] + n * c->count + 2) * (size_t)extent;
    t->out_bytes = t->in_bytes;
    free(table);
}

static void fill(struct trial *t)
{
    struct call *c = &t->call;

    for (size_t i = 0; i < t->out_bytes; i++)
        t->out[i] = t->in[i] = (char)(own(250) + 1);
    if (t->operation != NULL)
        for (int i = 0; i < (int)(t->in_bytes / t->number->bytes); i++) {
            int number = small(t->operation, t->number, c->rank, i);

            t->number->put(t->in, i, number);
            t->number->put(t->out, i, number);
        }
}

static void draw_trial(struct trial *t)
{
    struct call *c = &t->call;

    *t = (struct trial){.operation = NULL};
    c->collective = shared(COLLECTIVES);
    c->comm = comms[shared(COMMS)];
    MPI_Comm_rank(c->comm, &c->rank);
    MPI_Comm_size(c->comm, &c->size);
    c->count = draw_count();
    c->root = (int)shared(1000) % c->size;
    c->type = moved[shared(TYPES)];
    if (reduces(c->collective)) {
        const struct type *types = all_types();
        int type_count = 0;

        while (types[type_count].name != NULL)
            type_count++;
        do {
            t->operation = &all_operations()[shared(10)];
            t->number = &types[shared((unsigned)type_count)];
        } while (!takes(t->operation, t->number) || t->number->type == MPI_LONG_DOUBLE ||
                 t->number->type == MPI_C_LONG_DOUBLE_COMPLEX); /* whose unused bytes may be any */
        c->type = t->number->type;
        c->op = t->operation->op;
    }
    draw_blocks(t, c->collective == ALLTOALLV || c->collective == ALLTOALLW);
    t->in = take(t->in_bytes);
    t->out = take(t->out_bytes);
    t->reference = take(t->out_bytes);
    next_values();
    fill(t);
    t->in_place = shared(4) == 0 && (c->collective == ALLREDUCE || c->collective == ALLGATHER ||
                                     c->collective == SCAN || c->collective == ALLGATHERV ||
                                     c->collective == ALLTOALL);
    memcpy(t->reference, t->out, t->out_bytes);
    c->in = t->in_place ? MPI_IN_PLACE : t->in;
    c->out = t->out;
}

static void compare(struct trial *t)
{
    struct call *c = &t->call;
    size_t at = 0;

    c->out = t->reference;
    CALL(MPIS_OWN, c, )
    if (c->collective == EXSCAN && c->rank == 0)
        return;
    while (at < t->out_bytes && t->out[at] == t->reference[at])
        at++;
    CHECK(at == t->out_bytes,
          "%s%s of %d, root %d, %d ranks, %s %s: byte %zu of %zu is other than MPI's",
          collective_names[c->collective], t->in_place ? " in place" : "", c->count, c->root,
          c->size, t->operation != NULL ? t->operation->name : "moved",
          t->number != NULL ? t->number->name : "data", at, t->out_bytes);
}

static void drop(struct trial *t)
{
    struct call *c = &t->call;
    void *arrays[] = {c->send_counts, c->send_starts, c->send_bytes, c->counts,
                      c->starts,      c->bytes,       c->types};

    for (int i = 0; i < 7; i++)
        free(arrays[i]);
    give(t->in);
    give(t->out);
    give(t->reference);
}

static void make_all(void)
{
    int lengths[2] = {1, 2}, at[2] = {3, 0};
    MPI_Datatype column;

    moved[0] = MPI_BYTE;
    moved[1] = MPI_DOUBLE;
    OK(MPI_Type_contiguous(3, MPI_INT, &moved[2]));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &column));
    OK(MPI_Type_create_resized(column, 0, 16, &moved[3]));
    OK(MPI_Type_indexed(2, lengths, at, MPI_SHORT, &moved[4]));
    for (int i = 2; i < TYPES; i++)
        OK(MPI_Type_commit(&moved[i]));
    OK(MPI_Type_free(&column));
    comms[0] = MPI_COMM_WORLD;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comms[2]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comms[3]));
    OK(MPI_Comm_split(MPI_COMM_WORLD, me > 0, (me * 5 + 2) % ranks, &comms[4]));
}

static void free_all(void)
{
    for (int i = 2; i < TYPES; i++)
        OK(MPI_Type_free(&moved[i]));
    for (int i = 1; i < COMMS; i++)
        OK(MPI_Comm_free(&comms[i]));
}

PROGRAM(random_calls, "random calls beside MPI's own ones (--seed, --rounds)")
{
    for (int round = 0; round < rounds; round++) {
        make_all();
        for (int step = 0; step < STEPS; step++) {
            int open = 1 + (int)shared(OPEN_MAX);
            bool blocking = shared(2) == 0;
            struct trial trials[OPEN_MAX];
            MPI_Request requests[OPEN_MAX];

            for (int i = 0; i < open; i++) {
                struct call *c = &trials[i].call;

                draw_trial(&trials[i]);
                if (blocking)
                    CALL(BLOCKING, c, )
                else
                    CALL(NONBLOCKING, c, , &requests[i])
            }
            if (!blocking)
                OK(MPI_Waitall(open, requests, MPI_STATUSES_IGNORE));
            for (int i = 0; i < open; i++) {
                compare(&trials[i]);
                drop(&trials[i]);
            }
        }
        free_all();
    }
}
