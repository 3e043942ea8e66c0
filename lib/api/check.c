/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the arguments of a call, as far as this rank alone can. Differences between ranks are
 * found by the signatures of their messages. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/signature.h"
#include "lib/plan/compile.h"
#include "lib/api/check.h"
#include "lib/plan/arguments.h"
#include "lib/base/group.h"

/* A buffer of the caller: a vector, or blocks. */
struct extent {
    const char *name;
    uintptr_t at;
    size_t bytes; /* bytes from the start of the buffer to the end of the last block */
    bool used;    /* this rank uses the buffer, and it is not empty */
};

static int bad(struct ncoll_group *g, const char *remedy, const char *cause, size_t a, size_t b)
{
    /* the format `cause` has two %zu */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, remedy, cause, a, b);
#pragma GCC diagnostic pop
}

static int too_much(struct ncoll_group *g, size_t count, size_t element)
{
    return bad(g, "check the count",
               "a count of %zu elements of %zu bytes is more than memory can hold", count, element);
}

/* One block of a buffer. Blocks that a call writes must not overlap. */
struct block {
    size_t at, count;
};

static int by_place(const void *left, const void *right)
{
    const struct block *a = left, *b = right;
    return (a->at > b->at) - (a->at < b->at);
}

static int check_blocks_apart(struct ncoll_group *g, const size_t *counts, const size_t *displs)
{
    struct block *blocks = ncoll__allocate(g->ctx, (size_t)g->size * sizeof *blocks);
    int rc = NCOLL_OK, used = 0;

    if (blocks == NULL)
        return ncoll__fail(g->ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to check displs");
    for (int q = 0; q < g->size; q++)
        if (counts[q] > 0)
            blocks[used++] = (struct block){displs[q], counts[q]};
    qsort(blocks, (size_t)used, sizeof *blocks, by_place);
    for (int i = 1; i < used && rc == NCOLL_OK; i++)
        if (blocks[i - 1].at + blocks[i - 1].count > blocks[i].at)
            rc = bad(g, "check counts and displs",
                     "blocks of the output overlap: one ends at element %zu, another "
                     "starts at %zu",
                     blocks[i - 1].at + blocks[i - 1].count, blocks[i].at);
    ncoll__release(g->ctx, blocks);
    return rc;
}

/* Computes the number of bytes of a buffer up to the end of its last block. */
static int reach_of(struct ncoll_group *g, size_t count, const size_t *counts, const size_t *displs,
                    size_t element, size_t *bytes)
{
    size_t end = 0, next = 0;

    for (int q = 0; counts != NULL && q < g->size; q++) {
        size_t at = displs != NULL ? displs[q] : next;
        if (__builtin_add_overflow(at, counts[q], &next))
            return too_much(g, counts[q], element);
        if (counts[q] > 0 && next > end)
            end = next;
    }
    if (counts == NULL && __builtin_mul_overflow(count, (size_t)g->size, &end))
        return too_much(g, count, element);
    if (__builtin_mul_overflow(end, element, bytes) || *bytes > PTRDIFF_MAX)
        return too_much(g, end, element);
    return NCOLL_OK;
}

static int find_extents(struct ncoll_group *g, const struct call_args *a, size_t element,
                        struct extent *in, struct extent *out)
{
    struct shape shape = ncoll__shape(g, a, 1, false);
    bool in_blocks = in_form(a->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(a->collective) == FORM_BLOCKS;
    size_t own = block_count(&shape, shape.rank), vector;
    const size_t *in_counts = a->sends != NULL ? a->sends : a->counts;
    const size_t *in_displs = out_blocks ? a->send_displs : a->displs;
    int rc = NCOLL_OK;

    *in = (struct extent){"in", (uintptr_t)a->in, 0, has_in(&shape)};
    *out = (struct extent){"out", (uintptr_t)a->out, 0, has_out(&shape)};
    if (__builtin_mul_overflow(own, element, &vector) || vector > PTRDIFF_MAX)
        return too_much(g, own, element);
    in->bytes = out->bytes = vector;
    if (in->used && in_blocks)
        rc = reach_of(g, a->count, in_counts, in_displs, element, &in->bytes);
    if (rc == NCOLL_OK && out->used && out_blocks)
        rc = reach_of(g, a->count, a->counts, a->displs, element, &out->bytes);
    if (rc == NCOLL_OK && out->used && out_blocks && a->counts != NULL && a->displs != NULL)
        rc = check_blocks_apart(g, a->counts, a->displs);
    in->used = in->used && in->bytes > 0;
    out->used = out->used && out->bytes > 0;
    return rc;
}

/* Returns the offset in bytes inside the larger buffer at which the smaller one must lie for a call
 * in place. */
static uintptr_t own_block(const struct ncoll_group *g, const struct call_args *a, size_t element)
{
    size_t at = (size_t)g->rank * a->count;

    if (a->counts != NULL && a->displs != NULL)
        at = a->displs[g->rank];
    else if (a->counts != NULL) {
        at = 0;
        for (int q = 0; q < g->rank; q++)
            at += a->counts[q];
    }
    return at * element;
}

static bool is_in_place(const struct ncoll_group *g, const struct call_args *a, size_t element,
                        const struct extent *in, const struct extent *out)
{
    bool in_blocks = in_form(a->collective) == FORM_BLOCKS;
    bool out_blocks = out_form(a->collective) == FORM_BLOCKS;

    if (in_blocks == out_blocks || a->collective == COLL_REDUCE_SCATTER)
        return in->at == out->at;
    return in_blocks ? out->at == in->at + own_block(g, a, element)
                     : in->at == out->at + own_block(g, a, element);
}

static int check_missing(struct ncoll_group *g, const struct extent *in, const struct extent *out)
{
    const struct extent *missing = in->used && in->at == 0     ? in
                                   : out->used && out->at == 0 ? out
                                                               : NULL;

    if (missing == NULL)
        return NCOLL_OK;
    return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1, "pass a buffer",
                       "%s is NULL where %zu bytes are needed", missing->name, missing->bytes);
}

/* Checks that buffers do not overlap, and that none is missing. */
static int check_extents(struct ncoll_group *g, const struct extent *in, const struct extent *out)
{
    size_t in_end = in->at + in->bytes, out_end = out->at + out->bytes;
    size_t end = in_end < out_end ? in_end : out_end, start = in->at > out->at ? in->at : out->at;
    int rc = check_missing(g, in, out);

    if (rc != NCOLL_OK || end <= start)
        return rc;
    return bad(g,
               "use buffers apart from each other, or in place: the same one, or the own block of "
               "the larger one",
               "in and out overlap by %zu of %zu bytes", end - start,
               in->bytes < out->bytes ? in->bytes : out->bytes);
}

static int check_buffers(struct ncoll_group *g, const struct call_args *a, size_t element)
{
    struct extent in, out;

    int rc = find_extents(g, a, element, &in, &out);
    if (rc != NCOLL_OK)
        return rc;
    if (!in.used || !out.used || is_in_place(g, a, element, &in, &out))
        return check_missing(g, &in, &out);
    return check_extents(g, &in, &out);
}

int ncoll__check_apart(struct ncoll_group *g, const void *in, const void *out, size_t bytes)
{
    struct extent from = {"in", (uintptr_t)in, bytes, bytes > 0};
    struct extent to = {"out", (uintptr_t)out, bytes, bytes > 0};

    return in == out || bytes == 0 ? check_missing(g, &from, &to) : check_extents(g, &from, &to);
}

int ncoll__check_args(struct ncoll_group *g, const struct call_args *a)
{
    struct ncoll_context *ctx = g->ctx;
    size_t element;
    struct op op;

    if (a->collective == COLL_BARRIER)
        return NCOLL_OK;
    element = ncoll_context_type_size(ctx, a->type);
    if (element == 0)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "use NCOLL_INT8..NCOLL_DOUBLE_INT64 or a type from ncoll_type_create()",
                           "type %u is unknown", a->type);
    if (a->root < 0 || a->root >= g->size)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "use a rank of the group",
                           "root is %d, the group has ranks 0..%d", a->root, g->size - 1);
    if (a->needs_counts &&
        (a->counts == NULL || (a->collective == COLL_ALLTOALL && a->sends == NULL)))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass as many counts as there are ranks",
                           "the counts are NULL");
    if (reduces(a->collective)) {
        int rc = ncoll__op_resolve(ctx, a->op, a->type, &op);
        if (rc != NCOLL_OK)
            return rc;
    }
    return check_buffers(g, a, element);
}

int ncoll__check_timeout(struct ncoll_group *g, int64_t timeout_ns)
{
    if (timeout_ns >= 0)
        return NCOLL_OK;
    return ncoll__fail(g->ctx, NCOLL_ERR_ARGUMENT, -1,
                       "use NCOLL_BLOCK, NCOLL_TEST or nanoseconds > 0",
                       "the time-out is negative (%lld ns)", (long long)timeout_ns);
}
