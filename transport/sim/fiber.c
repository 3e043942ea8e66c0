/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fibers. A fiber begins by setcontext(), and goes on by _longjmp(), since swapcontext() makes a
 * system call. Sanitizers expect that a jump stays on one stack, so with them fibers are switched
 * by swapcontext(); AddressSanitizer is told of each switch.
 */
#undef _FORTIFY_SOURCE /* it forbids jumps to another stack */
#include "transport/sim/fiber.h"

#include <stdint.h>
#include <stdlib.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HAVE_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAVE_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define HAVE_TSAN 1
#endif

#if defined(HAVE_ASAN) || defined(HAVE_TSAN)
#define BY_CONTEXT true
#else
#define BY_CONTEXT false
#endif

#ifdef HAVE_ASAN
#include <sanitizer/common_interface_defs.h>

static void leaving(void **fake, const struct fiber *to)
{
    __sanitizer_start_switch_fiber(fake, to->stack, to->bytes);
}

/* Called on the new stack after a switch. AddressSanitizer tells which stack was left: for the
 * thread's own stack this is the only way to know it. */
static void entered(void *fake, struct fiber *left)
{
    const void *stack;
    size_t bytes;

    __sanitizer_finish_switch_fiber(fake, &stack, &bytes);
    if (left != NULL && left->stack == NULL) {
        left->stack = (void *)(uintptr_t)stack; /* NOLINT(performance-no-int-to-ptr) */
        left->bytes = bytes;
    }
}
#else
static void leaving(void **fake, const struct fiber *to)
{
    (void)fake, (void)to;
}

static void entered(void *fake, struct fiber *left)
{
    (void)fake, (void)left;
}
#endif

/* The fibers for start(), to which makecontext() can pass only ints. */
static struct fiber *starting, *starter;

static void start(void)
{
    struct fiber *f = starting;

    entered(NULL, starter);
    f->entry(f->arg);
    abort(); /* entry() must not return: it ends with fiber_leave() */
}

void fiber_create(struct fiber *f, void *stack, size_t bytes, void (*entry)(void *arg), void *arg)
{
    *f = (struct fiber){.stack = stack, .bytes = bytes, .entry = entry, .arg = arg};
    if (getcontext(&f->context) != 0)
        abort();
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = bytes;
    makecontext(&f->context, start, 0);
}

static void go_on(struct fiber *f)
{
    if (f->has_place)
        _longjmp(f->place, 1);
    setcontext(&f->context);
    abort();
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    starting = to;
    starter = from;
    leaving(&from->fake, to);
    from->has_place = !BY_CONTEXT;
    if (BY_CONTEXT)
        swapcontext(&from->context, &to->context);
    else if (_setjmp(from->place) == 0)
        go_on(to);
    entered(from->fake, NULL);
}

void fiber_leave(struct fiber *to)
{
    leaving(NULL, to);
    go_on(to);
}
