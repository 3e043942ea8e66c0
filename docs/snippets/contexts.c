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

/* [ncoll_reason_text, ncoll_last_error] A line for people, and one for programs that read the log.
 * Programs compare the reason, which is a number that stays the same: */
static void report(const ncoll_context *ctx)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    fprintf(stderr, "%s\n", error->text);
    fprintf(stderr, "rank=%d peer=%d reason=%s (%s)\n", error->rank, error->peer,
            ncoll_reason_name(error->reason), ncoll_reason_text(error->reason));
    if (error->reason == NCOLL_REASON_PEER_DIED)
        fprintf(stderr, "the job can go on without rank %d\n", error->peer);
}
/* [] */

static void errors(ncoll_context *ctx, ncoll_group *group)
{
    double in = 1;

    /* [ncoll_status_text] A call that cannot succeed, since it has no memory for the result: */
    int status = ncoll_allreduce(group, &in, NULL, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    if (status != NCOLL_OK)
        fprintf(stderr, "allreduce: %s\n", ncoll_status_text(status)); /* bad argument */
    /* [] */
    EXPECT(status == NCOLL_ERR_ARGUMENT);
    EXPECT(ncoll_last_error(ctx)->reason == NCOLL_REASON_BAD_ARGUMENT);
    report(ctx);
}

static void facts(ncoll_context *ctx)
{
    /* [ncoll_version] The version that the program was compiled with, and the one that it runs with: */
    printf("ncoll %d.%d.%d, running with %s\n", NCOLL_VERSION_MAJOR, NCOLL_VERSION_MINOR,
           NCOLL_VERSION_PATCH, ncoll_version());
    /* [] */

    /* [ncoll_context_stats] A line on the job and on its traffic so far: */
    ncoll_stats stats = {.size = sizeof stats};
    if (ncoll_context_stats(ctx, &stats) == NCOLL_OK)
        printf("%s, %d ranks on %d nodes; %d peers, %llu messages, %llu bytes\n", stats.transport,
               stats.ranks, stats.nodes, stats.connections, (unsigned long long)stats.puts,
               (unsigned long long)stats.put_bytes);
    /* [] */
    EXPECT(stats.ranks == RANKS && stats.puts > 0);
}

static void describe(ncoll_context *ctx)
{
    /* [ncoll_describe] The unfinished calls of this rank, for a log. The first call only tells how long
     * the text is: */
    size_t length = ncoll_describe(ctx, NULL, 0);
    char *text = malloc(length + 1);
    if (text != NULL) {
        ncoll_describe(ctx, text, length + 1);
        fputs(text, stderr);
    }
    /* [] */
    EXPECT(text != NULL && text[0] != '\0');
    free(text);
}

void show_contexts(ncoll_context *ctx, ncoll_group *group)
{
    time_out(ctx, group);
    hooks(ctx, group);
    errors(ctx, group);
    facts(ctx);
    describe(ctx);
}
