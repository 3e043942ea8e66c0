/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective of MPI in every form, on several communicators, with results that are known.
 * Ranks describe the same data by different types: where one has it in one piece, the next one has
 * gaps in it, which must stay as they are. It runs with the drop-in and without it; with it, the
 * report says whether ncoll has served the calls (the script `check`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#if defined(OPEN_MPI)
#include <mpi-ext.h>
#endif

#if MPI_VERSION >= 4
#define PERSISTENT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define PERSISTENT(name) MPIX_##name##_init
#endif

enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

static MPI_Comm comm;
static int rank, size;
static enum form form;
static MPI_Datatype spaced; /* an int, and a gap of one */
static int failures;
static const char *where;

static void expect(const char *what, int index, long long got, long long wanted)
{
    if (got == wanted || failures++ > 20)
        return;
    fprintf(stderr, "each: %s, %s, form %d: rank %d of %d, element %d is %lld, not %lld\n", where,
            what, (int)form, rank, size, index, got, wanted);
}

/* Ends a request of any form; persistent ones are started twice. */
static void finish(MPI_Request *request)
{
    if (form == PERSISTENT) {
        for (int i = 0; i < 2; i++) {
            MPI_Start(request);
            MPI_Wait(request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(request);
    } else {
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
}

#ifdef PERSISTENT
#define CALL_PERSISTENT(Name, ...)                                                                 \
    PERSISTENT(Name)(__VA_ARGS__, comm, MPI_INFO_NULL, &request_);                                 \
    finish(&request_)
#else
#define CALL_PERSISTENT(Name, ...) MPI_##Name(__VA_ARGS__, comm)
#endif
#define CALL(Name, name, ...)                                                                      \
    do {                                                                                           \
        MPI_Request request_;                                                                      \
        if (form == BLOCKING) {                                                                    \
            MPI_##Name(__VA_ARGS__, comm);                                                         \
        } else if (form == NONBLOCKING) {                                                          \
            MPI_I##name(__VA_ARGS__, comm, &request_);                                             \
            finish(&request_);                                                                     \
        } else {                                                                                   \
            CALL_PERSISTENT(Name, __VA_ARGS__);                                                    \
        }                                                                                          \
    } while (0)

/* A buffer of n ints, with gaps on every second rank. */
struct buffer {
    int *at, n, step;
    MPI_Datatype type;
};

#define GAP (-77)

static struct buffer make(int n, int salt)
{
    struct buffer b = {.n = n, .step = (rank + salt) % 2 + 1};

    b.type = b.step == 1 ? MPI_INT : spaced;
    b.at = malloc(sizeof(int) * ((size_t)n * (size_t)b.step + 1));
    for (int i = 0; i < n * b.step + 1; i++)
        b.at[i] = GAP;
    return b;
}

static void set(struct buffer *b, int i, int value)
{
    b->at[i * b->step] = value;
}

static int get(const struct buffer *b, int i)
{
    return b->at[i * b->step];
}

/* The gaps are as before. */
static void drop(struct buffer *b)
{
    for (int i = 0; i < b->n && b->step == 2; i++)
        expect("gap", i, b->at[2 * i + 1], GAP);
    free(b->at);
}

static int value(int of, int i)
{
    return of * 1000 + i % 997;
}

static void moves(int n, int root)
{
    struct buffer b = make(n, 0), all = make(n * size, 1), out = make(n * size, 0);
    int *counts = malloc(sizeof(int) * (size_t)size), *displs = malloc(sizeof(int) * (size_t)size);
    int total = 0;

    for (int i = 0; i < n; i++)
        set(&b, i, rank == root ? value(root, i) : -1);
    CALL(Bcast, bcast, b.at, n, b.type, root);
    for (int i = 0; i < n; i++)
        expect("bcast", i, get(&b, i), value(root, i));

    for (int i = 0; i < n; i++)
        set(&b, i, value(rank, i));
    CALL(Allgather, allgather, b.at, n, b.type, all.at, n, all.type);
    for (int i = 0; i < n * size; i++)
        expect("allgather", i, get(&all, i), value(i / n, i % n));
    for (int i = 0; i < n * size; i++)
        set(&all, i, i / n == rank ? value(rank, i % n) : -1);
    CALL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, n, all.type);
    for (int i = 0; i < n * size; i++)
        expect("allgather in place", i, get(&all, i), value(i / n, i % n));

    for (int i = 0; i < n * size; i++)
        set(&all, i, -1);
    CALL(Gather, gather, b.at, n, b.type, all.at, n, all.type, root);
    for (int i = 0; i < n * size && rank == root; i++)
        expect("gather", i, get(&all, i), value(i / n, i % n));
    for (int i = 0; i < n * size; i++)
        set(&all, i, i / n == rank ? value(rank, i % n) : -1);
    CALL(Gather, gather, rank == root ? MPI_IN_PLACE : b.at, n, b.type, all.at, n, all.type, root);
    for (int i = 0; i < n * size && rank == root; i++)
        expect("gather in place", i, get(&all, i), value(i / n, i % n));
    for (int i = 0; i < n; i++)
        set(&b, i, -1);
    CALL(Scatter, scatter, all.at, n, all.type, rank == root ? MPI_IN_PLACE : b.at, n, b.type,
         root);
    for (int i = 0; i < n && rank != root; i++)
        expect("scatter in place", i, get(&b, i), value(rank, i));
    CALL(Scatter, scatter, all.at, n, all.type, b.at, n, b.type, root);
    for (int i = 0; i < n; i++)
        expect("scatter", i, get(&b, i), value(rank, i));

    for (int i = 0; i < n * size; i++)
        set(&all, i, value(rank, i));
    CALL(Alltoall, alltoall, all.at, n, all.type, out.at, n, out.type);
    for (int i = 0; i < n * size; i++)
        expect("alltoall", i, get(&out, i), value(i / n, rank * n + i % n));
    CALL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, n, all.type);
    if (form == PERSISTENT) /* done twice: everything is back */
        for (int i = 0; i < n * size; i++)
            expect("alltoall in place, twice", i, get(&all, i), value(rank, i));
    else
        for (int i = 0; i < n * size; i++)
            expect("alltoall in place", i, get(&all, i), value(i / n, rank * n + i % n));

    /* Blocks of different lengths, in the opposite order, rank 0 has none. */
    for (int q = 0; q < size; q++)
        counts[q] = q * n / size;
    for (int q = size - 1; q >= 0; q--) {
        displs[q] = total;
        total += counts[q];
    }
    for (int i = 0; i < n * size; i++)
        set(&all, i, -1);
    for (int i = 0; i < n; i++)
        set(&b, i, value(rank, i));
    CALL(Allgatherv, allgatherv, b.at, counts[rank], b.type, all.at, counts, displs, all.type);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < counts[q]; i++)
            expect("allgatherv", i, get(&all, displs[q] + i), value(q, i));
    CALL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.at, counts, displs,
         all.type);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < counts[q]; i++)
            expect("allgatherv in place", i, get(&all, displs[q] + i), value(q, i));
    for (int i = 0; i < n * size; i++)
        set(&all, i, -1);
    CALL(Gatherv, gatherv, b.at, counts[rank], b.type, all.at, counts, displs, all.type, root);
    for (int q = 0; q < size && rank == root; q++)
        for (int i = 0; i < counts[q]; i++)
            expect("gatherv", i, get(&all, displs[q] + i), value(q, i));
    CALL(Gatherv, gatherv, rank == root ? MPI_IN_PLACE : b.at, counts[rank], b.type, all.at, counts,
         displs, all.type, root);
    for (int q = 0; q < size && rank == root; q++)
        for (int i = 0; i < counts[q]; i++)
            expect("gatherv in place", i, get(&all, displs[q] + i), value(q, i));
    for (int i = 0; i < n; i++)
        set(&b, i, -1);
    CALL(Scatterv, scatterv, all.at, counts, displs, all.type, rank == root ? MPI_IN_PLACE : b.at,
         counts[rank], b.type, root);
    CALL(Scatterv, scatterv, all.at, counts, displs, all.type, b.at, counts[rank], b.type, root);
    for (int i = 0; i < n; i++)
        expect("scatterv", i, get(&b, i), i < counts[rank] ? value(rank, i) : -1);
    drop(&b);
    drop(&all);
    drop(&out);
    free(counts);
    free(displs);
}

