/* SPDX-License-Identifier: BSD-3-Clause */
#include "bootstrap_ranks.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "test/support/hang.h"
#include "test/support/port.h"

/* ------------------------------------------------------------------ events ------------------- */

__attribute__((format(printf, 5, 6))) static int on_fail(void *arg, int what, int peer,
                                                         const char *remedy, const char *cause, ...)
{
    ncoll_error *error = &((struct side *)arg)->error;
    va_list args;

    error->status = because_status(what);
    error->reason = because_reason(what);
    error->peer = peer;
    snprintf(error->remedy, sizeof error->remedy, "%s", remedy != NULL ? remedy : "");
    va_start(args, cause);
    vsnprintf(error->cause, sizeof error->cause, cause, args);
    va_end(args);
    return because_status(what);
}

__attribute__((format(printf, 3, 4))) static void on_log(void *arg, ncoll_log_level level,
                                                         const char *format, ...)
{
    struct side *side = arg;
    char text[1024];
    va_list args;

    (void)level;
    if (side->watched.text == NULL)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (strstr(text, side->watched.text) == NULL)
        return;
    side->watched.times++;
    side_advance(side, side->watched.step);
}

static uint64_t real_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time of a side. One with patience lives through a nanosecond whenever it looks, and is ahead
 * by its time-out later. */
static uint64_t on_now(void *arg)
{
    struct side *side = arg;

    if (side->patience.step == 0)
        return side->slow > 0 ? real_now() / side->slow : real_now();
    if (atomic_load(&side->meeting->step) < side->patience.step)
        return ++side->patience.now;
    if (side->dies)
        raise(SIGALRM);
    return real_now() + (uint64_t)side->timeout_ns;
}

void side_advance(struct side *side, int step)
{
    int now = atomic_load(&side->meeting->step);

    while (now < step && !atomic_compare_exchange_weak(&side->meeting->step, &now, step))
        ;
}

void side_watch(struct side *side, const char *text, int step)
{
    side->watched.text = text;
    side->watched.step = step;
}

void side_has_patience_until(struct side *side, int step)
{
    side->patience.now = real_now();
    side->patience.step = step;
}

static struct meeting *own_meeting; /* of this process */

void side_pause(unsigned us)
{
    if (own_meeting != NULL && atomic_load(&own_meeting->failed))
        _exit(1);
    usleep(us);
}

double side_now_s(void)
{
    return (double)real_now() / 1e9;
}

/* ------------------------------------------------------------------ user callbacks ----------- */

/* Waits until all ranks have come here once more. */
static void come_together(struct side *side)
{
    struct board *board = &side->meeting->board;
    int end = ++side->gathers * side->ranks;

    atomic_fetch_add(&board->came, 1);
    while (atomic_load(&board->came) < end)
        side_pause(10);
}

static int on_allgather(void *arg, const void *in, size_t bytes, void *out)
{
    struct side *side = arg;
    struct board *board = &side->meeting->board;

    if (bytes < 1 || bytes > PIECE_MAX)
        return -1;
    memcpy(board->bytes + (size_t)side->rank * bytes, in, bytes);
    come_together(side);
    memcpy(out, board->bytes, (size_t)side->ranks * bytes);
    come_together(side);
    return 0;
}

static int on_put(void *arg, const char *key, const void *bytes, size_t len)
{
    struct side *side = arg;

    for (int i = 0; i < EXCHANGES; i++) {
        struct value *value = &side->meeting->values.of[side->rank][i];
        if (strcmp(value->key, key) == 0)
            return -1; /* a key is never put twice */
        if (value->key[0] != '\0')
            continue;
        snprintf(value->key, sizeof value->key, "%s", key);
        memcpy(value->bytes, bytes, len);
        value->len = len;
        return 0;
    }
    return -1;
}

static int on_fence(void *arg, int64_t timeout_ns)
{
    struct side *side = arg;
    _Atomic int *fences = &side->meeting->values.fences;
    uint64_t end = real_now() + (uint64_t)timeout_ns;

    if (!side->in_fence) {
        side->in_fence = true;
        side->fences++;
        atomic_fetch_add(fences, 1);
    }
    while (atomic_load(fences) < side->fences * side->ranks) {
        if (real_now() >= end)
            return NCOLL_TIMEOUT;
        side_pause(50);
    }
    side->in_fence = false;
    return 0;
}

static int on_get(void *arg, int rank, const char *key, void *bytes, size_t *len)
{
    struct side *side = arg;

    for (int i = 0; i < EXCHANGES; i++) {
        const struct value *value = &side->meeting->values.of[rank][i];
        if (strcmp(value->key, key) != 0)
            continue;
        memcpy(bytes, value->bytes, value->len < *len ? value->len : *len);
        *len = value->len;
        return 0;
    }
    return -1;
}

