/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns MPI's arguments into those of ncoll, for reductions, and for calls in which each rank has
 * as much data as any other. Calls with a count for each rank are in prepare_v.c.
 */
#include "interop/mpi/dropin.h"
#include "interop/mpi/prepare.h"

enum reason call_begin(struct call *c, enum collective collective, enum how how, MPI_Comm mpi)
{
    c->collective = collective;
    c->comm = NULL;
    c->stage = NULL;
    c->foreign = NULL;
    if (UNLIKELY((world.left_out >> collective & 1) != 0))
        return LEFT_OUT;
    struct comm *comm = comm_of(mpi);
    if (UNLIKELY(comm == NULL))
        return world.on ? ARGUMENT : NOT_JOINED;
    c->comm = comm;
    if (UNLIKELY(comm->state != COMM_ON)) {
        enum reason why = comm_join(comm, how);
        if (why != SERVED)
            return why;
    }
    c->group = comm->group;
    if (UNLIKELY(how == PERSISTENT_INIT) && comm->ops->persistent_calls >= PERSISTENT_MOST)
        return TOO_MANY;
    return SERVED;
}

/* If MPI refuses an argument on this rank, other ranks may still make the call through ncoll. Then
 * the ranks do not agree any more about how many calls there were, so the communicator has
 * failed. */
void call_leave(struct call *c, enum reason why)
{
    if (UNLIKELY(c->stage != NULL))
        stage_free(c);
    if (UNLIKELY(why == ARGUMENT) && c->comm != NULL)
        c->comm->has_failed = true;
}

enum reason prepare_Barrier(struct call *c, enum how how, MPI_Comm comm)
{
    return call_begin(c, CALL_Barrier, how, comm);
}

/* ---------------------------------------------------------------- reductions ------------------ */

/* The elements of a reduction that this rank gives and gets. */
struct sides {
    const void *in;
    void *out; /* NULL: this rank gets none */
    size_t in_count, out_count;
};

/* Prepares copies of elements that ncoll needs in another layout. In a call in place, input and
 * output share one copy. */
static enum reason copy_elements(struct call *c, const struct sides *s, const struct type *t,
                                 bool in_place)
{
    size_t stride = c->foreign->stride;
    size_t most = s->in_count > s->out_count ? s->in_count : s->out_count;
    void *out = s->out == NULL && !in_place ? NULL : stage_memory(c, most * stride);
    void *in = in_place ? out : stage_memory(c, s->in_count * stride);

    c->in = in;
    c->out = out;
    if (!stage_ok(c))
        return SERVED;
    stage_in(c, in_place ? s->out : s->in, (MPI_Count)s->in_count, t, stride, in);
    if (s->out != NULL)
        stage_out(c, s->out, (MPI_Count)s->out_count, t, stride, out);
    return SERVED;
}

static enum reason reduction(struct call *c, enum how how, const struct sides *s, MPI_Datatype type,
                             MPI_Op op)
{
    const struct type *t = type_of(type);
    bool copied, in_place = s->in == MPI_IN_PLACE;

    if (UNLIKELY(t == NULL || s->out == MPI_IN_PLACE))
        return ARGUMENT;
    if (UNLIKELY((in_place ? s->out : s->in) == NULL && s->in_count > 0 && t->lb == 0))
        return ARGUMENT;
    if (UNLIKELY(s->in == s->out && s->in_count > 0 && ALIASES_ARE_ERRORS && !in_place))
        return ARGUMENT;
    enum reason why = op_choose(c, how, t, op, &copied);
    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(copied))
        return copy_elements(c, s, t, in_place);
    c->out = s->out == NULL ? NULL : (char *)s->out + t->true_lb;
    c->in = in_place ? c->out : (const char *)s->in + t->true_lb;
    if (UNLIKELY(c->in != c->out && c->out != NULL &&
                 !is_apart(c->in, s->in_count * t->size, c->out, s->out_count * t->size)))
        stage_apart(c, s->in_count * t->size);
    return SERVED;
}

static enum reason same_counts(struct call *c, enum how how, const void *in, void *out,
                               MPI_Count count, MPI_Datatype type, MPI_Op op)
{
    const struct sides s = {in, out, (size_t)count, (size_t)count};

    if (UNLIKELY(count < 0))
        return ARGUMENT;
    c->count = (size_t)count;
    return reduction(c, how, &s, type, op);
}

enum reason prepare_Allreduce(struct call *c, enum how how, const void *in, void *out,
                              MPI_Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Allreduce, how, comm);

    return LIKELY(why == SERVED) ? same_counts(c, how, in, out, count, type, op) : why;
}

enum reason prepare_Scan(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Scan, how, comm);

    return LIKELY(why == SERVED) ? same_counts(c, how, in, out, count, type, op) : why;
}

/* On rank 0 the output must stay as it is. In a call in place, an output that is copied gets back
 * what was there before. Otherwise rank 0 has no output. */
