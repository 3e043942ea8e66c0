/* SPDX-License-Identifier: BSD-3-Clause */
#include "lib/base/entry.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GATE_OPEN UINT32_C(0x6f70656e)

static bool barrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* ------------------------------------------------------------------ refusals ------------------ */

enum refusal { REFUSED_INSIDE, REFUSED_THREAD, REFUSED_UNSEEN };

static const char *const causes[REFUSALS] = {
    [REFUSED_INSIDE] = "this thread is inside a call on the context already: a user operation, a "
                       "callback or a signal handler has called again",
    [REFUSED_THREAD] = "another thread is inside a call on the context",
    [REFUSED_UNSEEN] =
        "the kernel now refuses membarrier(), without which it cannot be seen whether "
        "another thread is inside a call on the context",
};
static const char *const remedies[REFUSALS] = {
    [REFUSED_INSIDE] = "call when the call that is going on has returned",
    [REFUSED_THREAD] = "let one thread at a time use a context, or give each thread its own",
    [REFUSED_UNSEEN] = "call in the same thread, or create the context once the sandbox is set up",
};

/* Writes the errors of refused calls beforehand, for two reasons: a signal handler must not format
 * text, and the error of the call that goes on must not be overwritten. */
void ncoll__prepare_refusals(struct ncoll_context *ctx)
{
    for (unsigned i = 0; i < REFUSALS; i++) {
        ncoll_error *e = &ctx->refusals[i];
        *e = (ncoll_error){.status = NCOLL_ERR_BUSY,
                           .rank = ctx->rank,
                           .peer = -1,
                           .reason = NCOLL_REASON_CONTEXT_IN_USE};
        snprintf(e->cause, sizeof e->cause, "%s", causes[i]);
        snprintf(e->remedy, sizeof e->remedy, "%s", remedies[i]);
        snprintf(e->text, sizeof e->text, "ncoll: rank %d: the context is in use: %s; %s",
                 ctx->rank, causes[i], remedies[i]);
    }
}

static struct entry *refuse(struct ncoll_context *ctx, enum refusal why, int *status)
{
    atomic_store_explicit(&ctx->refused, why + 1, memory_order_relaxed);
    atomic_store_explicit(&ctx->refused_thread, ncoll__this_thread(), memory_order_release);
    *status = NCOLL_ERR_BUSY;
    return NULL;
}

/* The acquire load makes everything that the thread did inside visible to the caller. */
static bool is_inside(const struct entry *e)
{
    return e != NULL && atomic_load(&e->may_enter) == 0;
}

static bool is_own(const struct entry *e)
{
    return e != NULL && atomic_load(&e->thread) == ncoll__this_thread();
}

/* Returns the error of the calling thread's latest call if that was refused, else NULL. */
static const ncoll_error *refusal(const struct ncoll_context *ctx)
{
    const struct entry *owner = ctx->gate != NULL ? atomic_load(&ctx->gate->owner) : NULL;

    if ((is_own(owner) && !is_inside(owner)) ||
        atomic_load(&ctx->refused_thread) != ncoll__this_thread())
        return NULL;
    return &ctx->refusals[atomic_load(&ctx->refused) - 1];
}

const ncoll_error *ncoll_last_error(const ncoll_context *ctx)
{
    static const ncoll_error bad_handle = {
        .status = NCOLL_ERR_HANDLE,
        .reason = NCOLL_REASON_BAD_HANDLE,
        .rank = -1,
        .peer = -1,
        .cause = "the context is NULL or not one of this library's",
        .remedy = "pass what ncoll_context_create() set",
        .text = "ncoll: the context is NULL or not one of this library's: pass what "
                "ncoll_context_create() set",
    };
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return &bad_handle;
    const ncoll_error *refused = refusal(ctx);
    return refused != NULL ? refused : &ctx->error;
}

/* ------------------------------------------------------------------ entering ------------------ */

static struct entry *entry_of(struct ncoll_context *ctx, uintptr_t thread)
{
    struct entry *e = ctx->entries;