/* Rank p sends p + q elements to rank q. */
static void exchanges(void)
{
    int most = 2 * size, n = most * size;
    struct buffer in = make(n, 1), out = make(n, 0);
    size_t ints = sizeof(int) * (size_t)size;
    int *counts = malloc(ints), *displs = malloc(ints), *in_bytes = malloc(ints),
        *out_bytes = malloc(ints);
    MPI_Datatype *in_types = malloc(sizeof *in_types * (size_t)size),
                 *out_types = malloc(sizeof *out_types * (size_t)size);

    for (int q = 0; q < size; q++) {
        counts[q] = rank + q;
        displs[q] = (size - 1 - q) * most;
        in_bytes[q] = displs[q] * in.step * (int)sizeof(int);
        out_bytes[q] = displs[q] * out.step * (int)sizeof(int);
        in_types[q] = in.type;
        out_types[q] = out.type;
        for (int i = 0; i < most; i++)
            set(&in, displs[q] + i, value(rank, q * 10 + i));
    }
    CALL(Alltoallv, alltoallv, in.at, counts, displs, in.type, out.at, counts, displs, out.type);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < most; i++)
            expect("alltoallv", i, get(&out, displs[q] + i),
                   i < counts[q] ? value(q, rank * 10 + i) : GAP);
    for (int i = 0; i < n; i++)
        set(&out, i, GAP);
    CALL(Alltoallw, alltoallw, in.at, counts, in_bytes, in_types, out.at, counts, out_bytes,
         out_types);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < most; i++)
            expect("alltoallw", i, get(&out, displs[q] + i),
                   i < counts[q] ? value(q, rank * 10 + i) : GAP);
    CALL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, in.at, counts, displs,
         in.type);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < counts[q]; i++)
            expect("alltoallv in place", i, get(&in, displs[q] + i),
                   form == PERSISTENT ? value(rank, q * 10 + i) : value(q, rank * 10 + i));
    drop(&in);
    drop(&out);
    free(counts);
    free(displs);
    free(in_bytes);
    free(out_bytes);
    free(in_types);
    free(out_types);
}

