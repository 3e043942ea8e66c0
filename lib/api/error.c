/* SPDX-License-Identifier: BSD-3-Clause */
/* Error records, the log, and the context's allocator and clock. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/internal.h"

const char *ncoll_status_text(int status)
{
    switch (status) {
#define STATUS_TEXT(code, value, text)                                                             \
    case code:                                                                                     \
        return text;
        NCOLL_STATUS_MAP(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

#define STRINGIFY(x)                 #x
#define VERSION(major, minor, patch) STRINGIFY(major) "." STRINGIFY(minor) "." STRINGIFY(patch)

const char *ncoll_version(void)
{
    return VERSION(NCOLL_VERSION_MAJOR, NCOLL_VERSION_MINOR, NCOLL_VERSION_PATCH);
}

const ncoll_error *ncoll_last_error(const ncoll_context *ctx)
{
    static const ncoll_error bad_handle = {
        .status = NCOLL_ERR_HANDLE,
        .rank = -1,
        .peer = -1,
        .cause = "the context is NULL or not one of this library's",
        .remedy = "pass what ncoll_context_create() set",
        .text = "ncoll: the context is NULL or not one of this library's: pass what "
                "ncoll_context_create() set",
    };
    return ctx != NULL && ctx->magic == CONTEXT_MAGIC ? &ctx->error : &bad_handle;
}

static void log_text(struct ncoll_context *ctx, ncoll_log_level level, const char *text)
{
    if (level > ctx->settings.log_level)
        return;
    if (ctx->settings.log != NULL)
        ctx->settings.log(ctx->settings.log_arg, level, text);
    else
        fprintf(stderr, "%s\n", text);
}

/* Nothing before the rank is known. */
static const char *who(const struct ncoll_context *ctx, char text[32])
{
    text[0] = '\0';
    if (ctx->rank >= 0)
        snprintf(text, 32, "rank %d: ", ctx->rank);
    return text;
}

void ncoll__log(struct ncoll_context *ctx, ncoll_log_level level, const char *format, ...)
{
    char text[768], rank[32];
    va_list args;

    if (level > ctx->settings.log_level)
        return;
    int n = snprintf(text, sizeof text, "ncoll: %s", who(ctx, rank));
    va_start(args, format);
    vsnprintf(text + n, sizeof text - n, format, args);
    va_end(args);
    log_text(ctx, level, text);
}

/* What to do where the place that failed knows no better. */
static const char *usual_remedy(ncoll_status status)
{
    switch (status) {
    case NCOLL_ERR_MEMORY:
        return "give the process more memory (its limits: ulimit -a, and its control group's), or "
               "use fewer ranks on the node, or smaller windows (NCOLL_WINDOW, "
               "NCOLL_GROUP_WINDOW)";
    case NCOLL_ERR_SYSTEM:
    case NCOLL_ERR_RESOURCE:
        return "see the limits of the process (ulimit -a) and what the system lets it do";
    case NCOLL_ERR_DEVICE:
        return "see ncoll-info, and what the kernel reports (dmesg)";
    case NCOLL_ERR_PEER:
        return "see what that rank reports";
    case NCOLL_ERR_ARGUMENT:
        return "see the function in ncoll.h";
    default:
        return "please report this";
    }
}

int ncoll__fail(struct ncoll_context *ctx, ncoll_status status, int peer, const char *remedy,
                const char *cause, ...)
{
    ncoll_error *e = &ctx->error;
    char rank[32];
    va_list args;

    *e = (ncoll_error){.status = status, .rank = ctx->rank, .peer = peer};
    va_start(args, cause);
    vsnprintf(e->cause, sizeof e->cause, cause, args);
    va_end(args);
    snprintf(e->remedy, sizeof e->remedy, "%s", remedy != NULL ? remedy : usual_remedy(status));

    snprintf(e->text, sizeof e->text, "ncoll: %s%s: %s; %s", who(ctx, rank),
             ncoll_status_text(status), e->cause, e->remedy);
    /* What the caller gets as a status and can ask for is not also printed, unless asked for. */
    log_text(ctx, NCOLL_LOG_INFO, e->text);
    return status;
}

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
