/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/support/crew.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "test/support/blackboard.h"
#include "test/support/hang.h"

#define RANKS_MAX 64

struct job {
    crew_body body;
    void *shared;
    unsigned limit_s;
    uint64_t stream; /* of random numbers: another one for each crew */
};

struct crew_thread {
    pthread_t thread;
    ncoll_params params;
    const struct job *job;
    int result;
};

void *crew_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

void crew_unshare(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

uint64_t crew_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t crew_cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int run_rank(const ncoll_params *params, const struct job *job)
{
    struct rank r = {.rank = params->rank,
                     .ranks = params->ranks,
                     .shared = job->shared,
                     .params = *params,
                     .own = random_stream(test_seed(), job->stream + (uint64_t)params->rank + 1),
                     .common = random_stream(test_seed(), job->stream)};
    ncoll_error error;

    if (ncoll_context_create(params, &r.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    r.world = ncoll_world(r.ctx);
    int result = job->body(&r);
    ncoll_context_destroy(r.ctx);
    return result;
}

static int process_main(const ncoll_params *params, void *arg)
{
    const struct job *job = arg;

    hang_after(job->limit_s);
    return run_rank(params, job);
}

static void *thread_main(void *arg)
{
    struct crew_thread *t = arg;

    t->result = run_rank(&t->params, t->job);
    return NULL;
}

static int run_threads(int ranks, const ncoll_params *base, const struct job *job)
{
    struct crew_thread threads[RANKS_MAX];
    struct blackboard *board = blackboard_create(ranks);
    int failed = 0;

    hang_after(job->limit_s);
    for (int r = 0; r < ranks; r++) {
        threads[r] = (struct crew_thread){.params = *base, .job = job};
        blackboard_join(board, r, &threads[r].params);
        if (pthread_create(&threads[r].thread, NULL, thread_main, &threads[r]) != 0)
            abort();
    }
    for (int r = 0; r < ranks; r++) {
        pthread_join(threads[r].thread, NULL);
        failed += threads[r].result != 0;
    }
    hang_after(0);
    blackboard_destroy(board);
    return failed;
}

static int run_processes(int ranks, const ncoll_params *base, struct job *job)
{
    int codes[RANKS_MAX], failed = 0;

    for (int r = 0; r < ranks; r++)
        codes[r] = -1; /* never ran */

    if (ncoll_fork_ranks(ranks, base, process_main, job, codes) == NCOLL_OK)
        return 0;
    for (int r = 0; r < ranks; r++) {
        if (codes[r] != 0)
            fprintf(stderr, "rank %d of %d ended with %d\n", r, ranks, codes[r]);
        failed += codes[r] != 0;
    }
    return failed;
}

int crew_run(enum crew_kind kind, int ranks, const ncoll_params *base, unsigned limit_s,
             crew_body body, void *shared)
{
    static uint64_t crews;
    struct job job = {body, shared, limit_s, crews++ << 32};
    ncoll_params params;

    test_seed(); /* drawn once for all ranks */
    ncoll_params_init(&params, sizeof params);
    if (base != NULL)
        params = *base;
    return kind == CREW_THREADS ? run_threads(ranks, &params, &job)
                                : run_processes(ranks, &params, &job);
}
