/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/stale/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state of one rank. */
struct side {
    struct job *job;
    ncoll_context *ctx;
    ncoll_stale *stale;
    int rank, size;
    size_t count;
    int64_t *in, *out;
    int clock;            /* of the present call */
    int restart;          /* clock of the last call with slack 0 */
    struct random random; /* of this rank alone */
    /* partial: of each rank, the number of contributions used so far, and the sum of their clocks */
    int64_t used[JOB_RANKS_MAX], sum[JOB_RANKS_MAX];
    ncoll_stale_result result;
};

#define FAIL(side, ...)                                                                            \
    do {                                                                                           \
        fprintf(stderr, "rank %d of %d, call %d: ", (side)->rank, (side)->size, (side)->clock);    \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        return false;                                                                              \
    } while (0)

/* ------------------------------------------------------------------ data --------------------- */

static int64_t weight(int rank, size_t i)
{
    return (int64_t)((i * 131 + (size_t)rank * 7919 + 17) % 100003);
}

static void fill(struct side *s)
{
    size_t P = (size_t)s->size, n = s->job->slice;

    for (size_t i = 0; i < s->count; i++) {
        size_t at = i % n;
        if (at < 2 * P)
            s->in[i] = at % P != (size_t)s->rank ? 0 : at < P ? s->clock : 1;
        else
            s->in[i] = s->clock * weight(s->rank, i);
    }
}

/* True if the rest of the slice has the sums of clocks that its beginning tells. */
static bool agrees(const struct side *s, size_t first)
{
    size_t P = (size_t)s->size;

    for (size_t i = first + 2 * P; i < first + s->job->slice; i++) {
        int64_t sum = 0;
        for (size_t q = 0; q < P; q++)
            sum += s->out[first + q] * weight((int)q, i);
        if (s->out[i] != sum)
            FAIL(s, "element %zu is %" PRId64 ", not %" PRId64, i, s->out[i], sum);
    }
    return true;
}

/* ------------------------------------------------------------------ stale-synchronous --------- */

/* It is the same on all ranks. */
static int slack_of(const struct job *job, int clock)
{
    struct random random = random_stream(job->seed, (uint64_t)clock + 1000);
    unsigned kind = (unsigned)random_below(&random, 10);

    if (kind == 0)
        return 0;
    return kind < 6 ? job->max_slack : (int)random_below(&random, (uint64_t)job->max_slack + 1);
}

static bool check_slice(struct side *s, size_t first, int floor, int64_t *clocks)
{
    for (int q = 0; q < s->size; q++) {
        int64_t clock = s->out[first + (size_t)q];
        if (s->out[first + (size_t)(s->size + q)] != 1)
            FAIL(s, "rank %d is in the result %" PRId64 " times", q,
                 s->out[first + (size_t)(s->size + q)]);
        if (clock < floor || clock > s->job->begun[q])
            FAIL(s, "clock %" PRId64 " of rank %d; oldest allowed %d, latest %d", clock, q, floor,
                 s->job->begun[q]);
        s->job->stale += clock < s->clock;
        s->job->early += clock > s->clock;
        clocks[q] = clocks[q] == 0 || clock < clocks[q] ? clock : clocks[q];
    }
    return agrees(s, first);
}

static bool check_ssp(struct side *s, int slack)
{
    int64_t clocks[JOB_RANKS_MAX] = {0}, min = INT64_MAX;
    bool whole = s->job->params.algorithm == NCOLL_STALE_HYPERCUBE || slack == 0;
    int floor = s->clock - slack > s->restart + 1 ? s->clock - slack : s->restart + 1, fresh = 0;

    if (slack == 0)
        floor = s->clock;
    s->restart = slack == 0 ? s->clock : s->restart;
    for (size_t first = 0; first < s->count; first += s->job->slice) {
        if (!check_slice(s, first, floor, clocks))
            return false;
        if (whole && memcmp(s->out, s->out + first, (size_t)s->size * sizeof *s->out) != 0)
            FAIL(s, "slices have different clocks");
    }
    if (whole && clocks[s->rank] != s->clock)
        FAIL(s, "its own contribution has clock %" PRId64, clocks[s->rank]);
    for (int q = 0; q < s->size; q++) {
        min = clocks[q] < min ? clocks[q] : min;
        fresh += clocks[q] >= s->clock;
    }
    s->job->results++;
    if (s->result.clock != (uint64_t)s->clock || s->result.min_clock != (uint64_t)min)
        FAIL(s, "reported clock %" PRIu64 ", oldest %" PRIu64 ", not %" PRId64, s->result.clock,
             s->result.min_clock, min);
    if (!s->job->params.clocks)
        return true;
    for (int q = 0; q < s->size; q++)
        if (s->result.clocks[q] != (uint64_t)clocks[q])
            FAIL(s, "reported clock %" PRIu64 " of rank %d, not %" PRId64, s->result.clocks[q], q,
                 clocks[q]);
    if (s->result.fresh != fresh)
        FAIL(s, "reported %d fresh ones, not %d", s->result.fresh, fresh);
    return true;
}

