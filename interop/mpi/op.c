/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations of reductions. If ncoll has an operation for the type, that is used. All others that
 * MPI defines for the type, and those of the program, are called through MPI_Reduce_local(): ncoll
 * gets a type for elements of their size, and a user-defined operation, combine().
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interop/mpi/dropin.h"

#define BLOCK 16384u /* bytes that are combined at once, so that copies stay in the cache */

struct known_op {
    ncoll_op op;
    unsigned classes; /* classes of types for which MPI defines it, one bit each */
};

#define C(class) (1u << CLASS_##class)
#define INTEGERS (C(C_INTEGER) | C(FORTRAN_INTEGER) | C(MULTI))

/* Finds an operation that MPI defines. Returns false for those of the program. */
static bool known_op(MPI_Op op, struct known_op *out)
{
    if (op == MPI_SUM)
        *out = (struct known_op){NCOLL_SUM, INTEGERS | C(FLOAT) | C(COMPLEX)};
    else if (op == MPI_MAX)
        *out = (struct known_op){NCOLL_MAX, INTEGERS | C(FLOAT)};
    else if (op == MPI_MIN)
        *out = (struct known_op){NCOLL_MIN, INTEGERS | C(FLOAT)};
    else if (op == MPI_PROD)
        *out = (struct known_op){NCOLL_PROD, INTEGERS | C(FLOAT) | C(COMPLEX)};
    else if (op == MPI_LAND)
        *out = (struct known_op){NCOLL_LAND, C(C_INTEGER) | C(LOGICAL)};
    else if (op == MPI_LOR)
        *out = (struct known_op){NCOLL_LOR, C(C_INTEGER) | C(LOGICAL)};
    else if (op == MPI_LXOR)
        *out = (struct known_op){NCOLL_LXOR, C(C_INTEGER) | C(LOGICAL)};
    else if (op == MPI_BAND)
        *out = (struct known_op){NCOLL_BAND, INTEGERS | C(BYTE)};
    else if (op == MPI_BOR)
        *out = (struct known_op){NCOLL_BOR, INTEGERS | C(BYTE)};
    else if (op == MPI_BXOR)
        *out = (struct known_op){NCOLL_BXOR, INTEGERS | C(BYTE)};
    else if (op == MPI_MINLOC)
        *out = (struct known_op){NCOLL_MINLOC, C(PAIR)};
    else if (op == MPI_MAXLOC)
        *out = (struct known_op){NCOLL_MAXLOC, C(PAIR)};
    else if (op == MPI_REPLACE || op == MPI_NO_OP)
        *out = (struct known_op){0, 0};
    else
        return false;
    return true;
}

bool op_is_mpis(MPI_Op op)
{
    struct known_op known;

    return op == MPI_OP_NULL || known_op(op, &known);
}

/* ---------------------------------------------------------------- combining ------------------- */

/* inout = in op inout, for n elements. */
static void combine_local(const struct foreign *f, const void *in, void *inout, size_t n)
{
    const unsigned char *left = (const unsigned char *)in - f->true_lb;
    unsigned char *right = (unsigned char *)inout - f->true_lb;

    if ((MPI_Aint)f->stride == f->extent) {
        PMPI_Reduce_local(left, right, (int)n, f->type, f->op);
        return;
    }
    for (size_t i = 0; i < n; i++)
        PMPI_Reduce_local(left + i * f->stride, right + i * f->stride, 1, f->type, f->op);
}

static bool is_odd(const struct foreign *f, const void *a, const void *b)
{
    return f->aligned && (((uintptr_t)a | (uintptr_t)b) & 15) != 0;
}

