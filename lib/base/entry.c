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

/* A context that has been handed over HANDED_OFTEN times has no owner any more, until one thread
 * makes IN_SUCCESSION calls in succession and becomes the owner. If threads make more calls than
 * that at a time, membarrier() does the hand-overs, at a cost of 14 ns a call or less. */
#define HANDED_OFTEN  8u
#define IN_SUCCESSION 64u

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

/* True if the thread of an entry is inside a call. If not, the acquire load makes everything that
 * the thread did inside visible to the caller. */
static bool is_inside(const struct entry *e)
{
    return e != NULL && atomic_load(&e->may_enter) == 0;
}

static bool is_own(const struct entry *e)
{
    return e != NULL && atomic_load(&e->thread) == ncoll__this_thread();
}

/* Returns the entry of the thread that called last; NULL: it is not known. */
static const struct entry *latest_entry(const struct ncoll_context *ctx)
{
    const struct gate *gate = ctx->gate;

    if (gate == NULL || (ctx->has_membarrier && !atomic_load(&gate->unowned)))
        return gate != NULL ? atomic_load(&gate->owner) : NULL;
    return &gate->common;
}

/* Returns the error of the calling thread's latest call if that was refused, else NULL. */
static const ncoll_error *refusal(const struct ncoll_context *ctx)
{
    const struct entry *latest = latest_entry(ctx);

    if ((is_own(latest) && !is_inside(latest)) ||
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

static bool claim(struct gate *gate)
{
    bool claimed = false;

    return atomic_compare_exchange_strong(&gate->claimed, &claimed, true);
}

/* Makes the calling thread, which has entered by the common entry, the owner. Returns its own
 * entry, or the common one if it cannot become the owner now. */
static struct entry *own_again(struct ncoll_context *ctx)
{
    struct gate *gate = ctx->gate;
    struct entry *own = NULL;

    if (!claim(gate))
        return &gate->common;
    if ((own = entry_of(ctx, ncoll__this_thread())) != NULL) {
        atomic_store(&own->may_enter, 0);
        atomic_store(&gate->owner, own);
        gate->handed = 0;
        /* the common entry stays taken, so that no thread enters by it */
        atomic_store(&gate->unowned, false);
    }
    atomic_store(&gate->claimed, false);
    return own != NULL ? own : &gate->common;
}

/* Enters a context without an owner, by the common entry. This entry belongs to the thread that is
 * inside. */
static struct entry *enter_unowned(struct ncoll_context *ctx, int *status)
{
    struct gate *gate = ctx->gate;
    struct entry *e = &gate->common;
    uintptr_t outside = atomic_load(&e->may_enter), self = ncoll__this_thread();

    /* The loop is needed as a signal handler may have made a call since the load. */
    while (outside != 0 && !atomic_compare_exchange_weak(&e->may_enter, &outside, 0))
        ;
    if (outside == 0)
        return refuse(ctx, is_own(e) ? REFUSED_INSIDE : REFUSED_THREAD, status);
    atomic_store_explicit(&e->thread, self, memory_order_relaxed);
    gate->in_succession = gate->latest == self ? gate->in_succession + 1 : 0;
    gate->latest = self;
    return ctx->has_membarrier && gate->in_succession >= IN_SUCCESSION ? own_again(ctx) : e;
}

/* Takes the ownership from the calling thread, which stays inside, by the common entry that is
 * returned. The caller has claimed the gate. */
static struct entry *disown(struct gate *gate, struct entry *own)
{
    uintptr_t self = ncoll__this_thread();

    atomic_store(&gate->common.thread, self);
    atomic_store(&gate->common.may_enter, 0);
    gate->latest = self;
    gate->in_succession = 0;
    atomic_store(&gate->unowned, true);
    atomic_store(&gate->owner, NULL);
    atomic_store(&own->may_enter, self);
    return &gate->common;
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
    gate->handed += former != own;
    return gate->handed >= HANDED_OFTEN ? disown(gate, own) : own;
}

struct entry *ncoll__enter_slowly(struct ncoll_context *ctx, int *status)
{
    struct gate *gate = ctx->gate;
    struct entry *owner = atomic_load(&gate->owner);

    if (gate->open != GATE_OPEN) {
        *status = ncoll__fail(ctx, BECAUSE(NCOLL_ERR_HANDLE, FORKED), -1,
                              "create a context in the child, or leave ncoll to the parent",
                              "process %d has been forked by process %d, which created the context",
                              (int)getpid(), (int)ctx->pid);
        return NULL;
    }
    if (!ctx->has_membarrier || atomic_load(&gate->unowned))
        return enter_unowned(ctx, status);
    if (is_own(owner) && is_inside(owner))
        return refuse(ctx, REFUSED_INSIDE, status);
    if (!claim(gate))
        return refuse(ctx, REFUSED_THREAD, status);
    /* another thread may have disowned the context in the meantime */
    bool unowned = atomic_load(&gate->unowned);
    struct entry *e = unowned ? NULL : take_over(ctx, status);
    atomic_store(&gate->claimed, false);
    return unowned ? enter_unowned(ctx, status) : e;
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
    atomic_store(&gate->common.may_enter, ncoll__this_thread());
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