/* 2 x 2 matrices modulo a small number: this does not commute. */
struct matrix {
    short a[4];
};

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const struct matrix *left = in;
    struct matrix *right = inout;

    (void)type;
    for (int i = 0; i < *n; i++) {
        const short *a = left[i].a, *b = right[i].a;
        struct matrix m = {
            {(short)((a[0] * b[0] + a[1] * b[2]) % 97), (short)((a[0] * b[1] + a[1] * b[3]) % 97),
             (short)((a[2] * b[0] + a[3] * b[2]) % 97), (short)((a[2] * b[1] + a[3] * b[3]) % 97)}};
        right[i] = m;
    }
}

static struct matrix matrix_of(int of, int i)
{
    return (struct matrix){{(short)(of + 1), (short)(i % 7), 1, (short)(of % 3 + 2)}};
}

static struct matrix product(int first, int last, int i)
{
    struct matrix m = matrix_of(last, i);
    int one = 1;

    for (int of = last - 1; of >= first; of--) {
        struct matrix left = matrix_of(of, i);
        multiply(&left, &m, &one, NULL);
    }
    return m;
}

static void check_matrix(const char *what, int i, struct matrix got, struct matrix wanted)
{
    for (int j = 0; j < 4; j++)
        expect(what, i, got.a[j], wanted.a[j]);
}