/* ------------------------------------------------------------------ ranks -------------------- */

struct job {
    side_body body;
    struct meeting *meeting;
};

static int rank_main(const ncoll_params *params, void *arg)
{
    const struct job *job = arg;
    struct side side = {
        .rank = params->rank,
        .ranks = params->ranks,
        .board = params->board,
        .meeting = job->meeting,
        .timeout_ns = HANG_FACTOR * INT64_C(20000000000),
    };

    own_meeting = job->meeting;
    hang_after(60);
    srand((unsigned)params->rank);
    int rc = job->body(&side);
    if (rc != 0)
        atomic_store(&job->meeting->failed, true);
    return rc;
}

int run_sides(int ranks, side_body body, int *codes)
{
    struct job job = {.body = body};
    int failed = 0;

    job.meeting = mmap(NULL, sizeof *job.meeting, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (job.meeting == MAP_FAILED)
        abort();
    snprintf(job.meeting->root, sizeof job.meeting->root, "localhost:%d", free_port());
    for (int r = 0; r < ranks; r++)
        codes[r] = -1;
    ncoll_fork_ranks(ranks, NULL, rank_main, &job, codes);
    for (int r = 0; r < ranks; r++)
        failed += codes[r] != 0;
    munmap(job.meeting, sizeof *job.meeting);
    return failed;
}

struct bootstrap_config side_config(struct side *side, const struct bootstrap_ops *ops)
{
    struct bootstrap_config config = {
        .rank = side->rank,
        .ranks = side->ranks,
        .timeout_ns = side->timeout_ns,
        .stall_warn_ns = side->watched.text != NULL ? 1 : 0,
        .events = {side, on_fail, on_log, on_now},
    };

    if (ops == &ncoll__bootstrap_fork)
        config.board = side->board;
    if (ops == &ncoll__bootstrap_tcp)
        config.root = side->meeting->root, config.key = side->key;
    if (ops == &ncoll__bootstrap_allgather)
        config.allgather = on_allgather, config.allgather_arg = side;
    if (ops == &ncoll__bootstrap_user)
        config.callbacks = (ncoll_bootstrap_callbacks){on_put, on_fence, on_get, side};
    return config;
}

int side_open(struct side *side, const struct bootstrap_ops *ops)
{
    struct bootstrap_config config = side_config(side, ops);

    return ops->open(&config, &side->b);
}

/* ------------------------------------------------------------------ exchanges ---------------- */

/* None in each fifth exchange. Odd ranks have few bytes, or a few more than a blob may have that
 * keeps its place on the board of forked ranks. */
static size_t length(int rank, int k)
{
    size_t any = (size_t)(rank * 7919 + k * 104729);

    return k % 5 == 0 ? 0 : any % (rank % 2 == 1 ? 520 : SIZE_MAX_BYTES + 1);
}

static unsigned char pattern(int rank, int k, size_t i)
{
    return (unsigned char)((size_t)(rank * 31 + k * 7) + i * 13);
}

int side_start(struct side *side, int k)
{
    size_t len = length(side->rank, k);
    unsigned char *blob = malloc(len + 1);

    for (size_t i = 0; i < len; i++)
        blob[i] = pattern(side->rank, k, i);
    int rc = side->b->ops->exchange_start(side->b, blob, len);
    memset(blob, 0xee, len); /* the bootstrap has its own copy */
    free(blob);
    return rc;
}

int side_finish(struct side *side)
{
    double end = side_now_s() + HANG_FACTOR * 20;
    int rc;

    while ((rc = side->b->ops->exchange_test(side->b)) == NCOLL_TIMEOUT && side_now_s() < end)
        side_pause(100);
    return rc;
}

bool side_has_all(struct side *side, int k)
{
    struct bootstrap *b = side->b;
    const unsigned char *blobs[TEST_RANKS_MAX];
    size_t len;

    for (int r = 0; r < side->ranks; r++) {
        int rc;
        while ((rc = b->ops->get(b, r, (const void **)&blobs[r], &len)) == NCOLL_TIMEOUT)
            side_pause(100);
        if (rc != NCOLL_OK || len != length(r, k))
            return false;
    }
    for (int r = 0; r < side->ranks; r++) /* all of them stay valid together */
        for (size_t i = 0; i < length(r, k); i++)
            if (blobs[r][i] != pattern(r, k, i))
                return false;
    return true;
}

void side_await(struct side *side, int step)
{
    while (atomic_load(&side->meeting->step) < step)
        side_pause(100);
}

int side_await_failed(struct side *side, double limit_s)
{
    double end = side_now_s() + limit_s;
    int rank;

    while ((rank = side->b->ops->failed(side->b)) < 0 && side_now_s() < end)
        side_pause(500);
    return rank;
}