static void combine_block(const struct foreign *f, unsigned char *out, const unsigned char *left,
                          const unsigned char *right, size_t n)
{
    size_t bytes = n * f->stride;
    unsigned char *first = f->scratch, *second = f->scratch + f->scratch_bytes / 2;

    if (is_odd(f, left, right) || is_odd(f, out, out)) {
        memcpy(first, left, bytes);
        memcpy(second, right, bytes);
        combine_local(f, first, second, n);
        memcpy(out, second, bytes);
    } else if (out == left && f->commutes) {
        combine_local(f, right, out, n);
    } else if (out == left) {
        memcpy(second, right, bytes);
        combine_local(f, left, second, n);
        memcpy(out, second, bytes);
    } else {
        if (out != right)
            memcpy(out, right, bytes);
        combine_local(f, left, out, n);
    }
}

static void combine(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                    void *arg)
{
    const struct foreign *f = arg;
    size_t most = f->stride < BLOCK ? BLOCK / f->stride : 1;

    (void)type;
    for (size_t i = 0; i < count; i += most) {
        size_t n = count - i < most ? count - i : most, at = i * f->stride;
        combine_block(f, (unsigned char *)out + at, (const unsigned char *)left + at,
                      (const unsigned char *)right + at, n);
    }
}

static int make_op(ncoll_context *ctx, struct foreign_op *f, int commutes)
{
    ncoll_op_def def = {
        .size = sizeof def,
        .flags = commutes ? NCOLL_OP_COMMUTATIVE : 0,
        .combine = combine,
        .arg = &f->foreign[commutes],
    };

    return ncoll_op_create(ctx, &def, &f->op[commutes]);
}

static int make_both(ncoll_context *ctx, struct foreign_op *f)
{
    int rc = make_op(ctx, f, 0);

    return rc == NCOLL_OK ? make_op(ctx, f, 1) : rc;
}

/* ---------------------------------------------------------------- sizes of elements ----------- */

/* Returns the stride of elements, in bytes, of a class. Strides are all numbers up to 64, all
 * multiples of 8 up to 512, and then four in each octave, up to 1 MiB. There are few, since all
 * ranks register all of them. */
static size_t element_stride(unsigned class)
{
    if (class < 64)
        return class + 1;
    if (class < 64 + 56)
        return 64 + (class - 63) * 8;
    unsigned step = class - 120;
    return ((size_t)512 << step / 4) + ((size_t)128 << step / 4) * (step % 4 + 1);
}

#define CLASSES (120u + 44u)

static unsigned class_of(size_t bytes)
{
    unsigned class = 0;

    while (class < CLASSES && element_stride(class) < bytes)
        class ++;
    return class;
}

int ops_make(ncoll_context *ctx, struct ops **out)
{
    struct ops *ops = *out = calloc(1, sizeof *ops);
    int rc = ops == NULL ? NCOLL_ERR_MEMORY : make_both(ctx, &ops->blocking);

    for (unsigned i = 0; i < FOREIGN_REQUESTS && rc == NCOLL_OK; i++)
        rc = make_both(ctx, &ops->requests[i]);
    for (unsigned i = 0; i < CLASSES && rc == NCOLL_OK; i++)
        rc = ncoll_type_create(ctx, element_stride(i), &ops->element_types[i]);
    return rc;
}

static void free_scratch(struct foreign_op *f)
{
    free(f->foreign[0].scratch);
    free(f->foreign[1].scratch);
    *f = (struct foreign_op){0};
}

void ops_free(struct ops *ops)
{
    if (ops == NULL)
        return;
    free_scratch(&ops->blocking);
    for (unsigned i = 0; i < FOREIGN_REQUESTS; i++)
        free_scratch(&ops->requests[i]);
    for (unsigned i = 0; i < PERSISTENT_MOST; i++)
        if (ops->persistent[i] != NULL) {
            free_scratch(ops->persistent[i]);
            free(ops->persistent[i]);
        }
    free(ops);
}

/* ---------------------------------------------------------------- choice ---------------------- */

/* Returns the operations for a persistent request, which no other request uses, even later; NULL:
 * there is no memory. */
