/* SPDX-License-Identifier: BSD-3-Clause */
/* The file descriptor on which a program with an event loop of its own waits. */
#include "lib/base/entry.h"
#include "lib/base/error.h"
#include "lib/run/waiting.h"

int ncoll_context_fd(ncoll_context *ctx, int *fd)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (fd == NULL)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "pass a pointer for the descriptor",
                           "fd is NULL");
    int rc = ncoll__descriptor_open(ctx);
    if (rc == NCOLL_OK)
        *fd = ctx->descriptor.set;
    return rc;
}

int ncoll_context_arm(ncoll_context *ctx)
{
    if (ctx == NULL || ctx->magic != CONTEXT_MAGIC)
        return NCOLL_ERR_HANDLE;
    ENTER(ctx);
    if (!ctx->descriptor.open)
        return ncoll__fail(ctx, NCOLL_ERR_ARGUMENT, -1, "get it by ncoll_context_fd() first",
                           "the context has no descriptor to wait on");
    return ncoll__descriptor_arm(ctx);
}
