/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator and the clock of a context. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/group.h"

void *ncoll__allocate(struct ncoll_context *ctx, size_t bytes)
{
    if (ctx->settings.allocate == NULL)
        return calloc(1, bytes > 0 ? bytes : 1);
    void *memory = ctx->settings.allocate(ctx->settings.allocate_arg, bytes > 0 ? bytes : 1);
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

void ncoll__release(struct ncoll_context *ctx, void *memory)
{
    if (memory == NULL)
        return;
    if (ctx->settings.release != NULL)
        ctx->settings.release(ctx->settings.allocate_arg, memory);
    else
        free(memory);
}

uint64_t ncoll__now_ns(struct ncoll_context *ctx)
{
    struct timespec now;

    if (ctx->settings.clock_ns != NULL)
        return ctx->settings.clock_ns(ctx->settings.clock_arg);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