static void own_operations(int n, int root)
{
    MPI_Datatype type;
    MPI_Op op;
    struct matrix *in = malloc(sizeof *in * (size_t)n), *out = malloc(sizeof *out * (size_t)n);

    MPI_Type_contiguous(4, MPI_SHORT, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    for (int i = 0; i < n; i++)
        in[i] = matrix_of(rank, i);
    CALL(Allreduce, allreduce, in, out, n, type, op);
    for (int i = 0; i < n; i++)
        check_matrix("allreduce by own operation", i, out[i], product(0, size - 1, i));
    CALL(Reduce, reduce, in, out, n, type, op, root);
    for (int i = 0; i < n && rank == root; i++)
        check_matrix("reduce by own operation", i, out[i], product(0, size - 1, i));
    CALL(Scan, scan, in, out, n, type, op);
    for (int i = 0; i < n; i++)
        check_matrix("scan by own operation", i, out[i], product(0, rank, i));
    CALL(Exscan, exscan, in, out, n, type, op);
    for (int i = 0; i < n && rank > 0; i++)
        check_matrix("exscan by own operation", i, out[i], product(0, rank - 1, i));
    /* Freed while a request uses them. */
    MPI_Request request;
    MPI_Iallreduce(in, out, n, type, op, comm, &request);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++)
        check_matrix("allreduce by freed operation", i, out[i], product(0, size - 1, i));
    free(in);
    free(out);
}

static void reductions(int n, int root)
{
    int all = size * (size - 1) / 2, *counts = malloc(sizeof(int) * (size_t)size), total = 0;
    long *in = malloc(sizeof *in * (size_t)(n * size + 1)),
         *out = malloc(sizeof *out * (size_t)(n * size + 1));

    for (int i = 0; i < n * size; i++)
        in[i] = rank + i;
#define EACH(what, n, wanted)                                                                      \
    for (int i = 0; i < (n); i++)                                                                  \
    expect(what, i, out[i], wanted)
    CALL(Allreduce, allreduce, in, out, n, MPI_LONG, MPI_SUM);
    EACH("allreduce", n, all + (long)size * i);
    CALL(Reduce, reduce, in, out, n, MPI_LONG, MPI_MAX, root);
    if (rank == root)
        EACH("reduce", n, size - 1 + i);
    CALL(Scan, scan, in, out, n, MPI_LONG, MPI_SUM);
    EACH("scan", n, (long)rank * (rank + 1) / 2 + (long)(rank + 1) * i);
    memset(out, 0xff, sizeof *out * (size_t)n);
    CALL(Exscan, exscan, in, out, n, MPI_LONG, MPI_SUM);
    EACH("exscan", n, rank == 0 ? -1 : (long)rank * (rank - 1) / 2 + (long)rank * i);
    CALL(Reduce_scatter_block, reduce_scatter_block, in, out, n, MPI_LONG, MPI_SUM);
    EACH("reduce_scatter_block", n, all + (long)size * (rank * n + i));
    for (int q = 0; q < size; q++)
        counts[q] = q * n / size;
    for (int q = 0; q < rank; q++)
        total += counts[q];
    CALL(Reduce_scatter, reduce_scatter, in, out, counts, MPI_LONG, MPI_SUM);
    EACH("reduce_scatter", counts[rank], all + (long)size * (total + i));
    if (form != PERSISTENT) {
        memcpy(out, in, sizeof *in * (size_t)n);
        CALL(Allreduce, allreduce, MPI_IN_PLACE, out, n, MPI_LONG, MPI_SUM);
        EACH("allreduce in place", n, all + (long)size * i);
        memcpy(out, in, sizeof *in * (size_t)n);
        CALL(Reduce, reduce, rank == root ? MPI_IN_PLACE : out, out, n, MPI_LONG, MPI_SUM, root);
        if (rank == root)
            EACH("reduce in place", n, all + (long)size * i);
        memcpy(out, in, sizeof *in * (size_t)n);
        CALL(Exscan, exscan, MPI_IN_PLACE, out, n, MPI_LONG, MPI_SUM);
        if (rank > 0)
            EACH("exscan in place", n, (long)rank * (rank - 1) / 2 + (long)rank * i);
        memcpy(out, in, sizeof *in * (size_t)(n * size));
        CALL(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, out, counts, MPI_LONG, MPI_SUM);
        EACH("reduce_scatter in place", counts[rank], all + (long)size * (total + i));
        memcpy(out, in, sizeof *in * (size_t)(n * size));
        CALL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, out, n, MPI_LONG, MPI_SUM);
        EACH("reduce_scatter_block in place", n, all + (long)size * (rank * n + i));
    }
    free(counts);
    free(in);
    free(out);
}