enum reason prepare_Exscan(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                           MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Exscan, how, comm);

    if (UNLIKELY(why != SERVED))
        return why;
    if (c->comm->rank == 0 && in != MPI_IN_PLACE && count > 0) {
        const struct sides s = {in, NULL, (size_t)count, 0};
        c->count = (size_t)count;
        if ((why = reduction(c, how, &s, type, op)) != SERVED)
            return why;
        /* ncoll wants an output, though it does not write to it on rank 0. */
        if (c->out == NULL)
            c->out = (void *)c->in;
        return SERVED;
    }
    return same_counts(c, how, in, out, count, type, op);
}

enum reason prepare_Reduce(struct call *c, enum how how, const void *in, void *out, MPI_Count count,
                           MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Reduce, how, comm);

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size || count < 0))
        return ARGUMENT;
    const struct sides s = {in, root == c->comm->rank ? out : NULL, (size_t)count, (size_t)count};
    if (UNLIKELY(root != c->comm->rank && in == MPI_IN_PLACE))
        return ARGUMENT;
    c->count = (size_t)count;
    c->root = root;
    return reduction(c, how, &s, type, op);
}

enum reason prepare_Reduce_scatter_block(struct call *c, enum how how, const void *in, void *out,
                                         MPI_Count count, MPI_Datatype type, MPI_Op op,
                                         MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Reduce_scatter_block, how, comm);

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(count < 0))
        return ARGUMENT;
    const struct sides s = {in, out, (size_t)count * (size_t)c->comm->size, (size_t)count};
    c->count = (size_t)count;
    return reduction(c, how, &s, type, op);
}

enum reason prepare_Reduce_scatter(struct call *c, enum how how, const void *in, void *out,
                                   struct numbers counts, MPI_Datatype type, MPI_Op op,
                                   MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Reduce_scatter, how, comm);
    struct sides s = {in, out, 0, 0};

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(counts.at == NULL))
        return ARGUMENT;
    for (int q = 0; q < c->comm->size; q++) {
        long long count = number(counts, q);
        if (count < 0)
            return ARGUMENT;
        c->comm->numbers[q] = (size_t)count;
        s.in_count += (size_t)count;
    }
    s.out_count = c->comm->numbers[c->comm->rank];
    c->out_counts = c->comm->numbers;
    return reduction(c, how, &s, type, op);
}

/* ---------------------------------------------------------------- moves ----------------------- */

/* The data of one side of a move (input or output): some blocks of `count` elements each. */
struct side {
    void *user;
    MPI_Count count;
    const struct type *type;
    size_t bytes; /* bytes of a block */
};

static bool side_of(struct side *s, const void *user, MPI_Count count, MPI_Datatype type)
{
    s->user = (void *)user;
    s->count = count;
    s->type = type_of(type);
    if (UNLIKELY(s->type == NULL || count < 0))
        return false;
    s->bytes = (size_t)count * s->type->size;
    if (UNLIKELY(user == MPI_IN_PLACE))
        return false;
    return LIKELY(user != NULL || s->bytes == 0 || s->type->true_lb != 0);
}

/* Returns where ncoll finds the data: in the program's memory, or in a copy that is packed before
 * the call (`before`), or unpacked after it. */
static void *place_side(struct call *c, const struct side *s, MPI_Count blocks, bool before)
{
    if (LIKELY(s->type->dense))
        return (char *)s->user + s->type->true_lb;
    void *temporary = stage_memory(c, (size_t)blocks * s->bytes);
    if (temporary == NULL)
        return NULL;
    if (before)
        stage_in(c, s->user, blocks * s->count, s->type, 0, temporary);
    else
        stage_out(c, s->user, blocks * s->count, s->type, 0, temporary);
    return temporary;
}

/* Returns the address of block q of a side, for a call in place. If the side has a copy, this is in
 * the copy, and the block is packed into it before the call. */
static void *own_block(struct call *c, const struct side *s, void *placed, int q)
{
    char *block = (char *)placed + (size_t)q * s->bytes;

    if (!s->type->dense && placed != NULL)
        stage_in(c, (char *)s->user + s->count * s->type->extent * q, s->count, s->type, 0, block);
    return block;
}

static enum reason move(struct call *c, size_t bytes)
{
    c->count = bytes;
    c->type = NCOLL_UINT8;
    return SERVED;
}

/* Prepares a move of bytes with input and output on this rank. If the two overlap, the input is
 * copied first, unless it is at in_place, where it has to be in a call in place. */
static enum reason move_apart(struct call *c, size_t bytes, size_t in_bytes, size_t out_bytes,
                              const void *in_place)
{
    if (UNLIKELY(c->in != in_place && !is_apart(c->in, in_bytes, c->out, out_bytes)))
        stage_apart(c, in_bytes);
    return move(c, bytes);
}

enum reason prepare_Bcast(struct call *c, enum how how, void *buffer, MPI_Count count,
                          MPI_Datatype type, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Bcast, how, comm);
    struct side s;

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size || !side_of(&s, buffer, count, type)))
        return ARGUMENT;
    c->root = root;
    c->out = place_side(c, &s, 1, root == c->comm->rank);
    return move(c, s.bytes);
}

