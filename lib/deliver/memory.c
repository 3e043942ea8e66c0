/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the user's memory that the transport knows, sorted by address. It is searched once
 * for each buffer of a call that has long messages, never for a single message.
 */
#include <string.h>

#include "lib/base/entry.h"
#include "lib/base/group.h"
#include "lib/plan/plan.h"
#include "lib/deliver/memory.h"

/* Returns the index of the first region that ends after an address. */
static unsigned search(const struct memory_table *t, uintptr_t at)
{
    unsigned low = 0, high = t->count;

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if ((uintptr_t)t->all[middle]->base + t->all[middle]->bytes <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct memory *ncoll__memory_find(const struct ncoll_context *ctx, const void *at, size_t bytes)
{
    const struct memory_table *t = &ctx->memories;

    if (t->count == 0)
        return NULL;
    unsigned i = search(t, (uintptr_t)at);
    if (i == t->count || (uintptr_t)at < (uintptr_t)t->all[i]->base)
        return NULL;
    size_t before = (size_t)((uintptr_t)at - (uintptr_t)t->all[i]->base);
    return bytes <= t->all[i]->bytes - before ? t->all[i] : NULL;
}

void ncoll__call_find_memories(struct ncoll_group *g, struct call *c)
{
    const struct plan *plan = c->plan;
    uintptr_t in = (uintptr_t)c->args.in, out = (uintptr_t)c->args.out;

    c->memories[BASE_IN] = c->memories[BASE_OUT] = NULL;
    c->sends_own = false;
    c->in_place = in < out + plan->out_bytes && out < in + plan->in_bytes;
    if (((plan->routes & (FROM_COPY | MAY_PEER_READ_IN | MAY_SINGLE_COPY)) == 0 &&
         plan->advertised == 0) ||
        g->ctx->memories.count == 0)
        return;
    if (plan->in_bytes > 0)
        c->memories[BASE_IN] = ncoll__memory_find(g->ctx, c->args.in, plan->in_bytes);
    if (plan->out_bytes > 0)
        c->memories[BASE_OUT] = ncoll__memory_find(g->ctx, c->args.out, plan->out_bytes);
}

/* ------------------------------------------------------------------ the table ----------------- */

static int make_room(struct ncoll_context *ctx)
{
    struct memory_table *t = &ctx->memories;
    unsigned capacity = t->capacity > 0 ? 2 * t->capacity : 8;

    if (t->count < t->capacity)
        return NCOLL_OK;
    struct memory **grown = ncoll__allocate(ctx, capacity * sizeof(struct memory *));
    if (grown == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory to note a region");
    if (t->count > 0)
        memcpy(grown, t->all, t->count * sizeof(struct memory *));
    ncoll__release(ctx, t->all);
    t->all = grown;
    t->capacity = capacity;
    return NCOLL_OK;
}

static void enter(struct memory_table *t, struct memory *m)
{
    unsigned i = search(t, (uintptr_t)m->base);

    memmove(&t->all[i + 1], &t->all[i], (t->count - i) * sizeof(struct memory *));
    t->all[i] = m;
    t->count++;
    t->bytes += m->bytes;
    t->huge_bytes += m->huge ? m->bytes : 0;
}

static void leave(struct memory_table *t, unsigned i)
{
    t->bytes -= t->all[i]->bytes;
    t->huge_bytes -= t->all[i]->huge ? t->all[i]->bytes : 0;
    t->count--;
    memmove(&t->all[i], &t->all[i + 1], (t->count - i) * sizeof(struct memory *));
}

void ncoll__memories_free(struct ncoll_context *ctx)
{
    struct memory_table *t = &ctx->memories;

    for (unsigned i = 0; i < t->count; i++)
        ctx->transport->ops->memory_release(ctx->transport, t->all[i]);
    ncoll__release(ctx, t->all);
    *t = (struct memory_table){0};
}

/* ------------------------------------------------------------------ taking -------------------- */

static int check_context(const struct ncoll_context *ctx)
{
    return ctx != NULL && ctx->magic == CONTEXT_MAGIC ? NCOLL_OK : NCOLL_ERR_HANDLE;
}

int ncoll_alloc(ncoll_context *ctx, size_t bytes, void **memory)
{
    struct memory *m;
    int rc = check_context(ctx);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(ctx);
    if (bytes == 0)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "ask for 1 byte or more",
                           "ncoll_alloc() was asked for 0 bytes");
    if (memory == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the memory",
                           "the pointer for the memory is NULL");
    if (bytes > PTRDIFF_MAX / 2)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, "check the number of bytes",
                           "%zu bytes are more than memory can hold", bytes);
    if ((rc = make_room(ctx)) != NCOLL_OK ||
        (rc = ctx->transport->ops->memory_allocate(ctx->transport, bytes, &m)) != NCOLL_OK)
        return rc;
    enter(&ctx->memories, m);
    *memory = m->base;
    return NCOLL_OK;
}

int ncoll_mem_register(ncoll_context *ctx, void *memory, size_t bytes)
{
    uintptr_t at = (uintptr_t)memory, end;
    struct memory *m;
    int rc = check_context(ctx);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(ctx);
    if (memory == NULL || bytes == 0 || __builtin_add_overflow(at, bytes, &end))
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass the start and the size of a buffer",
                           "%zu bytes at %p cannot be registered", bytes, memory);
    const struct memory_table *t = &ctx->memories;
    unsigned i = search(t, at);
    if (i < t->count && (uintptr_t)t->all[i]->base < end)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1,
                           "register a region once, or deregister it before it is registered again",
                           "%zu bytes at %p overlap %zu bytes at %p, which are %s already", bytes,
                           memory, t->all[i]->bytes, (void *)t->all[i]->base,
                           t->all[i]->allocated ? "from ncoll_alloc()" : "registered");
    if ((rc = make_room(ctx)) != NCOLL_OK ||
        (rc = ctx->transport->ops->memory_register(ctx->transport, memory, bytes, &m)) != NCOLL_OK)
        return rc;
    enter(&ctx->memories, m);
    return NCOLL_OK;
}

