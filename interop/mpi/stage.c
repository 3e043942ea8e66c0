/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies data before and after a call if it does not lie in memory as ncoll takes it. Data that is
 * only moved is packed by MPI_Pack(), since other ranks may have the same data in one piece. For
 * reductions each element is copied by itself; the gaps inside it are not written in the program's
 * buffer.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interop/mpi/dropin.h"

#define PACK_MOST ((size_t)1 << 30) /* bytes of one MPI_Pack(), whose sizes are int */

struct memory {
    struct memory *next;
    _Alignas(64) unsigned char bytes[];
};

struct pieces {
    struct piece *at;
    size_t n, room;
};

struct stage {
    struct memory *memory;
    struct pieces before, after;
    bool failed;
};

static struct stage out_of_memory = {.failed = true};

static struct stage *stage_of(struct call *c)
{
    if (c->stage == NULL && (c->stage = calloc(1, sizeof *c->stage)) == NULL)
        c->stage = &out_of_memory;
    return c->stage;
}

bool stage_ok(const struct call *c)
{
    return !c->stage->failed;
}

void *stage_memory(struct call *c, size_t bytes)
{
    struct stage *s = stage_of(c);
    struct memory *m = bytes > PTRDIFF_MAX - 128 || s->failed
                           ? NULL
                           : aligned_alloc(64, (sizeof *m + bytes + 63) / 64 * 64);

    if (m == NULL) {
        if (s != &out_of_memory)
            s->failed = true;
        return NULL;
    }
    m->next = s->memory;
    s->memory = m;
    return m->bytes;
}

static bool add(struct call *c, struct pieces *p, const struct piece *piece)
{
    if (p->n == p->room) {
        size_t room = p->room == 0 ? 4 : 2 * p->room;
        struct piece *at = realloc(p->at, room * sizeof *at);
        if (at == NULL) {
            c->stage->failed = true;
            return false;
        }
        p->at = at;
        p->room = room;
    }
    p->at[p->n++] = *piece;
    return true;
}

static bool add_piece(struct call *c, bool is_before, void *user, MPI_Count count,
                      const struct type *type, size_t stride, void *temporary)
{
    struct stage *s = stage_of(c);
    const struct piece piece = {user, temporary, count, *type, stride};

    if (s->failed || count == 0)
        return !s->failed;
    return add(c, is_before ? &s->before : &s->after, &piece);
}

bool stage_in(struct call *c, const void *user, MPI_Count count, const struct type *type,
              size_t stride, void *temporary)
{
    return add_piece(c, true, (void *)user, count, type, stride, temporary);
}

bool stage_out(struct call *c, void *user, MPI_Count count, const struct type *type, size_t stride,
               void *temporary)
{
    return add_piece(c, false, user, count, type, stride, temporary);
}

void stage_apart(struct call *c, size_t in_bytes)
{
    void *copy = stage_memory(c, in_bytes);

    stage_in(c, c->in, (MPI_Count)in_bytes, type_of(MPI_BYTE), 0, copy);
    c->in = copy;
}

