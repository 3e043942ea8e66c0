/* SPDX-License-Identifier: BSD-3-Clause */
/* The hooks of a context (ncoll_context_set_hooks()): what it knows of them. */
#ifndef NCOLL_LIB_BASE_HOOKS_H
#define NCOLL_LIB_BASE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ncoll.h"

/* A call whose end a hook has to be told. It has a copy of the hooks that were set when the call
 * began. */
struct hooked {
    ncoll_call_info info;
    ncoll_hooks hooks;
    void *begun;         /* what hooks.begin() has returned */
    struct hooked *next; /* while it is idle: the next idle one */
};

struct hook_state {
    bool any; /* some function is set; it then counts in ctx->pending */
    ncoll_hooks hooks;
    uint64_t calls;      /* that have begun with hooks */
    struct hooked *idle; /* memory for calls to come */
};

#endif
