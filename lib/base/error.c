/* SPDX-License-Identifier: BSD-3-Clause */
/* Error records and the log. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/group.h"
#include "lib/base/printable.h"

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

const char *ncoll_reason_text(int reason)
{
    switch (reason) {
#define REASON_TEXT(code, value, text)                                                             \
    case code:                                                                                     \
        return text;
        NCOLL_REASON_MAP(REASON_TEXT)
#undef REASON_TEXT
    }
    return "unknown reason";
}

const char *ncoll_reason_name(int reason)
{
    switch (reason) {
#define REASON_NAME(code, value, text)                                                             \
    case code:                                                                                     \
        return #code;
        NCOLL_REASON_MAP(REASON_NAME)
#undef REASON_NAME
    }
    return "NCOLL_REASON_?";
}

#define STRINGIFY(x)                 #x
#define VERSION(major, minor, patch) STRINGIFY(major) "." STRINGIFY(minor) "." STRINGIFY(patch)

const char *ncoll_version(void)
{
    return VERSION(NCOLL_VERSION_MAJOR, NCOLL_VERSION_MINOR, NCOLL_VERSION_PATCH);
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

/* Returns "rank N: ", or "" while the rank is not known. */
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
    ncoll__make_printable(text);
    log_text(ctx, level, text);
}

/* Returns the remedy for errors that do not have one of their own. */
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

int ncoll__fail(struct ncoll_context *ctx, int what, int peer, const char *remedy,
                const char *cause, ...)
{
    ncoll_status status = because_status(what);
    ncoll_error *e = &ctx->error;
    char rank[32];
    va_list args;

    *e = (ncoll_error){
        .status = status, .rank = ctx->rank, .peer = peer, .reason = because_reason(what)};
    atomic_store_explicit(&ctx->refused_thread, 0, memory_order_relaxed);
    va_start(args, cause);
    vsnprintf(e->cause, sizeof e->cause, cause, args);
    va_end(args);
    snprintf(e->remedy, sizeof e->remedy, "%s", remedy != NULL ? remedy : usual_remedy(status));
    ncoll__make_printable(e->cause);
    ncoll__make_printable(e->remedy);

    snprintf(e->text, sizeof e->text, "ncoll: %s%s: %s; %s", who(ctx, rank),
             ncoll_status_text(status), e->cause, e->remedy);
    /* The caller gets the error as a status and can ask for its text, so the text is logged only at
     * a level that users ask for. */
    log_text(ctx, NCOLL_LOG_INFO, e->text);
    return status;
}