static struct foreign_op *place_of_persistent(struct comm *comm)
{
    pthread_mutex_lock(&comm->lock); /* otherwise the helper thread may be in the context */
    struct foreign_op **f = &comm->ops->persistent[comm->ops->persistent_calls % PERSISTENT_MOST];

    if (*f == NULL && (*f = calloc(1, sizeof **f)) != NULL &&
        make_both(comm->ctx, *f) != NCOLL_OK) {
        free(*f);
        *f = NULL;
    }
    pthread_mutex_unlock(&comm->lock);
    return *f;
}

static bool is_free_for(struct foreign *f, MPI_Op op, MPI_Datatype type)
{
    return __atomic_load_n(&f->users, __ATOMIC_ACQUIRE) == 0 || (f->op == op && f->type == type);
}

/* Returns the operations for this call. All ranks take the same, since they depend only on the
 * number of such calls on the communicator. If an unfinished request with another operation or type
 * uses them, this rank waits for that request. NULL: there is no memory. */
static struct foreign_op *place_of(struct call *c, enum how how, int commutes, MPI_Op op,
                                   MPI_Datatype type)
{
    struct ops *ops = c->comm->ops;

    if (how == BLOCKING)
        return &ops->blocking;
    if (how == PERSISTENT_INIT)
        return place_of_persistent(c->comm);
    struct foreign_op *f = &ops->requests[ops->foreign_calls++ % FOREIGN_REQUESTS];
    for (unsigned tries = 0; !is_free_for(&f->foreign[commutes], op, type); tries++) {
        progress_all();
        progress_others();
        progress_idle(tries);
    }
    return f;
}

static bool provide_scratch(struct foreign *f)
{
    size_t bytes = 2 * (f->stride > BLOCK ? f->stride : (size_t)BLOCK);

    if (f->scratch_bytes >= bytes)
        return true;
    free(f->scratch);
    f->scratch = aligned_alloc(64, (bytes + 63) / 64 * 64);
    f->scratch_bytes = f->scratch == NULL ? 0 : bytes;
    return f->scratch != NULL;
}

static enum reason choose_foreign(struct call *c, enum how how, const struct type *t, MPI_Op op,
                                  bool *copied)
{
    size_t bytes = (size_t)(t->true_extent > t->extent ? t->true_extent : t->extent);
    int commutes = 0;

    if (t->extent < 0 || bytes == 0 || bytes > element_stride(CLASSES - 1))
        return TYPE;
    unsigned class = class_of(bytes);
    if (PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS)
        return OP;
    commutes = commutes != 0;
    struct foreign_op *place = place_of(c, how, commutes, op, t->mpi);
    if (place == NULL) {
        stage_memory(c, SIZE_MAX);
        return SERVED;
    }
    struct foreign *f = &place->foreign[commutes];
    f->op = op;
    f->type = t->mpi;
    f->stride = element_stride(class);
    f->extent = t->extent;
    f->true_lb = t->true_lb;
    f->true_extent = (size_t)t->true_extent;
    f->commutes = commutes;
    f->aligned = t->extent % 16 == 0;
    c->foreign = f;
    c->op = place->op[commutes];
    c->type = c->comm->ops->element_types[class];
    *copied = !t->dense || (MPI_Aint)f->stride != t->extent;
    if (!provide_scratch(f))
        stage_memory(c, SIZE_MAX);
    return SERVED;
}

enum reason op_choose(struct call *c, enum how how, const struct type *t, MPI_Op op, bool *copied)
{
    struct known_op known;

    *copied = false;
    if (!known_op(op, &known)) {
        if (op == MPI_OP_NULL)
            return ARGUMENT;
        return choose_foreign(c, how, t, op, copied);
    }
    if ((known.classes >> t->class & 1) == 0)
        return OP;
    if (t->native != 0) {
        c->type = t->native;
        c->op = known.op;
        return SERVED;
    }
    return choose_foreign(c, how, t, op, copied);
}
