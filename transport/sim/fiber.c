/* SPDX-License-Identifier: BSD-3-Clause */
/* Fibers. AddressSanitizer is told of each switch of stacks. */
#include "transport/sim/fiber.h"

#include <stdint.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAVE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAVE_ASAN 1
#endif
#endif

#ifdef HAVE_ASAN
#include <sanitizer/common_interface_defs.h>

static void leaving(void **fake, const struct fiber *to)
{
    __sanitizer_start_switch_fiber(fake, to->stack, to->bytes);
}

/* AddressSanitizer says here which stack was left. The thread's own stack is known from nowhere
 * else. */
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

/* makecontext() passes only ints to start(), so these pass the fibers. */
static struct fiber *starting, *starter;

static void start(void)
{
    struct fiber *f = starting;

    entered(NULL, starter);
    f->entry(f->arg);
    abort(); /* see fiber_leave() */
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

void fiber_switch(struct fiber *from, struct fiber *to)
{
    starting = to;
    starter = from;
    leaving(&from->fake, to);
    swapcontext(&from->context, &to->context);
    entered(from->fake, NULL);
}

void fiber_leave(struct fiber *to)
{
    leaving(NULL, to);
    setcontext(&to->context);
    abort();
}
