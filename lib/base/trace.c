/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace of a context: makes it, and writes it to a file. */
#include "lib/base/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/group.h"
#include "lib/base/names.h"

#define PATH_BYTES 4096

static const char *const kinds[] = {
#define X(kind, word) word,
    TRACE_KINDS(X)
#undef X
};

void ncoll__trace_create(struct ncoll_context *ctx)
{
    size_t capacity = (size_t)ctx->settings.trace_events;

    if (ctx->settings.trace == NULL || *ctx->settings.trace == '\0')
        return;
    struct trace *t = ncoll__allocate(ctx, sizeof *t);
    if (t != NULL)
        *t = (struct trace){.events = ncoll__allocate(ctx, capacity * sizeof *t->events),
                            .capacity = capacity};
    if (t != NULL && t->events != NULL) {
        ctx->trace = t;
        return;
    }
    ncoll__release(ctx, t);
    ncoll__log(ctx, NCOLL_LOG_WARN,
               "no memory for a trace of %zu events, so there is none; set a smaller number "
               "(NCOLL_TRACE_EVENTS)",
               capacity);
}

static void write_event(const struct trace_event *e, FILE *file)
{
    char radix[RADIX_TEXT];

    fprintf(file, "%s %" PRIu64 " %" PRIu64 " %" PRIx64 " %" PRIu64 " %" PRIu64, kinds[e->kind],
            e->begin_ns, e->end_ns, e->group, e->epoch, e->bytes);
    if (e->kind <= TRACE_OWN)
        fprintf(file, " %" PRIu64 " %s %s %s %d\n", e->number,
                ncoll__collective_name((enum collective)e->collective), e->algorithm->name,
                ncoll__radix_text(e->radix, radix), e->status);
    else if (e->peer >= 0)
        fprintf(file, " %d %u\n", e->peer, e->slot);
    else
        fputc('\n', file);
}

/* The form of the file is described in ncoll-explain(1). */
static void write_events(const struct ncoll_context *ctx, FILE *file)
{
    const struct trace *t = ctx->trace;
    uint64_t lost = t->count > t->capacity ? t->count - t->capacity : 0;

    fprintf(file, "ncoll-trace 1\nrank %d of %d\nclock %" PRIx64 "\n", ctx->rank, ctx->ranks,
            ctx->machine);
    fprintf(file, "events %" PRIu64 ", lost %" PRIu64 "\n", t->count - lost, lost);
    for (uint64_t i = lost; i < t->count; i++)
        write_event(&t->events[i % t->capacity], file);
}

static int write_file(const struct ncoll_context *ctx, const char *path)
{
    /* with O_NONBLOCK, to open a pipe that has no reader fails instead of waiting */
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

    if (file == NULL) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return error;
    }
    errno = 0;
    write_events(ctx, file);
    int error = ferror(file) ? (errno != 0 ? errno : EIO) : 0;
    if (fclose(file) != 0 && error == 0)
        error = errno;
    return error;
}

static void write_trace(struct ncoll_context *ctx)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s.%d", ctx->settings.trace, ctx->rank);
    int error = n < (int)sizeof path ? write_file(ctx, path) : ENAMETOOLONG;

    if (error != 0)
        ncoll__log(
            ctx, NCOLL_LOG_WARN,
            "the trace cannot be written to %.512s: %s; set NCOLL_TRACE to a file in a folder "
            "that exists, where there is room",
            path, strerror(error));
}

void ncoll__trace_end(struct ncoll_context *ctx)
{
    if (ctx->trace == NULL)
        return;
    if (ctx->rank >= 0)
        write_trace(ctx);
    ncoll__release(ctx, ctx->trace->events);
    ncoll__release(ctx, ctx->trace);
    ctx->trace = NULL;
}
