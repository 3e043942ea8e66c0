/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/job/devices.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "bootstrap/bootstrap.h"
#include "bootstrap/futex.h"
#include "lib/base/group.h"

/* Size of a segment in address space; only the pages that are used take memory. */
#define ROOM_BYTES ((size_t)1 << 20)

/* The longest time that a mate waits for its leader, and the interval at which it looks whether the
 * leader is still there. */
#define PATIENCE_NS UINT64_C(10000000000)
#define LOOK_NS     UINT64_C(20000000)

enum state { EXAMINING, FOUND, NOTHING_FOUND };

/* The contents of a segment. The leader writes the table, then the state with release order; after
 * that it changes neither. */
struct memory_of_node {
    struct segment_header header;
    _Atomic uint32_t state; /* enum state; a futex */
    uint32_t bytes;
    unsigned char table[];
};

static struct memory_of_node *memory_of(const struct segment *s)
{
    return (struct memory_of_node *)(void *)s->base;
}

struct segment_name ncoll__examination_open(struct ncoll_context *ctx, struct examination *x)
{
    const char *transport = ctx->settings.transport;
    const struct transport_ops *ops =
        ncoll__transport_find(transport != NULL ? transport : "shm+verbs");
    uint64_t nonce = ncoll__now_ns(ctx) ^ (uint64_t)ctx->rank << 48;

    *x = (struct examination){.leader_rank = -1};
    if (ctx->ranks == 1 || ops == NULL || ops->examine == NULL ||
        ncoll__segment_create(&x->segment, ROOM_BYTES, nonce) != 0)
        return (struct segment_name){0};
    return ncoll__segment_name(&x->segment);
}

/* ------------------------------------------------------------------ the leader ---------------- */

/* Sets the result in the segment, and wakes the mates. Only the first call has an effect. */
static void settle(const struct segment *segment, enum state state)
{
    struct memory_of_node *memory = memory_of(segment);

    if (atomic_load_explicit(&memory->state, memory_order_relaxed) != EXAMINING)
        return;
    atomic_store_explicit(&memory->state, state, memory_order_release);
    ncoll__futex_wake(&memory->state);
}

static void examine(const struct transport_ops *ops, struct examination *x)
{
    struct memory_of_node *memory = memory_of(&x->segment);
    bool found = ops->examine(&x->found) &&
                 x->found.len <= ROOM_BYTES - offsetof(struct memory_of_node, table);

    if (found) {
        memcpy(memory->table, x->found.bytes, x->found.len);
        memory->bytes = (uint32_t)x->found.len;
    } else {
        ncoll__blob_free(&x->found);
    }
    settle(&x->segment, found ? FOUND : NOTHING_FOUND);
}

/* ------------------------------------------------------------------ its mates ----------------- */

/* True if the process of the leader is gone, or has closed its segment because it has failed. */
static bool has_ended(const struct segment_name *leader)
{
    return (kill(leader->pid, 0) != 0 && errno == ESRCH) || ncoll__segment_is_closed(leader);
}

/* Waits for the result of the leader. Returns false if the leader has found nothing, takes too
 * long, or is gone. */
static bool await(struct ncoll_context *ctx, const struct segment_name *leader,
                  struct memory_of_node *memory)
{
    uint64_t since_ns = ncoll__now_ns(ctx), patience_ns = PATIENCE_NS;
    uint32_t state;

    if ((uint64_t)ctx->settings.bootstrap_timeout_ns / 2 < patience_ns)
        patience_ns = (uint64_t)ctx->settings.bootstrap_timeout_ns / 2;
    while ((state = atomic_load_explicit(&memory->state, memory_order_acquire)) == EXAMINING) {
        if (ncoll__now_ns(ctx) - since_ns >= patience_ns || has_ended(leader))
            return false;
        ncoll__futex_wait(&memory->state, EXAMINING, LOOK_NS);
    }
    return state == FOUND;
}

static void read_from_leader(struct ncoll_context *ctx, struct examination *x)
{
    struct segment segment;

    if (x->leader.bytes != ROOM_BYTES || ncoll__segment_attach(&segment, &x->leader) != 0)
        return;
    struct memory_of_node *memory = memory_of(&segment);
    if (await(ctx, &x->leader, memory) &&
        memory->bytes <= ROOM_BYTES - offsetof(struct memory_of_node, table))
        ncoll__blob_add(&x->found, memory->table, memory->bytes);
    if (x->found.failed)
        ncoll__blob_free(&x->found);
    ncoll__segment_release(&segment);
}

void ncoll__examination_make(struct ncoll_context *ctx, const struct transport_ops *ops,
                             struct examination *x)
{
    bool needed = ops != NULL && ops->examine != NULL &&
                  (ctx->places.node_ranks > 1 || ctx->places.nodes > 1);

    if (needed && x->leader_rank == ctx->rank) {
        if (x->segment.base != NULL)
            examine(ops, x);
        return;
    }
    ncoll__segment_release(&x->segment);
    if (!needed)
        return;
    read_from_leader(ctx, x);
    if (x->found.len == 0)
        ncoll__log(ctx, NCOLL_LOG_INFO,
                   "rank %d, the first of this node, has not examined its devices; this rank does "
                   "so itself",
                   x->leader_rank);
}

void ncoll__examination_close(struct examination *x)
{
    if (x->segment.base != NULL)
        settle(&x->segment, NOTHING_FOUND);
    ncoll__segment_release(&x->segment);
    ncoll__blob_free(&x->found);
}