/* Types that only MPI's own operations know, and pairs with gaps. */
static void odd_types(void)
{
    struct {
        short value;
        int index;
    } pair = {(short)(100 - rank), rank}, least;
    struct {
        long double value;
        int index;
    } wide = {rank * 2.0L, rank}, greatest;
    _Complex long double z = rank + 1, sum;
    long double l = rank + 0.5L, l_sum;
    _Bool yes = rank == 0, both, one;

    CALL(Allreduce, allreduce, &pair, &least, 1, MPI_SHORT_INT, MPI_MINLOC);
    expect("minloc, value", 0, least.value, 100 - (size - 1));
    expect("minloc, index", 0, least.index, size - 1);
    CALL(Allreduce, allreduce, &wide, &greatest, 1, MPI_LONG_DOUBLE_INT, MPI_MAXLOC);
    expect("maxloc, value", 0, (long long)greatest.value, 2 * (size - 1));
    expect("maxloc, index", 0, greatest.index, size - 1);
    CALL(Allreduce, allreduce, &z, &sum, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM);
    expect("complex", 0, (long long)__real__ sum, size * (size + 1) / 2);
    CALL(Allreduce, allreduce, &l, &l_sum, 1, MPI_LONG_DOUBLE, MPI_SUM);
    expect("long double, twice", 0, (long long)(2 * l_sum), (long long)size * size);
    CALL(Allreduce, allreduce, &yes, &both, 1, MPI_C_BOOL, MPI_LAND);
    expect("and", 0, both, size == 1);
    CALL(Allreduce, allreduce, &yes, &one, 1, MPI_C_BOOL, MPI_LOR);
    expect("or", 0, one, 1);
}

/* A barrier has no argument before the communicator. */
static void barrier(void)
{
    MPI_Request request;

    if (form == BLOCKING) {
        MPI_Barrier(comm);
    } else if (form == NONBLOCKING) {
        MPI_Ibarrier(comm, &request);
        finish(&request);
#ifdef PERSISTENT
    } else {
        PERSISTENT(Barrier)(comm, MPI_INFO_NULL, &request);
        finish(&request);
#endif
    }
}

static void all_of(MPI_Comm on, const char *name)
{
    comm = on;
    where = name;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int f = 0; f < FORMS; f++) {
        form = (enum form)f;
        barrier();
        for (int n = 1; n <= 5000; n *= 70) {
            moves(n, n % size);
            reductions(n, (n + 1) % size);
            own_operations(n < 100 ? n : 100, size - 1);
        }
        exchanges();
        odd_types();
    }
}

/* Requests of MPI and of ncoll in one array, while other ranks wait for messages. */
static void mixed(void)
{
    MPI_Request requests[4];
    int in = rank, sum = -1, sent = rank, got = -1, left = (rank + size - 1) % size,
        right = (rank + 1) % size, done = 0, index;
    MPI_Comm other;

    where = "mixed requests";
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, left, 0, comm, &requests[1]);
    MPI_Ibarrier(comm, &requests[2]);
    requests[3] = MPI_REQUEST_NULL;
    MPI_Send(&sent, 1, MPI_INT, right, 0, comm);
    if (rank % 2 == 0)
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &other);
    for (; done < 3; done++)
        MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
    if (rank % 2 != 0)
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &other);
    expect("sum", 0, sum, size * (size - 1) / 2);
    expect("message", 0, got, left);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    int world_rank, world_size;
    MPI_Comm made;
    MPI_Datatype vector;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    MPI_Type_contiguous(1, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 2 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    all_of(MPI_COMM_WORLD, "world");
    all_of(MPI_COMM_SELF, "self");
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    all_of(made, "dup");
    mixed();
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &made);
    all_of(made, "every second rank, reversed");
    MPI_Comm_free(&made);
    MPI_Type_free(&spaced);
    MPI_Type_free(&vector);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("each: %d failures on %d ranks\n", failures, world_size);
    MPI_Finalize();
    return failures != 0;
}
