/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns MPI's arguments into those of ncoll, for calls with a count for each rank. In gatherv and
 * scatterv only the root knows all counts, while ncoll wants all of them on all ranks. So these two
 * become an alltoallv, in which each rank says what it knows: the counts of what it sends and of
 * what it gets.
 */
#include <stdint.h>
#include <string.h>

#include "interop/mpi/dropin.h"
#include "interop/mpi/prepare.h"

/* The data of one side (input or output): block q has counts[q] elements, at displs[q]. */
struct blocks {
    const void *user;
    struct numbers counts, displs;
    MPI_Datatype type;
    const MPI_Datatype *types; /* of alltoallw, with displacements in bytes; NULL: one type */
    bool written;              /* the blocks are written to */
};

static const struct type *type_at(const struct blocks *b, int q)
{
    return type_of(b->types != NULL ? b->types[q] : b->type);
}

static MPI_Aint place_at(const struct blocks *b, int q, const struct type *t)
{
    return (MPI_Aint)number(b->displs, q) * (b->types != NULL ? 1 : t->extent);
}

struct outline {
    bool dense;
    MPI_Aint lowest, end; /* the range of all blocks, relative to `user` */
    size_t bytes;
};

/* Fills in the counts in bytes, and the outline of the blocks. Returns false if MPI refuses these
 * arguments. Some programs receive in blocks that overlap, though MPI forbids it; ncoll would
 * refuse them, on this rank alone. So blocks that are written to, and do not lie in the order of
 * the ranks, are not dense: they are received in a copy. */
static bool outline_of(const struct blocks *b, int n, size_t *counts, struct outline *out)
{
    *out = (struct outline){.dense = true, .lowest = INTPTR_MAX, .end = -INTPTR_MAX};
    if (b->counts.at == NULL || b->displs.at == NULL || b->user == MPI_IN_PLACE)
        return false;
    for (int q = 0; q < n; q++) {
        const struct type *t = type_at(b, q);
        long long count = number(b->counts, q);
        bool is_needless = count == 0 && b->types != NULL; /* MPICH does not look at the type */
        if (count < 0 || (t == NULL && !is_needless))
            return false;
        counts[q] = is_needless ? 0 : (size_t)count * t->size;
        out->bytes += counts[q];
        if (counts[q] == 0)
            continue;
        MPI_Aint place = place_at(b, q, t) + t->true_lb;
        MPI_Aint end = place + (MPI_Aint)counts[q];
        out->dense &= t->dense && (!b->written || place >= out->end);
        out->end = end > out->end ? end : out->end;
        out->lowest = place < out->lowest ? place : out->lowest;
    }
    if (out->bytes == 0)
        out->lowest = out->end = 0;
    return b->user != NULL || out->bytes == 0 || out->lowest != 0;
}

/* Returns true if ncoll would take the two sides for buffers that overlap. ncoll looks at all that
 * is between the first block of a side and its last. */
static bool are_mixed(const struct blocks *a, const struct outline *x, const void *other,
                      size_t bytes)
{
    return x->dense &&
           !is_apart((const char *)a->user + x->lowest, (size_t)(x->end - x->lowest), other, bytes);
}

/* Sets *base and the displacements to where ncoll finds the blocks, in the program's memory or in a
 * copy without gaps. A copy is packed before the call, or unpacked after it. */
static void place_blocks(struct call *c, const struct blocks *b, int n, const struct outline *o,
                         bool before, const size_t *counts, size_t *displs, void **base)
{
    char *packed = o->dense ? NULL : stage_memory(c, o->bytes);
    size_t at = 0;

    *base = o->dense ? (char *)b->user + o->lowest : packed;
    for (int q = 0; q < n; q++) {
        const struct type *t = type_at(b, q);
        if (counts[q] == 0) {
            displs[q] = 0;
            continue;
        }
        displs[q] = o->dense ? (size_t)(place_at(b, q, t) + t->true_lb - o->lowest) : at;
        if (!o->dense && packed != NULL) {
            char *user = (char *)b->user + place_at(b, q, t);
            MPI_Count count = (MPI_Count)number(b->counts, q);
            if (before)
                stage_in(c, user, count, t, 0, packed + at);
            else
                stage_out(c, user, count, t, 0, packed + at);
        }
        at += counts[q];
    }
}

/* The four arrays in comm->numbers, which a call may fill. ncoll copies what it needs of them after
 * the call has begun. */
struct arrays {
    size_t *in_counts, *in_displs, *out_counts, *out_displs;
};

static struct arrays arrays_of(struct call *c, bool clear)
{
    size_t n = (size_t)c->comm->size, *at = c->comm->numbers;
    const struct arrays a = {at, at + n, at + 2 * n, at + 3 * n};