/* ------------------------------------------------------------------ partial ------------------ */

static int quorum_of(struct side *s)
{
    unsigned kind = (unsigned)random_below(&s->random, 4);

    if (s->clock == s->job->calls)
        return s->size;
    return kind == 0   ? NCOLL_SOLO
           : kind == 1 ? NCOLL_MAJORITY
                       : 1 + (int)random_below(&s->random, (uint64_t)s->size);
}

static bool check_partial(struct side *s, int quorum)
{
    int needed = quorum == NCOLL_MAJORITY ? s->size / 2 + 1 : quorum, enough = 0;

    if (!agrees(s, 0))
        return false;
    for (int q = 0; q < s->size; q++) {
        int64_t n = s->out[s->size + q], clocks = s->out[q];
        s->used[q] += n;
        s->sum[q] += clocks;
        if (s->used[q] > s->job->begun[q] || s->sum[q] != s->used[q] * (s->used[q] + 1) / 2)
            FAIL(s, "%" PRId64 " contributions of rank %d used, sum of clocks %" PRId64, s->used[q],
                 q, s->sum[q]);
        enough += s->used[q] >= s->clock;
        if (s->result.clocks[q] != (uint64_t)(n > 0 ? s->used[q] : 0))
            FAIL(s, "reported clock %" PRIu64 " of rank %d, not %" PRId64, s->result.clocks[q], q,
                 n > 0 ? s->used[q] : 0);
        s->job->stale += n > 1;
    }
    s->job->results++;
    if (s->out[s->rank] != s->clock || s->out[s->size + s->rank] != 1)
        FAIL(s, "its own contribution is not that of this call");
    if (enough < needed)
        FAIL(s, "%d ranks have contributed, of a quorum of %d", enough, needed);
    if (s->result.fresh != enough)
        FAIL(s, "reported %d fresh ones, not %d", s->result.fresh, enough);
    return true;
}

/* ------------------------------------------------------------------ calls -------------------- */

static int drive(struct side *s, ncoll_request **request)
{
    int rc = NCOLL_TIMEOUT;

    while (rc == NCOLL_TIMEOUT) {
        rc = random_below(&s->random, 2) > 0 ? ncoll_test(request)
                                             : ncoll_wait(request, NCOLL_BLOCK);
        if (rc == NCOLL_TIMEOUT)
            s->job->sleep(1 + random_below(&s->random, 3000));
    }
    return rc;
}

static int make_call(struct side *s, const void *in, int number)
{
    bool partial = s->job->params.partial != 0;
    size_t n = s->count;
    int rc = NCOLL_TIMEOUT;
    ncoll_request *request = NULL;

    switch (random_below(&s->random, 4)) {
    case 0:
        while (rc == NCOLL_TIMEOUT) {
            int64_t ns = (int64_t)random_below(&s->random, 5000);
            rc = partial ? ncoll_allreduce_partial(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                                   number, &s->result, ns)
                         : ncoll_allreduce_ssp(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                               number, &s->result, ns);
            if (rc == NCOLL_TIMEOUT && random_below(&s->random, 3) == 0)
                s->job->sleep(1 + random_below(&s->random, 5000));
        }
        return rc;
    case 1:
        rc = partial ? ncoll_allreduce_partial_start(s->stale, in, s->out, n, NCOLL_INT64,
                                                     NCOLL_SUM, number, &s->result, &request)
                     : ncoll_allreduce_ssp_start(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                                 number, &s->result, &request);
        return rc == NCOLL_OK ? drive(s, &request) : rc;
    case 2:
        rc = partial ? ncoll_allreduce_partial_init(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                                    number, &s->result, &request)
                     : ncoll_allreduce_ssp_init(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                                number, &s->result, &request);
        if (rc == NCOLL_OK && (rc = ncoll_start(request)) == NCOLL_OK)
            rc = drive(s, &request);
        ncoll_request_free(&request);
        return rc;
    default:
        return partial ? ncoll_allreduce_partial(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                                 number, &s->result, NCOLL_BLOCK)
                       : ncoll_allreduce_ssp(s->stale, in, s->out, n, NCOLL_INT64, NCOLL_SUM,
                                             number, &s->result, NCOLL_BLOCK);
    }
}

