/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets the hooks of a context; lib/run/hooked.c calls them. */
#include "lib/base/entry.h"
#include "lib/base/error.h"

int ncoll_context_set_hooks(ncoll_context *ctx, const ncoll_hooks *hooks)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (hooks != NULL && hooks->size != sizeof *hooks)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "set their size to sizeof(ncoll_hooks)",
                           "the hooks have another size");
    bool any = hooks != NULL && (hooks->begin != NULL || hooks->end != NULL);
    ctx->pending += (unsigned)any - (unsigned)ctx->hooks.any;
    ctx->hooks.any = any;
    ctx->hooks.hooks = any ? *hooks : (ncoll_hooks){.size = sizeof *hooks};
    return NCOLL_OK;
}