    c->in_counts = a.in_counts;
    c->in_displs = a.in_displs;
    c->out_counts = a.out_counts;
    c->out_displs = a.out_displs;
    c->type = NCOLL_UINT8;
    if (clear)
        memset(at, 0, 4 * n * sizeof *at);
    return a;
}

/* Returns true if `one` lies where this rank's block of the other side does, and MPI refuses that,
 * as MPICH does. */
static bool is_alias(const struct call *c, const void *one, MPI_Count count, MPI_Datatype type,
                     const struct blocks *all)
{
    int own = c->comm->rank;

    return ALIASES_ARE_ERRORS && type == all->type && count > 0 && number(all->counts, own) != 0 &&
           one ==
               (const char *)all->user + number(all->displs, own) * (long long)type_of(type)->size;
}

/* Prepares the one block that this rank sends to the root (`before`), or gets from it: sets *bytes
 * and *base. other: the other side, of which `o` is the outline, on a rank that has one; NULL:
 * none. Returns false if MPI refuses the arguments. */
static bool place_one(struct call *c, const void *user, MPI_Count count, MPI_Datatype type,
                      bool before, const struct blocks *other, const struct outline *o,
                      size_t *bytes, void **base)
{
    const struct type *t = type_of(type);

    if (t == NULL || count < 0 || user == MPI_IN_PLACE ||
        (user == NULL && count > 0 && t->size > 0 && t->true_lb == 0))
        return false;
    *bytes = (size_t)count * t->size;
    *base = (char *)user + t->true_lb;
    if (t->dense && (other == NULL || !are_mixed(other, o, *base, *bytes)))
        return true;
    *base = stage_memory(c, *bytes);
    if (*base == NULL)
        return true;
    if (before)
        stage_in(c, user, count, t, 0, *base);
    else
        stage_out(c, (void *)user, count, t, 0, *base);
    return true;
}

enum reason prepare_Allgatherv(struct call *c, enum how how, const void *in, MPI_Count in_count,
                               MPI_Datatype in_type, void *out, struct numbers out_counts,
                               struct numbers displs, MPI_Datatype out_type, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Allgatherv, how, comm);
    const struct blocks to = {out, out_counts, displs, out_type, NULL, true};
    struct outline o;
    void *base;

    if (UNLIKELY(why != SERVED))
        return why;
    struct arrays a = arrays_of(c, false);
    int own = c->comm->rank;
    if (!outline_of(&to, c->comm->size, a.out_counts, &o))
        return ARGUMENT;
    place_blocks(c, &to, c->comm->size, &o, false, a.out_counts, a.out_displs, &base);
    c->out = base;
    if (in == MPI_IN_PLACE) {
        const struct type *t = type_of(out_type);
        c->in = (char *)base + a.out_displs[own];
        if (!o.dense && base != NULL)
            stage_in(c, (char *)out + place_at(&to, own, t), (MPI_Count)number(out_counts, own), t,
                     0, (void *)c->in);
        return SERVED;
    }
    size_t bytes;
    if (!place_one(c, in, in_count, in_type, true, &to, &o, &bytes, &base) ||
        is_alias(c, in, in_count, in_type, &to))
        return ARGUMENT;
    c->in = base;
    return SERVED;
}

enum reason prepare_Gatherv(struct call *c, enum how how, const void *in, MPI_Count in_count,
                            MPI_Datatype in_type, void *out, struct numbers out_counts,
                            struct numbers displs, MPI_Datatype out_type, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Gatherv, how, comm);
    const struct blocks to = {out, out_counts, displs, out_type, NULL, true};
    bool in_place = in == MPI_IN_PLACE;
    struct outline o;
    void *base = NULL;

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size))
        return ARGUMENT;
    struct arrays a = arrays_of(c, true);
    c->root = root;
    c->in = c->out = NULL;
    if (root == c->comm->rank) {
        if (!outline_of(&to, c->comm->size, a.out_counts, &o))
            return ARGUMENT;
        if (in_place) {
            /* The root's own block stays where it is. */
            place_blocks(c, &to, c->comm->size, &o, false, a.out_counts, a.out_displs, &base);
            if (!o.dense && base != NULL && a.out_counts[root] > 0) {
                const struct type *t = type_of(out_type);
                stage_in(c, (char *)out + place_at(&to, root, t),
                         (MPI_Count)number(out_counts, root), t, 0,
                         (char *)base + a.out_displs[root]);
            }
            a.out_counts[root] = a.out_displs[root] = 0;
            c->out = base;
            return SERVED;
        }
        place_blocks(c, &to, c->comm->size, &o, false, a.out_counts, a.out_displs, &base);
        c->out = base;
    }
    if (in_place ||
        !place_one(c, in, in_count, in_type, true, root == c->comm->rank ? &to : NULL, &o,
                   &a.in_counts[root], &base) ||
        (root == c->comm->rank && is_alias(c, in, in_count, in_type, &to)))
        return ARGUMENT;
    c->in = base;
    return SERVED;
}

