/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stddef.h>

#define N 13

struct record {
    char tag;
    double weight;
    int place[3];
    char end;
};

static MPI_Datatype make(void)
{
    int lengths[4] = {1, 1, 3, 1};
    MPI_Aint at[4] = {offsetof(struct record, tag), offsetof(struct record, weight),
                      offsetof(struct record, place), offsetof(struct record, end)};
    MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_CHAR}, packed, record;

    OK(MPI_Type_create_struct(4, lengths, at, types, &packed));
    OK(MPI_Type_create_resized(packed, 0, sizeof(struct record), &record));
    OK(MPI_Type_commit(&record));
    OK(MPI_Type_free(&packed));
    return record;
}

static void fill(struct record *r, int rank, int i)
{
    r->tag = (char)value(rank, i);
    r->weight = value(rank, i) / 8.0;
    for (int j = 0; j < 3; j++)
        r->place[j] = value(rank, i + j);
    r->end = (char)i;
}

static bool is(const struct record *r, int rank, int i)
{
    struct record wanted;

    fill(&wanted, rank, i);
    return r->tag == wanted.tag && r->weight == wanted.weight && r->end == wanted.end &&
           memcmp(r->place, wanted.place, sizeof wanted.place) == 0;
}

static void records(MPI_Comm comm, int rank, int size)
{
    MPI_Datatype record = make();
    struct record *in = take(N * sizeof *in), *out = take((size_t)size * N * sizeof *out);

    for (int i = 0; i < N; i++)
        fill(&in[i], rank, i);
    OK(MPI_Allgather(in, N, record, out, N, record, comm));
    for (int i = 0; i < size * N; i++)
        CHECK(is(&out[i], i / N, i % N), "record %d of an allgather", i);
    OK(MPI_Bcast(in, N, record, size - 1, comm));
    for (int i = 0; i < N; i++)
        CHECK(is(&in[i], size - 1, i), "record %d of a bcast", i);
    OK(MPI_Type_free(&record));
    give(in);
    give(out);
}

PROGRAM(derived_struct, "records with holes")
{
    each_comm(records);
}
