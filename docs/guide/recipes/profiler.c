/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profiler for any program that is linked with libncoll.so, which is preloaded: it sets hooks on each
 * context that the program creates, and prints the calls of each rank by name when the program
 * destroys the context. docs/guide/profile.md says how to run it.
 */
#include <dlfcn.h>
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct profile {
    ncoll_context *ctx;
    int rank;
    struct line {
        const char *name;
        unsigned long calls, failed;
        size_t in_bytes, out_bytes;
        double seconds;
    } lines[64];
    struct profile *next;
};

static struct profile *profiles; /* a program with threads that create contexts needs a lock here */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The hook at the begin of a call. It returns the time, which the hook at the end gets. */
static void *begins(const ncoll_call_info *call, void *user)
{
    double *began = malloc(sizeof *began);

    (void)call, (void)user;
    if (began != NULL)
        *began = now();
    return began;
}

static void ends(const ncoll_call_info *call, int status, void *began, void *user)
{
    struct line *line = ((struct profile *)user)->lines;

    while (line->name != NULL && strcmp(line->name, call->name) != 0)
        line++;
    line->name = call->name;
    line->calls++;
    line->failed += status != NCOLL_OK;
    line->in_bytes += call->in_bytes;
    line->out_bytes += call->out_bytes;
    line->seconds += began != NULL ? now() - *(double *)began : 0;
    free(began);
}

/* In place of the library's. */
int ncoll_context_create(const ncoll_params *params, ncoll_context **ctx, ncoll_error *error)
{
    int (*create)(const ncoll_params *, ncoll_context **, ncoll_error *);
    struct profile *p = calloc(1, sizeof *p);

    *(void **)&create = dlsym(RTLD_NEXT, "ncoll_context_create");
    int status = create(params, ctx, error);
    if (p == NULL || status != NCOLL_OK) {
        free(p);
        return status;
    }
    const ncoll_hooks hooks = {.size = sizeof hooks, .begin = begins, .end = ends, .user = p};
    p->ctx = *ctx;
    p->rank = ncoll_group_rank(ncoll_world(*ctx));
    p->next = profiles;
    profiles = p;
    return ncoll_context_set_hooks(*ctx, &hooks);
}

void ncoll_context_destroy(ncoll_context *ctx)
{
    void (*destroy)(ncoll_context *);
    struct profile **link = &profiles, *p;

    *(void **)&destroy = dlsym(RTLD_NEXT, "ncoll_context_destroy");
    destroy(ctx); /* unfinished calls end here */
    while (*link != NULL && (*link)->ctx != ctx)
        link = &(*link)->next;
    if ((p = *link) == NULL)
        return;
    *link = p->next;
    for (const struct line *line = p->lines; line->name != NULL; line++)
        fprintf(stderr, "rank %d: %s: %lu calls, %lu failed, %zu bytes in, %zu out, %.6f s\n",
                p->rank, line->name, line->calls, line->failed, line->in_bytes, line->out_bytes,
                line->seconds);
    free(p);
}
