/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the hooks of a context (ncoll_context_set_hooks()). */
#ifndef NCOLL_LIB_BASE_HOOKS_H
#define NCOLL_LIB_BASE_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ncoll.h"

/* The record of a call whose end is to be told to a hook. The hooks are a copy of those that were
 * set when the call began. */
struct hooked {
    ncoll_call_info info;
    ncoll_hooks hooks;
    void *begun;         /* what hooks.begin() has returned */
    struct hooked *next; /* the next idle record, while this one is idle */
};

struct hook_state {
    bool any; /* some hook is set, and counted in ctx->pending */
    ncoll_hooks hooks;
    uint64_t calls;      /* number of calls that have begun with hooks */
    struct hooked *idle; /* list of records for calls to come */
};

#endif