/* Returns true if `one` lies where block q of `all` does, and MPI refuses that, as MPICH does.
 * Other MPIs take it for data in place. */
static bool is_alias(const struct side *one, const struct side *all, int q)
{
    return ALIASES_ARE_ERRORS && one->type == all->type && one->count == all->count &&
           one->count > 0 &&
           one->user == (char *)all->user + (size_t)all->count * all->type->size * (size_t)q;
}

enum reason prepare_Gather(struct call *c, enum how how, const void *in, MPI_Count in_count,
                           MPI_Datatype in_type, void *out, MPI_Count out_count,
                           MPI_Datatype out_type, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Gather, how, comm);
    struct side from = {0}, to = {0};
    bool in_place = in == MPI_IN_PLACE;

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size))
        return ARGUMENT;
    c->root = root;
    if (root == c->comm->rank) {
        if (!side_of(&to, out, out_count, out_type))
            return ARGUMENT;
        c->out = place_side(c, &to, c->comm->size, false);
        if (in_place) {
            c->in = own_block(c, &to, c->out, root);
            return move(c, to.bytes);
        }
    }
    if (!side_of(&from, in, in_count, in_type) || in_place ||
        (root == c->comm->rank && is_alias(&from, &to, root)))
        return ARGUMENT;
    c->in = place_side(c, &from, 1, true);
    if (root != c->comm->rank)
        return move(c, from.bytes);
    return move_apart(c, from.bytes, from.bytes, (size_t)c->comm->size * to.bytes,
                      (char *)c->out + (size_t)root * to.bytes);
}

enum reason prepare_Scatter(struct call *c, enum how how, const void *in, MPI_Count in_count,
                            MPI_Datatype in_type, void *out, MPI_Count out_count,
                            MPI_Datatype out_type, int root, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Scatter, how, comm);
    struct side from = {0}, to = {0};
    bool in_place = out == MPI_IN_PLACE;

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(root < 0 || root >= c->comm->size))
        return ARGUMENT;
    c->root = root;
    if (root == c->comm->rank) {
        if (!side_of(&from, in, in_count, in_type))
            return ARGUMENT;
        c->in = place_side(c, &from, c->comm->size, true);
        if (in_place) {
            c->out = (char *)c->in + (size_t)root * from.bytes;
            return move(c, from.bytes);
        }
    }
    if (!side_of(&to, out, out_count, out_type) || in_place ||
        (root == c->comm->rank && is_alias(&to, &from, root)))
        return ARGUMENT;
    c->out = place_side(c, &to, 1, false);
    if (root != c->comm->rank)
        return move(c, to.bytes);
    return move_apart(c, to.bytes, (size_t)c->comm->size * from.bytes, to.bytes,
                      (char *)c->out - (size_t)root * from.bytes);
}

enum reason prepare_Allgather(struct call *c, enum how how, const void *in, MPI_Count in_count,
                              MPI_Datatype in_type, void *out, MPI_Count out_count,
                              MPI_Datatype out_type, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Allgather, how, comm);
    struct side from = {0}, to = {0};

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(!side_of(&to, out, out_count, out_type)))
        return ARGUMENT;
    if (in != MPI_IN_PLACE &&
        (!side_of(&from, in, in_count, in_type) || is_alias(&from, &to, c->comm->rank)))
        return ARGUMENT;
    c->out = place_side(c, &to, c->comm->size, false);
    if (in == MPI_IN_PLACE) {
        c->in = own_block(c, &to, c->out, c->comm->rank);
        return move(c, to.bytes);
    }
    c->in = place_side(c, &from, 1, true);
    return move_apart(c, to.bytes, from.bytes, (size_t)c->comm->size * to.bytes,
                      (char *)c->out + (size_t)c->comm->rank * to.bytes);
}

enum reason prepare_Alltoall(struct call *c, enum how how, const void *in, MPI_Count in_count,
                             MPI_Datatype in_type, void *out, MPI_Count out_count,
                             MPI_Datatype out_type, MPI_Comm comm)
{
    enum reason why = call_begin(c, CALL_Alltoall, how, comm);
    struct side from = {0}, to = {0};

    if (UNLIKELY(why != SERVED))
        return why;
    if (UNLIKELY(!side_of(&to, out, out_count, out_type)))
        return ARGUMENT;
    if (in != MPI_IN_PLACE && (!side_of(&from, in, in_count, in_type) || is_alias(&from, &to, 0)))
        return ARGUMENT;
    c->out = place_side(c, &to, c->comm->size, false);
    if (in != MPI_IN_PLACE) {
        c->in = place_side(c, &from, c->comm->size, true);
        return move_apart(c, to.bytes, (size_t)c->comm->size * from.bytes,
                          (size_t)c->comm->size * to.bytes, c->out);
    }
    c->in = c->out;
    if (!to.type->dense && c->out != NULL)
        stage_in(c, to.user, to.count * c->comm->size, to.type, 0, c->out);
    return move(c, to.bytes);
}
