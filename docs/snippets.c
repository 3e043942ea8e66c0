/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The EXAMPLES of the manual pages in section 3: docs/man3.py copies what lies between the line with
 * the names of pages and `[]`. The test `snippets` runs them on four ranks.
 */
#include <ncoll.h>
#include <ncoll_eventual.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what);                     \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

enum { RANKS = 4, COUNT = 1000 };

static void to_all(ncoll_group *group)
{
    double local = 1 + ncoll_group_rank(group), sum = 0;

    /* [ncoll_allreduce] The sum of one number of each rank, on every rank: */
    int status = ncoll_allreduce(group, &local, &sum, 1, NCOLL_DOUBLE, NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && sum == 10);
}

static void from_root(ncoll_group *group)
{
    int32_t settings[3] = {0};

    /* [ncoll_bcast] Rank 0 tells the others three numbers: */
    if (ncoll_group_rank(group) == 0)
        memcpy(settings, (int32_t[]){640, 480, 60}, sizeof settings);
    int status = ncoll_bcast(group, settings, 3, NCOLL_INT32, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && settings[2] == 60);
}

static void time_out(ncoll_context *ctx, ncoll_group *group)
{
    int status;

    /* [ncoll_barrier, ncoll_last_error] A barrier that says every second what it waits for: */
    while ((status = ncoll_barrier(group, 1000000000)) == NCOLL_TIMEOUT)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    /* [] */
    EXPECT(status == NCOLL_OK);
}

static void rows(ncoll_group *group)
{
    size_t counts[RANKS], total = 0;
    float mine[RANKS] = {0}, all[RANKS * (RANKS + 1) / 2];
    int rank = ncoll_group_rank(group);

    for (int i = 0; i <= rank; i++)
        mine[i] = (float)rank;
    /* [ncoll_gatherv, ncoll_allgatherv] Rank q has q + 1 elements; rank 0 gets all of them in order: */
    for (int q = 0; q < ncoll_group_size(group); q++)
        total += counts[q] = (size_t)q + 1;
    int status = ncoll_gatherv(group, mine, all, counts, NULL, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && total == 10 && (rank != 0 || all[9] == 3));
}

static void requests(ncoll_context *ctx, ncoll_group *group)
{
    int64_t in = 1, out = 0;
    int steps = 0, status;

    /* [ncoll_wait, ncoll_progress, ncoll_allreduce] Work goes on while an allreduce does: */
    ncoll_request *request;
    status = ncoll_allreduce_start(group, &in, &out, 1, NCOLL_INT64, NCOLL_SUM, &request);
    while (status == NCOLL_OK && steps++ < 100)
        status = ncoll_progress(ctx); /* and a piece of the work */
    if (status == NCOLL_OK)
        status = ncoll_wait(&request, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out == RANKS);
}

static void event_loop(ncoll_context *ctx, ncoll_group *group)
{
    ncoll_request *request = NULL;
    int fd = -1;

    int status = ncoll_barrier_start(group, &request);
    /* [ncoll_context_fd] Sleep in poll() until a request is done: */
    if (status == NCOLL_OK)
        status = ncoll_context_fd(ctx, &fd);
    while (status == NCOLL_OK && (status = ncoll_test(&request)) == NCOLL_TIMEOUT) {
        struct pollfd pollfd = {.fd = fd, .events = POLLIN}; /* and others */
        status = ncoll_context_arm(ctx);
        if (status == NCOLL_OK)
            poll(&pollfd, 1, -1);
        else if (status == NCOLL_TIMEOUT) /* there is something to do */
            status = NCOLL_OK;
    }
    /* [] */
    EXPECT(status == NCOLL_OK && request == NULL);
}

