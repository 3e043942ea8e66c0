/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks that take turns on one thread. */
#ifndef NCOLL_TRANSPORT_SIM_FIBER_H
#define NCOLL_TRANSPORT_SIM_FIBER_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <ucontext.h>

struct fiber {
    ucontext_t context; /* where the fiber begins; with sanitizers, also where it goes on */
    jmp_buf place;      /* where the fiber goes on */
    bool has_place;
    void *stack; /* lowest address; of the thread's own stack, as AddressSanitizer reports it */
    size_t bytes;
    void *fake; /* AddressSanitizer's fake stack of this fiber, while another fiber runs */
    void (*entry)(void *arg);
    void *arg;
};

/* Makes a fiber on a stack that the caller owns. entry() must not return: it ends with
 * fiber_leave(), which switches to another fiber for good. */
void fiber_create(struct fiber *f, void *stack, size_t bytes, void (*entry)(void *arg), void *arg);

/* Runs another fiber until some fiber switches back to `from`. To switch away from the thread's own
 * stack, `from` is a zeroed struct at first. */
void fiber_switch(struct fiber *from, struct fiber *to);
void fiber_leave(struct fiber *to);

#endif
