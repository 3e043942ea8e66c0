/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries keep track of the thread that is inside a call on a context. Only one thread may be
 * inside at a time, only in the process that created the context, and only in one call.
 *
 * Each thread that has made a call has an entry, which only that thread writes. The gate names the
 * entry of the thread that called last, its owner. A call by the owner loads the gate, stores to
 * its own entry, and loads the gate again; it needs no locked instruction. Another thread that
 * makes its first call makes itself the owner, calls membarrier(), and then looks whether the
 * former owner is inside:
 *
 *     owner                           another thread
 *     is inside                       owner = itself
 *     (no barrier but the compiler's) membarrier()
 *     looks who the owner is          looks whether the former owner is inside
 *
 * membarrier() is a full barrier in all threads of the process. So one of the two sees what the
 * other has written, and gives way. This is a lock biased towards its owner (Kawachiya, Koseki and
 * Onodera, OOPSLA 2002).
 *
 * A hand-over by membarrier() takes about 900 ns, a locked instruction 10. So a context that is
 * handed over again and again has no owner: all threads share one entry, and every call executes
 * one locked instruction. It gets an owner again when one thread has made many calls without
 * another between them. Where the kernel refuses membarrier() there never is an owner.
 *
 * The gate lies on a page that the kernel fills with zeroes in a forked child (MADV_WIPEONFORK). So
 * a child finds no owner there, takes the slow path, and sees that another process made the gate.
 */
#ifndef NCOLL_LIB_BASE_ENTRY_H
#define NCOLL_LIB_BASE_ENTRY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/context.h"

/* A thread that has made a call. */
struct entry {
    /* the thread's number while it is outside; 0: it is inside a call */
    _Atomic uintptr_t may_enter;
    _Atomic uintptr_t thread;
    struct entry *next;
};

struct gate {
    _Atomic(struct entry *) owner; /* NULL: there is no owner, or this is a forked child */
    uint32_t open;                 /* 0 in a forked child */
    _Atomic bool claimed;          /* a thread is making itself the owner */
    _Atomic bool unowned;          /* there is no owner: calls enter by the common entry */
    unsigned handed; /* number of hand-overs; used only by the thread that has claimed the gate */
    /* The entry that all threads share if there is no owner; the latest thread that has entered by
     * it; and the number of calls that this thread has made in succession. The last two are used
     * only by the thread that is inside. */
    struct entry common;
    uintptr_t latest;
    unsigned in_succession;
};

/* Returns a number of the calling thread that no other living thread has. */
static inline uintptr_t ncoll__this_thread(void)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
#define NCOLL__THREAD_POINTER 1
#endif
#endif
#ifdef NCOLL__THREAD_POINTER
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
}

/* Creates the gate of a context. Returns NCOLL_OK or an error. */
int ncoll__gate_create(struct ncoll_context *ctx);
void ncoll__gate_free(struct ncoll_context *ctx);
/* Writes the errors that ncoll_last_error() returns for refused calls. Called when the rank is
 * known. */
void ncoll__prepare_refusals(struct ncoll_context *ctx);

/* Returns true in a child that the context's process has forked. */
bool ncoll__is_forked(const struct ncoll_context *ctx);

/* Does the work of ncoll__enter() for a thread that is not the owner, or that is inside already. */
struct entry *ncoll__enter_slowly(struct ncoll_context *ctx, int *status);

/*
 * Begins a call on the context; ncoll__leave_call() ends it. Returns NULL if the call is refused,
 * with *status NCOLL_ERR_BUSY: another call is going on, in this thread or another one;
 * NCOLL_ERR_HANDLE: this is a forked child; or NCOLL_ERR_MEMORY. ncoll_last_error() then tells the
 * calling thread the reason.
 */
static inline struct entry *ncoll__enter(struct ncoll_context *ctx, int *status)
{
    struct gate *gate = ctx->gate;
    struct entry *e = atomic_load_explicit(&gate->owner, memory_order_relaxed);
    uintptr_t self = ncoll__this_thread();

    if (__builtin_expect(
            e == NULL || atomic_load_explicit(&e->may_enter, memory_order_relaxed) != self, 0))
        return ncoll__enter_slowly(ctx, status);
    atomic_store_explicit(&e->may_enter, 0, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&gate->owner, memory_order_relaxed) == e, 1))
        return e;
    atomic_store_explicit(&e->may_enter, self, memory_order_relaxed);
    return ncoll__enter_slowly(ctx, status);
}

/* Ends the call. It has to be called by the thread that entered. */
static inline void ncoll__leave_call(struct entry *e)
{
    atomic_store_explicit(&e->may_enter, ncoll__this_thread(), memory_order_release);
}

static inline void ncoll__leave_block(struct entry **e)
{
    if (*e != NULL)
        ncoll__leave_call(*e);
}

/* For public functions that return a status: enters the context, or returns from the function with
 * the status of a refused call. The call ends at the end of the block. */
#define ENTER(ctx)                                                                                 \
    int refused_;                                                                                  \
    struct entry *entry_ __attribute__((cleanup(ncoll__leave_block))) =                            \
        ncoll__enter(ctx, &refused_);                                                              \
    if (__builtin_expect(entry_ == NULL, 0))                                                       \
    return refused_

#endif
