/* SPDX-License-Identifier: BSD-3-Clause */
/* Examples of pages: what a context says of itself, of its errors and of its calls. See snippets.h. */
#include "snippets.h"

static void time_out(ncoll_context *ctx, ncoll_group *group)
{
    int status;

    /* [ncoll_barrier, ncoll_last_error] A barrier that says every second what it waits for: */
    while ((status = ncoll_barrier(group, 1000000000)) == NCOLL_TIMEOUT)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    /* [] */
    EXPECT(status == NCOLL_OK);
}

/* [ncoll_context_set_hooks] A profile of the calls of a context, by kind: */
struct profile {
    unsigned calls;
    size_t bytes;
};

static void *call_begins(const ncoll_call_info *call, void *user)
{
    struct profile *profile = user;

    profile[call->kind].calls++;
    profile[call->kind].bytes += call->in_bytes;
    return NULL; /* or a record of the call, which the end gets */
}

static void call_ends(const ncoll_call_info *call, int status, void *begun, void *user)
{
    (void)begun, (void)user;
    if (status != NCOLL_OK)
        fprintf(stderr, "%s on group %llx: %s\n", call->name, (unsigned long long)call->group_id,
                ncoll_status_text(status));
}

static int profile_calls(ncoll_context *ctx, struct profile profile[NCOLL_CALL_GROUP_FREE + 1])
{
    const ncoll_hooks hooks = {
        .size = sizeof hooks, .begin = call_begins, .end = call_ends, .user = profile};

    return ncoll_context_set_hooks(ctx, &hooks);
}
/* [] */

static void hooks(ncoll_context *ctx, ncoll_group *group)
{
    struct profile profile[NCOLL_CALL_GROUP_FREE + 1] = {0};
    double in = 1, out = 0;

    EXPECT(profile_calls(ctx, profile) == NCOLL_OK);
    EXPECT(ncoll_allreduce(group, &in, &out, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK) == NCOLL_OK);
    EXPECT(ncoll_context_set_hooks(ctx, NULL) == NCOLL_OK);
    EXPECT(ncoll_barrier(group, NCOLL_BLOCK) == NCOLL_OK);
    EXPECT(profile[NCOLL_CALL_ALLREDUCE].calls == 1 && profile[NCOLL_CALL_ALLREDUCE].bytes == 8);
    EXPECT(profile[NCOLL_CALL_BARRIER].calls == 0);
}

void show_contexts(ncoll_context *ctx, ncoll_group *group)
{
    time_out(ctx, group);
    hooks(ctx, group);
}