/* A pause between two calls. Some ranks are slow, in some parts of the job. */
static void compute(struct side *s)
{
    struct random mood = random_stream(s->job->seed + (uint64_t)s->rank, (uint64_t)s->clock / 8);
    uint64_t most_ns = random_below(&mood, 3) > 0 ? s->job->pause_ns / 20 : s->job->pause_ns;

    s->job->sleep(1 + random_below(&s->random, most_ns + 1));
    if (random_below(&s->random, 8) == 0)
        ncoll_progress(s->ctx);
}

static bool one_call(struct side *s)
{
    bool partial = s->job->params.partial != 0, in_place = random_below(&s->random, 4) == 0;
    int number;

    s->job->begun[s->rank] = ++s->clock;
    number = partial ? quorum_of(s) : slack_of(s->job, s->clock);
    fill(s);
    memset(s->out, 0xa5, s->count * sizeof *s->out);
    if (in_place)
        memcpy(s->out, s->in, s->count * sizeof *s->out);
    s->result = (ncoll_stale_result){.size = sizeof s->result};
    int rc = make_call(s, in_place ? s->out : s->in, number);
    memset(s->in, 0x5a, s->count * sizeof *s->in); /* it is the caller's again */
    if (rc != NCOLL_OK)
        FAIL(s, "slack or quorum %d gave %d (%s)", number, rc, ncoll_last_error(s->ctx)->text);
    return partial ? check_partial(s, number) : check_ssp(s, number);
}

static bool all_calls(struct side *s)
{
    ncoll_group *world = ncoll_world(s->ctx);

    int rc = ncoll_stale_create(world, &s->job->params, s->count, NCOLL_INT64, NCOLL_SUM, &s->stale,
                                NCOLL_BLOCK);
    if (rc != NCOLL_OK)
        FAIL(s, "ncoll_stale_create() gave %d (%s)", rc, ncoll_last_error(s->ctx)->text);
    while (s->clock < s->job->calls) {
        compute(s);
        if (!one_call(s))
            return false;
    }
    rc = ncoll_stale_free(&s->stale, NCOLL_BLOCK);
    if (rc != NCOLL_OK || s->stale != NULL)
        FAIL(s, "ncoll_stale_free() gave %d (%s)", rc, ncoll_last_error(s->ctx)->text);
    return true;
}

int job_rank(struct job *job, ncoll_context *ctx, int rank, int size)
{
    struct side *s = calloc(1, sizeof *s);
    bool well;

    *s = (struct side){.job = job,
                       .ctx = ctx,
                       .rank = rank,
                       .size = size,
                       .count = job->slice * (job->params.partial ? 1 : (size_t)size),
                       .random = random_stream(job->seed, (uint64_t)rank)};
    s->in = calloc(s->count, sizeof *s->in);
    s->out = calloc(s->count, sizeof *s->out);
    well = all_calls(s);
    free(s->in);
    free(s->out);
    free(s);
    if (!well)
        job->failed = true;
    return well ? 0 : 1;
}

/* ------------------------------------------------------------------ jobs --------------------- */

void job_from_seed(struct job *job, uint64_t seed)
{
    struct random random = random_stream(seed, 77);
    bool large = random_below(&random, 8) == 0;
    int ranks = large ? 17 + (int)random_below(&random, 48) : 1 + (int)random_below(&random, 16);

    *job = (struct job){.seed = seed};
    job->ranks = ranks;
    job->max_slack = random_below(&random, 3) == 0 ? 1 : (int)random_below(&random, 9);
    job->params = (ncoll_stale_params){
        .size = sizeof job->params,
        .max_slack = job->max_slack,
        .algorithm = (ncoll_stale_algorithm)(1 + random_below(&random, 3)),
        .clocks = random_below(&random, 2) > 0,
        .partial = random_below(&random, 4) == 0,
    };
    job->calls = large ? 12 : 20 + (int)random_below(&random, 30);
    job->slice = (size_t)(2 * ranks) + random_below(&random, large ? 2 : 40);
    job->pause_ns = random_below(&random, 3) == 0 ? 300000 : random_below(&random, 30000);
}