void stage_free(struct call *c)
{
    struct stage *s = c->stage;

    c->stage = NULL;
    if (s == NULL || s == &out_of_memory)
        return;
    for (struct memory *m = s->memory, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    free(s->before.at);
    free(s->after.at);
    free(s);
}

void stage_keep_types(const struct call *c, int by)
{
    const struct stage *s = c->stage;

    if (s == NULL)
        return;
    for (size_t i = 0; i < s->before.n; i++)
        keep_type(s->before.at[i].type.mpi, by);
    for (size_t i = 0; i < s->after.n; i++)
        keep_type(s->after.at[i].type.mpi, by);
}

/* ---------------------------------------------------------------- copying --------------------- */

/* Copies data by a message of this process to itself. Only one thread does so at a time, or it
 * might take the message of another one. */
static void copy_by_message(const void *from, int n, MPI_Datatype from_type, void *to, int m,
                            MPI_Datatype to_type)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    real.Sendrecv(from, n, from_type, 0, TAG_COPY, to, m, to_type, 0, TAG_COPY, world.self,
                  MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
}

/* Packs or unpacks one element of more than PACK_MOST bytes, by a message of blocks of 1 MiB: their
 * number is an int, while the size is not. */
static void copy_large(const struct type *t, unsigned char *user, unsigned char *packed, bool pack)
{
    int lengths[2] = {(int)(t->size >> 20), (int)(t->size & 0xfffff)};
    MPI_Aint places[2] = {0, (MPI_Aint)lengths[0] << 20};
    MPI_Datatype mib, types[2], whole;

    PMPI_Type_contiguous(1 << 20, MPI_BYTE, &mib);
    types[0] = mib;
    types[1] = MPI_BYTE;
    PMPI_Type_create_struct(2, lengths, places, types, &whole);
    PMPI_Type_commit(&whole);
    if (pack)
        copy_by_message(user, 1, t->mpi, packed, 1, whole);
    else
        copy_by_message(packed, 1, whole, user, 1, t->mpi);
    real.Type_free(&whole);
    real.Type_free(&mib);
}

/* Packs or unpacks n elements, of PACK_MOST bytes at most together. MPI_Pack() of MPICH refuses
 * MPI_BOTTOM, which is NULL, so a message is used then. */
static void copy_some(const struct type *t, unsigned char *user, size_t n, unsigned char *packed,
                      bool pack)
{
    int bytes = (int)(n * t->size), at = 0;

    if (user != NULL && pack)
        PMPI_Pack(user, (int)n, t->mpi, packed, bytes, &at, MPI_COMM_SELF);
    else if (user != NULL)
        PMPI_Unpack(packed, bytes, &at, user, (int)n, t->mpi, MPI_COMM_SELF);
    else if (pack)
        copy_by_message(user, (int)n, t->mpi, packed, bytes, MPI_BYTE);
    else
        copy_by_message(packed, bytes, MPI_BYTE, user, (int)n, t->mpi);
}

static void copy_packed(const struct piece *p, bool pack)
{
    size_t size = p->type.size, all = (size_t)p->count;

    if (size == 0)
        return;
    if (p->type.dense) {
        void *user = p->user + p->type.true_lb;
        memcpy(pack ? p->temporary : user, pack ? user : p->temporary, all * size);
        return;
    }
    for (size_t i = 0, n; i < all; i += n) {
        unsigned char *user = p->user + (MPI_Aint)i * p->type.extent;
        unsigned char *packed = p->temporary + i * size;
        n = all - i < PACK_MOST / size ? all - i : PACK_MOST / size;
        if (n > 0) {
            copy_some(&p->type, user, n, packed, pack);
        } else {
            copy_large(&p->type, user, packed, pack);
            n = 1;
        }
    }
}

static void take_elements(const struct piece *p)
{
    for (MPI_Count i = 0; i < p->count; i++) {
        unsigned char *to = p->temporary + (size_t)i * p->stride;
        const unsigned char *from = p->user + i * p->type.extent + p->type.true_lb;
        memcpy(to, from, (size_t)p->type.true_extent);
        memset(to + p->type.true_extent, 0, p->stride - (size_t)p->type.true_extent);
    }
}

/* Copies elements back to the program's buffer. Only the data of an element is written: the program
 * may have something else in the gaps. */
static void give_elements(const struct piece *p)
{
    unsigned char *data = malloc(p->type.size + 1);

    for (MPI_Count i = 0; i < p->count && data != NULL; i++) {
        unsigned char *to = p->user + i * p->type.extent;
        const unsigned char *from = p->temporary + (size_t)i * p->stride - p->type.true_lb;
        copy_some(&p->type, (unsigned char *)from, 1, data, true);
        copy_some(&p->type, to, 1, data, false);
    }
    free(data);
}

void stage_before(const struct call *c)
{
    for (size_t i = 0; i < c->stage->before.n; i++) {
        const struct piece *p = &c->stage->before.at[i];
        if (p->stride == 0)
            copy_packed(p, true);
        else
            take_elements(p);
    }
}

void stage_after(const struct call *c)
{
    for (size_t i = 0; i < c->stage->after.n; i++) {
        const struct piece *p = &c->stage->after.at[i];
        if (p->stride == 0)
            copy_packed(p, false);
        else
            give_elements(p);
    }
}
