/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program may free a type or an operation while requests use it. MPI keeps what its own requests
 * use; this file does the same for requests of ncoll.
 */
#include <stdlib.h>

#include "interop/mpi/dropin.h"

struct kept {
    struct kept *next;
    MPI_Datatype type;
    MPI_Op op;
    int users;
    bool freed; /* the program has freed it */
};

static struct kept *types, *ops;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct kept **find_type(MPI_Datatype type)
{
    struct kept **at = &types;

    while (*at != NULL && (*at)->type != type)
        at = &(*at)->next;
    return at;
}

static struct kept **find_op(MPI_Op op)
{
    struct kept **at = &ops;

    while (*at != NULL && (*at)->op != op)
        at = &(*at)->next;
    return at;
}

/* Changes the number of users of a type or an operation. Returns true if the handle is to be freed
 * now, since the program has freed it and there are no users left. */
static bool change(struct kept **at, const struct kept *fresh, int by)
{
    struct kept *k = *at;

    if (k == NULL) {
        if (by < 0 || (k = malloc(sizeof *k)) == NULL)
            return false;
        *k = *fresh;
        *at = k;
    }
    k->users += by;
    if (k->users > 0)
        return false;
    bool freed = k->freed;
    *at = k->next;
    free(k);
    return freed;
}

void keep_type(MPI_Datatype type, int by)
{
    const struct kept fresh = {.type = type};

    pthread_mutex_lock(&lock);
    bool now = change(find_type(type), &fresh, by);
    pthread_mutex_unlock(&lock);
    if (now) {
        type_forget(type);
        real.Type_free(&type);
    }
}

void keep_op(MPI_Op op, int by)
{
    const struct kept fresh = {.op = op};

    pthread_mutex_lock(&lock);
    bool now = change(find_op(op), &fresh, by);
    pthread_mutex_unlock(&lock);
    if (now)
        real.Op_free(&op);
}

void keep_call(const struct call *c, int by)
{
    struct foreign *foreign = c->foreign;

    stage_keep_types(c, by);
    if (foreign == NULL)
        return;
    keep_type(foreign->type, by);
    keep_op(foreign->op, by);
    __atomic_fetch_add(&foreign->users, (unsigned)by, __ATOMIC_ACQ_REL);
}

static bool postpone(struct kept *k)
{
    if (k != NULL)
        k->freed = true;
    return k != NULL;
}

INTERPOSE(Type_free, MPI_Datatype *type)
{
    if (type == NULL || *type == MPI_DATATYPE_NULL)
        return real.Type_free(type);
    pthread_mutex_lock(&lock);
    bool later = postpone(*find_type(*type));
    pthread_mutex_unlock(&lock);
    if (later) {
        *type = MPI_DATATYPE_NULL;
        return MPI_SUCCESS;
    }
    type_forget(*type);
    return real.Type_free(type);
}

INTERPOSE(Op_free, MPI_Op *op)
{
    if (op == NULL || *op == MPI_OP_NULL)
        return real.Op_free(op);
    pthread_mutex_lock(&lock);
    bool later = postpone(*find_op(*op));
    pthread_mutex_unlock(&lock);
    if (!later)
        return real.Op_free(op);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