static void several(ncoll_group *group)
{
    int64_t in[3] = {1, 2, 3}, out[3] = {0};
    int seen = 0, status = NCOLL_OK;

    /* [ncoll_wait_any, ncoll_wait_all, ncoll_wait_some] Three allreduces, each result as soon as it is
     * there: */
    ncoll_request *requests[3] = {NULL};
    size_t index;
    for (int i = 0; status == NCOLL_OK && i < 3; i++)
        status =
            ncoll_allreduce_start(group, &in[i], &out[i], 1, NCOLL_INT64, NCOLL_SUM, &requests[i]);
    while (status == NCOLL_OK) {
        status = ncoll_wait_any(requests, 3, &index, NCOLL_BLOCK);
        if (index == NCOLL_NO_INDEX)
            break;
        seen += status == NCOLL_OK && out[index] != 0; /* out[index] is there; or it has failed */
    }
    /* [] */
    EXPECT(status == NCOLL_OK && seen == 3 && out[2] == INT64_C(3) * RANKS);
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

static void persistent(ncoll_group *group)
{
    double in[COUNT], out[COUNT];
    int status;

    for (int i = 0; i < COUNT; i++)
        in[i] = i;
    /* [ncoll_start, ncoll_request_free] The same allreduce ten times: */
    ncoll_request *request;
    status = ncoll_allreduce_init(group, in, out, COUNT, NCOLL_DOUBLE, NCOLL_MAX, &request);
    for (int step = 0; status == NCOLL_OK && step < 10; step++) {
        status = ncoll_start(request);
        if (status == NCOLL_OK)
            status = ncoll_wait(&request, NCOLL_BLOCK);
    }
    if (status == NCOLL_OK)
        status = ncoll_request_free(&request);
    /* [] */
    EXPECT(status == NCOLL_OK && out[COUNT - 1] == COUNT - 1);
}

static void groups(ncoll_group *world)
{
    int width = 2;

    /* [ncoll_group_split, ncoll_group_free] A group for each row of a grid of ranks: */
    int rank = ncoll_group_rank(world);
    ncoll_group *row;
    int status = ncoll_group_split(world, rank / width, rank % width, &row, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_barrier(row, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_group_free(&row, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && row == NULL);
}

/* [ncoll_op_create] An operation that keeps the number of larger magnitude: */
static void larger(void *out, const void *left, const void *right, size_t count, ncoll_type type,
                   void *arg)
{
    const int32_t *a = left, *b = right;
    int32_t *c = out;

    (void)type; /* used with NCOLL_INT32 only */
    (void)arg;
    for (size_t i = 0; i < count; i++)
        c[i] = abs(a[i]) >= abs(b[i]) ? a[i] : b[i];
}

static int make_larger(ncoll_context *ctx, ncoll_op *op)
{
    const ncoll_op_def def = {.size = sizeof def, .combine = larger};

    return ncoll_op_create(ctx, &def, op);
}
/* [] */

static void operation(ncoll_context *ctx, ncoll_group *group)
{
    int32_t in = -ncoll_group_rank(group), out = 0;
    ncoll_op op;

    EXPECT(make_larger(ctx, &op) == NCOLL_OK);
    EXPECT(ncoll_allreduce(group, &in, &out, 1, NCOLL_INT32, op, NCOLL_BLOCK) == NCOLL_OK);
    EXPECT(out == 1 - RANKS);
}

static void memory(ncoll_context *ctx, ncoll_group *group)
{
    size_t count = 100000;

    /* [ncoll_alloc, ncoll_free] A long vector that is not copied on its way: */
    void *memory;
    int status = ncoll_alloc(ctx, count * sizeof(float), &memory);
    if (status == NCOLL_OK)
        status = ncoll_bcast(group, memory, count, NCOLL_FLOAT, 0, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_free(ctx, memory);
    /* [] */
    EXPECT(status == NCOLL_OK);
}

static void stale(ncoll_group *group)
{
    float in[COUNT] = {1}, out[COUNT];
    int steps = 5, status;

    /* [ncoll_allreduce_ssp, ncoll_stale_create] Sums of contributions that may be two steps old: */
    ncoll_stale_params params = {.size = sizeof params, .max_slack = 2};
    ncoll_stale *object;
    status =
        ncoll_stale_create(group, &params, COUNT, NCOLL_FLOAT, NCOLL_SUM, &object, NCOLL_BLOCK);
    for (int step = 0; status == NCOLL_OK && step < steps; step++)
        status = ncoll_allreduce_ssp(object, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM, 2, NULL,
                                     NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_stale_free(&object, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[0] == RANKS);
}

static void partial(ncoll_group *group)
{
    float in[COUNT] = {1}, out[COUNT];

    /* [ncoll_allreduce_partial] A sum that waits for more than half of the ranks: */
    ncoll_stale_params params = {.size = sizeof params, .partial = 1};
    ncoll_stale_result result = {.size = sizeof result};
    ncoll_stale *object;
    int status =
        ncoll_stale_create(group, &params, COUNT, NCOLL_FLOAT, NCOLL_SUM, &object, NCOLL_BLOCK);
    if (status == NCOLL_OK)
        status = ncoll_allreduce_partial(object, in, out, COUNT, NCOLL_FLOAT, NCOLL_SUM,
                                         NCOLL_MAJORITY, &result, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[0] >= 3 && result.clock == 1);
    EXPECT(ncoll_stale_free(&object, NCOLL_BLOCK) == NCOLL_OK);
}

static void threshold(ncoll_group *group)
{
    float vector[COUNT] = {0};
    int status;

    if (ncoll_group_rank(group) == 0)
        vector[0] = vector[COUNT - 1] = 7;
    /* [ncoll_bcast_threshold] A quarter of a vector first, the rest later: */
    ncoll_threshold_status in = {.size = sizeof in};
    ncoll_threshold part = {.size = sizeof part, .of = NCOLL_THRESHOLD_DATA, .fraction = 0.25};
    status = ncoll_bcast_threshold(group, vector, COUNT, NCOLL_FLOAT, 0, &part, &in, NCOLL_BLOCK);
    part.fraction = 1;
    part.after = &in;
    if (status == NCOLL_OK)
        status =
            ncoll_bcast_threshold(group, vector, COUNT, NCOLL_FLOAT, 0, &part, &in, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && vector[COUNT - 1] == 7 && in.elements == COUNT);
}

static void compressed(ncoll_group *group)
{
    float in[COUNT] = {0}, out[COUNT];

    in[5] = 2;
    /* [ncoll_allreduce_compressed, ncoll_compressor_create] Of each vector only 1 % is sent; what
     * is left out is added to the vector of the next call: */
    ncoll_codec codec = {.size = sizeof codec};
    ncoll_compressor *compressor;
    int status = ncoll_codec_topk(&codec, 0.01);
    if (status == NCOLL_OK)
        status = ncoll_compressor_create(group, &codec, COUNT, NCOLL_FLOAT, 1, &compressor);
    if (status == NCOLL_OK)
        status = ncoll_allreduce_compressed(group, compressor, in, out, COUNT, NCOLL_FLOAT,
                                            NCOLL_SUM, NCOLL_BLOCK);
    /* [] */
    EXPECT(status == NCOLL_OK && out[5] == 2 * RANKS);
    EXPECT(ncoll_compressor_free(&compressor) == NCOLL_OK);
}

/* [ncoll_context_create, ncoll_fork_ranks] What a rank does from its start to its end: */
static int rank_main(const ncoll_params *params, void *arg)
{
    int (*work)(ncoll_context *) = *(int (**)(ncoll_context *))arg;
    ncoll_context *ctx;
    ncoll_error error;

    if (ncoll_context_create(params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    int status = work(ctx);
    if (status != NCOLL_OK)
        fprintf(stderr, "%s\n", ncoll_last_error(ctx)->text);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
/* [] */

static int work(ncoll_context *ctx)
{
    ncoll_group *world = ncoll_world(ctx);

    to_all(world);
    from_root(world);
    time_out(ctx, world);
    rows(world);
    requests(ctx, world);
    event_loop(ctx, world);
    several(world);
    hooks(ctx, world);
    persistent(world);
    groups(world);
    operation(ctx, world);
    memory(ctx, world);
    stale(world);
    partial(world);
    threshold(world);
    compressed(world);
    return ncoll_barrier(world, NCOLL_BLOCK);
}

/* [ncoll_thread_board_create] Ranks that are threads of one process; each has a context of its own: */
static ncoll_thread_board *board;

static void *thread_main(void *arg)
{
    ncoll_params params;
    ncoll_context *ctx;
    ncoll_error error;

    ncoll_params_init(&params, sizeof params);
    params.thread_board = board;
    params.rank = *(int *)arg;
    if (ncoll_context_create(&params, &ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return NULL;
    }
    int status = ncoll_barrier(ncoll_world(ctx), NCOLL_BLOCK);
    ncoll_context_destroy(ctx);
    return status == NCOLL_OK ? arg : NULL;
}

static void run_threads(pthread_t threads[], int ranks[], int n)
{
    if (ncoll_thread_board_create(n, &board, NULL) != NCOLL_OK)
        return;
    for (int r = 0; r < n; r++) {
        ranks[r] = r;
        if (pthread_create(&threads[r], NULL, thread_main, &ranks[r]) != 0)
            ncoll_thread_board_give_up(board, r); /* the others do not wait for it */
    }
    /* ... pthread_join() */
    /* [] */
    for (int r = 0; r < n; r++) {
        void *done;
        EXPECT(pthread_join(threads[r], &done) == 0 && done == &ranks[r]);
    }
    /* [ncoll_thread_board_create] */
    ncoll_thread_board_destroy(board);
}
/* [] */

int main(void)
{
    int (*function)(ncoll_context *) = work;
    pthread_t threads[RANKS];
    int ranks[RANKS];

    run_threads(threads, ranks, RANKS);
    return ncoll_fork_ranks(RANKS, NULL, rank_main, &function, NULL) == NCOLL_OK ? EXIT_SUCCESS
                                                                                 : EXIT_FAILURE;
}
