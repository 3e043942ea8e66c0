/* SPDX-License-Identifier: BSD-3-Clause */
#include "shm_ranks.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern const struct transport_ops ncoll__transport_shm;

uint64_t test_now_ns(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void on_peer_gone(void *arg, int rank, enum control_kind how, const char *why)
{
    struct side *side = arg;

    (void)why;
    side->gone_rank = rank;
    side->gone_how = how;
    side->gone_ns = test_now_ns(NULL);
}

static void on_control(void *arg, int from_rank, const struct control *message)
{
    struct side *side = arg;

    side->mail_from = from_rank;
    side->mail = *message;
    side->mails++;
}

static void on_position(void *arg, int from_rank, const struct position *position)
{
    struct side *side = arg;

    side->position_from = from_rank;
    side->position = *position;
    side->positions++;
}

static int on_fail(void *arg, int what, int peer, const char *remedy, const char *cause, ...)
{
    struct side *side = arg;
    va_list args;

    (void)peer, (void)remedy;
    va_start(args, cause);
    vsnprintf(side->cause, sizeof side->cause, cause, args);
    va_end(args);
    return because_status(what);
}

static void on_log(void *arg, ncoll_log_level level, const char *format, ...)
{
    (void)arg, (void)level, (void)format;
}

bool test_open(struct side *side)
{
    struct transport_config config = {
        .rank = side->rank,
        .ranks = side->ranks,
        .node = 42,
        .ranks_per_core = 2,
        .events = {.arg = side,
                   .peer_gone = on_peer_gone,
                   .control = on_control,
                   .position = on_position,
                   .fail = on_fail,
                   .log = on_log,
                   .now_ns = test_now_ns},
    };
    struct blob description = {0};
    struct window_shape shape = {.id = 3,
                                 .rank = (unsigned)side->rank,
                                 .ranks = (unsigned)side->ranks,
                                 .n_slots = TEST_SLOTS,
                                 .bulk_bytes = TEST_BULK_BYTES,
                                 .scratch_bytes = 4096};
    const struct transport_ops *ops = &ncoll__transport_shm;

    side->gone_rank = side->mail_from = -1;
    if (ops->open(&config, &side->transport) != NCOLL_OK)
        return false;
    if (ops->window_create(side->transport, &shape, &side->window) != NCOLL_OK ||
        ops->describe(side->transport, &description) != NCOLL_OK)
        return false;
    for (int r = 0; r < side->ranks; r++)
        if (ops->offer(side->transport, side->window, r, 1,
                       &side->meeting->offered[side->rank][r]) != NCOLL_OK)
            return false;
    memcpy(&side->meeting->described[side->rank], description.bytes, description.len);
    if (side->without_membarrier)
        side->meeting->described[side->rank].membarrier = 0;
    ncoll__blob_free(&description);
    return true;
}

int test_accept(struct side *side, int peer, const struct shm_description *d, const struct offer *o)
{
    return side->transport->ops->accept(side->transport, side->window, peer, d, sizeof *d, o);
}

void test_meet(struct side *side)
{
    atomic_fetch_add(&side->meeting->arrived, 1);
    side->meetings++;
    while (atomic_load(&side->meeting->arrived) < side->meetings * side->ranks)
        sched_yield();
}

struct endpoint *test_endpoint(struct side *side, int rank)
{
    return side->transport->ops->endpoint(side->transport, rank);
}

struct signature test_signature(uint64_t epoch, unsigned slot)
{
    return (struct signature){epoch ^ slot, ~epoch};
}

int test_put(struct side *side, int to, uint64_t epoch, unsigned slot, const void *src, size_t len)
{
    struct put put = {
        .to = test_endpoint(side, to),
        .window = side->window,
        .epoch = epoch,
        .signature = test_signature(epoch, slot),
        .slot = slot,
        .src = src,
        .len_bytes = len,
        .bulk_offset = (size_t)side->rank * (TEST_BULK_BYTES / TEST_RANKS_MAX),
    };

    return side->transport->ops->put(side->transport, &put);
}

void test_wait(struct side *side, uint64_t epoch, unsigned slot, unsigned round, int64_t timeout_ns)
{
    const struct awaited awaited = {epoch, slot};

    side->transport->ops->wait(side->transport, side->window, &awaited, slot != NO_SLOT, round,
                               timeout_ns);
}

void test_await(struct side *side, uint64_t epoch, unsigned slot)
{
    const struct transport_ops *ops = side->transport->ops;

    for (unsigned round = 0; !window_raised(side->window, epoch, slot); round++) {
        test_wait(side, epoch, slot, round, 1000000000);
        ops->check(side->transport, -1);
    }
}

static int run_rank(struct side *side, int (*body)(struct side *side))
{
    CHECK(test_open(side));
    test_meet(side);
    for (int peer = 0; peer < side->ranks; peer++)
        CHECK(peer == side->rank ||
              test_accept(side, peer, &side->meeting->described[peer],
                          &side->meeting->offered[peer][side->rank]) == NCOLL_OK);
    CHECK(side->transport->ops->ready(side->transport, NULL, 0) == NCOLL_OK);
    test_meet(side);
    int failed = body(side);
    if (side->transport != NULL)
        side->transport->ops->close(side->transport);
    return failed;
}

struct thread {
    struct side side;
    int (*body)(struct side *side);
    int failed;
    pthread_t id;
};

static void *thread_main(void *arg)
{
    struct thread *thread = arg;

    thread->failed = run_rank(&thread->side, thread->body);
    return NULL;
}

static int run_threads(const struct side *model, int (*body)(struct side *side))
{
    struct thread threads[TEST_RANKS_MAX];
    int failed = 0;

    for (int rank = 0; rank < model->ranks; rank++) {
        threads[rank] = (struct thread){.side = *model, .body = body};
        threads[rank].side.rank = rank;
        if (pthread_create(&threads[rank].id, NULL, thread_main, &threads[rank]) != 0)
            abort();
    }
    for (int rank = 0; rank < model->ranks; rank++) {
        pthread_join(threads[rank].id, NULL);
        failed += threads[rank].failed;
    }
    return failed;
}

/* Nobody is reaped before all have been waited for: the dead stay zombies, the harder case. */
static int run_processes(const struct side *model, int (*body)(struct side *side))
{
    pid_t pids[TEST_RANKS_MAX];
    int status, failed = 0;

    for (int rank = 0; rank < model->ranks; rank++) {
        pids[rank] = fork();
        if (pids[rank] < 0)
            abort();
        if (pids[rank] == 0) {
            struct side side = *model;
            side.rank = rank;
            exit(run_rank(&side, body));
        }
    }
    for (int rank = 0; rank < model->ranks; rank++) {
        waitpid(pids[rank], &status, 0);
        failed += WIFEXITED(status) ? WEXITSTATUS(status) != 0 : WTERMSIG(status) != SIGKILL;
    }
    return failed;
}

int test_run(enum rank_kind kind, int ranks, bool without_membarrier,
             int (*body)(struct side *side))
{
    struct meeting *meeting =
        mmap(NULL, sizeof *meeting, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct side model = {
        .ranks = ranks, .without_membarrier = without_membarrier, .meeting = meeting};

    if (meeting == MAP_FAILED)
        abort();
    int failed =
        kind == RANKS_ARE_THREADS ? run_threads(&model, body) : run_processes(&model, body);
    munmap(meeting, sizeof *meeting);
    return failed;
}