    while (e != NULL && atomic_load(&e->thread) != thread)
        e = e->next;
    if (e == NULL && (e = ncoll__allocate(ctx, sizeof *e)) != NULL) {
        atomic_store(&e->thread, thread);
        atomic_store(&e->may_enter, thread);
        e->next = ctx->entries;
        ctx->entries = e;
    }
    return e;
}

/* Without membarrier() all threads share one entry; it belongs to the thread that is inside. */
static struct entry *enter_unowned(struct ncoll_context *ctx, int *status)
{
    struct entry *e = ctx->entries;
    uintptr_t outside = atomic_load(&e->may_enter);

    if (outside == 0 || !atomic_compare_exchange_strong(&e->may_enter, &outside, 0))
        return refuse(ctx, is_own(e) ? REFUSED_INSIDE : REFUSED_THREAD, status);
    atomic_store(&e->thread, ncoll__this_thread());
    return e;
}

/* Makes the calling thread the owner. The caller has claimed the gate. */
static struct entry *take_over(struct ncoll_context *ctx, int *status)
{
    struct gate *gate = ctx->gate;
    struct entry *former = atomic_load(&gate->owner);
    struct entry *own = entry_of(ctx, ncoll__this_thread());

    if (own == NULL) {
        *status = NCOLL_ERR_MEMORY;
        return NULL;
    }
    if (former != own) {
        atomic_store(&gate->owner, own);
        bool seen = former == NULL || barrier();
        if (!seen || is_inside(former)) {
            atomic_store(&gate->owner, former);
            return refuse(ctx, seen ? REFUSED_THREAD : REFUSED_UNSEEN, status);
        }
    }
    atomic_store(&own->may_enter, 0);
    return own;
}

struct entry *ncoll__enter_slowly(struct ncoll_context *ctx, int *status)
{
    struct gate *gate = ctx->gate;
    struct entry *owner = atomic_load(&gate->owner);
    bool claimed = false;

    if (gate->open != GATE_OPEN) {
        *status = ncoll__fail(ctx, BECAUSE(NCOLL_ERR_HANDLE, FORKED), -1,
                              "create a context in the child, or leave ncoll to the parent",
                              "process %d has been forked by process %d, which created the context",
                              (int)getpid(), (int)ctx->pid);
        return NULL;
    }
    if (!ctx->has_membarrier)
        return enter_unowned(ctx, status);
    if (is_own(owner) && is_inside(owner))
        return refuse(ctx, REFUSED_INSIDE, status);
    if (!atomic_compare_exchange_strong(&gate->claimed, &claimed, true))
        return refuse(ctx, REFUSED_THREAD, status);
    struct entry *e = take_over(ctx, status);
    atomic_store(&gate->claimed, false);
    return e;
}

/* ------------------------------------------------------------------ life ---------------------- */

bool ncoll__is_forked(const struct ncoll_context *ctx)
{
    return ctx->pid != getpid() || ctx->gate->open != GATE_OPEN;
}

int ncoll__gate_create(struct ncoll_context *ctx)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct gate *gate =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (gate == MAP_FAILED)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a context: %s",
                           strerror(errno));
#ifdef MADV_WIPEONFORK
    madvise(gate, page, MADV_WIPEONFORK); /* kernels before 4.14 do not have it */
#endif
    ctx->gate = gate;
    gate->open = GATE_OPEN;
    ctx->has_membarrier =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 && barrier();
    if (entry_of(ctx, ncoll__this_thread()) == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_MEMORY, -1, NULL, "no memory for a context");
    return NCOLL_OK;
}

void ncoll__gate_free(struct ncoll_context *ctx)
{
    for (struct entry *e = ctx->entries, *next; e != NULL; e = next) {
        next = e->next;
        ncoll__release(ctx, e);
    }
    if (ctx->gate != NULL)
        munmap(ctx->gate, (size_t)sysconf(_SC_PAGESIZE));
}