enum reason prepare_Scatterv(struct call *c, enum how how, const void *in, struct numbers in_counts,
                             struct numbers displs, MPI_Datatype in_type, void *out,
                             MPI_Count out_count, MPI_Datatype out_type, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Scatterv, how, comm);
    const struct blocks from = {in, in_counts, displs, in_type, NULL};
    bool in_place = out == MPI_IN_PLACE;
    struct outline o;
    void *base;

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size))
        return ARGUMENT;
    struct arrays a = arrays_of(c, true);
    c->root = root;
    c->in = c->out = NULL;
    if (root == c->comm->rank) {
        if (!outline_of(&from, c->comm->size, a.in_counts, &o))
            return ARGUMENT;
        place_blocks(c, &from, c->comm->size, &o, true, a.in_counts, a.in_displs, &base);
        c->in = base;
        if (in_place) {
            a.in_counts[root] = a.in_displs[root] = 0;
            return SERVED;
        }
    }
    if (in_place ||
        !place_one(c, out, out_count, out_type, false, root == c->comm->rank ? &from : NULL, &o,
                   &a.out_counts[root], &base))
        return ARGUMENT;
    c->out = base;
    return SERVED;
}

static enum reason all_to_all(struct call *c, const struct blocks *from, const struct blocks *to)
{
    struct arrays a = arrays_of(c, false);
    int n = c->comm->size;
    struct outline in, out;
    void *base;

    if (!outline_of(to, n, a.out_counts, &out))
        return ARGUMENT;
    if (from->user != MPI_IN_PLACE &&
        (!outline_of(from, n, a.in_counts, &in) ||
         (ALIASES_ARE_ERRORS && from->user == to->user && from->counts.at == to->counts.at &&
          from->type == to->type && from->types == to->types && out.bytes > 0)))
        return ARGUMENT;
    place_blocks(c, to, n, &out, false, a.out_counts, a.out_displs, &base);
    c->out = base;
    if (from->user != MPI_IN_PLACE) {
        if (out.dense && are_mixed(from, &in, base, (size_t)(out.end - out.lowest)))
            in.dense = false;
        place_blocks(c, from, n, &in, true, a.in_counts, a.in_displs, &base);
        c->in = base;
        return SERVED;
    }
    memcpy(a.in_counts, a.out_counts, (size_t)n * sizeof *a.in_counts);
    memcpy(a.in_displs, a.out_displs, (size_t)n * sizeof *a.in_displs);
    c->in = c->out;
    for (int q = 0; q < n && !out.dense && base != NULL; q++) {
        const struct type *t = type_at(to, q);
        if (a.out_counts[q] > 0)
            stage_in(c, (const char *)to->user + place_at(to, q, t),
                     (MPI_Count)number(to->counts, q), t, 0, (char *)base + a.out_displs[q]);
    }
    return SERVED;
}

enum reason prepare_Alltoallv(struct call *c, enum how how, const void *in,
                              struct numbers in_counts, struct numbers in_displs,
                              MPI_Datatype in_type, void *out, struct numbers out_counts,
                              struct numbers out_displs, MPI_Datatype out_type, MPI_Comm comm)
{
    const struct blocks from = {in, in_counts, in_displs, in_type, NULL};
    const struct blocks to = {out, out_counts, out_displs, out_type, NULL, true};
    enum reason why = call_begin(c, CALL_Alltoallv, how, comm);

    return why == SERVED ? all_to_all(c, &from, &to) : why;
}

enum reason prepare_Alltoallw(struct call *c, enum how how, const void *in,
                              struct numbers in_counts, struct numbers in_displs,
                              const MPI_Datatype *in_types, void *out, struct numbers out_counts,
                              struct numbers out_displs, const MPI_Datatype *out_types,
                              MPI_Comm comm)
{
    const struct blocks from = {in, in_counts, in_displs, MPI_DATATYPE_NULL, in_types};
    const struct blocks to = {out, out_counts, out_displs, MPI_DATATYPE_NULL, out_types, true};
    enum reason why = call_begin(c, CALL_Alltoallw, how, comm);

    if (why != SERVED)
        return why;
    if (out_types == NULL || (in != MPI_IN_PLACE && in_types == NULL))
        return ARGUMENT;
    return all_to_all(c, &from, &to);
}