/* ------------------------------------------------------------------ giving back --------------- */

static bool lies_in(const struct memory *m, const void *at)
{
    return (uintptr_t)at - (uintptr_t)m->base < m->bytes;
}

/* True if an unfinished call of any group uses the region. */
static bool is_in_use(const struct ncoll_context *ctx, const struct memory *m)
{
    for (const struct ncoll_group *g = ctx->groups; g != NULL; g = g->next)
        for (const struct call *c = g->first; c != NULL; c = c->next)
            if (lies_in(m, c->args.in) || lies_in(m, c->args.out) || lies_in(m, c->user_in) ||
                lies_in(m, c->user_out))
                return true;
    return false;
}

static int give_back(ncoll_context *ctx, void *memory, bool allocated)
{
    const char *from = allocated ? "ncoll_alloc()" : "ncoll_mem_register()";
    struct memory_table *t;
    int rc = check_context(ctx);

    if (rc != NCOLL_OK)
        return rc;
    ENTER(ctx);
    t = &ctx->memories;
    unsigned i = search(t, (uintptr_t)memory);
    struct memory *m = i < t->count && t->all[i]->base == memory ? t->all[i] : NULL;
    if (m == NULL || m->allocated != allocated)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass the start of a region, once",
                           "%p is not the start of a region from %s", memory, from);
    if (is_in_use(ctx, m))
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_BUSY, CALL_UNFINISHED), -1,
                           "finish the collective first",
                           "a collective is unfinished on the %zu bytes at %p", m->bytes, memory);
    leave(t, i);
    ctx->transport->ops->memory_release(ctx->transport, m);
    return NCOLL_OK;
}

int ncoll_free(ncoll_context *ctx, void *memory)
{
    return memory == NULL ? check_context(ctx) : give_back(ctx, memory, true);
}

int ncoll_mem_deregister(ncoll_context *ctx, void *memory)
{
    return give_back(ctx, memory, false);
}
