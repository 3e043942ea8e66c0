/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times what it costs that threads of a rank share one context, one at a time: an allreduce of 8
 * bytes, by one thread, by one thread with a mutex around each call, and by two threads in turn.
 *
 *     measure-handover [ROUNDS]
 *
 * Turns are handed over by a mutex and a condition variable; the row without a call is what that
 * takes by itself. The second column is the time from the beginning of a call to its end alone, with
 * the lock held. In a job of one rank, which waits for nobody, its difference between the rows is
 * what the library and the caches take when another thread calls. Both are medians: of rounds, and of
 * calls. Other programs on the cores spoil it; `chrt -f 1` keeps them away for the second that it
 * takes. --no-membarrier shows the same as on a kernel that refuses membarrier().
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "lib/base/context.h"
#include "ncoll.h"

#define CALLS      4000 /* of a round; half of them by each thread */
#define ROUNDS_MAX 1000

enum mode { ALONE, LOCKED, TURNS, EMPTY_TURNS, MODES };
static const char *const names[MODES] = {
    [ALONE] = "one thread",
    [LOCKED] = "one thread, a mutex around each call",
    [TURNS] = "two threads in turn",
    [EMPTY_TURNS] = "two threads in turn, without a call",
};

/* Shared with the forked ranks; rank 0 writes the results. */
struct shared {
    enum mode mode;
    int rounds;
    bool no_membarrier;
    double turn_ns[ROUNDS_MAX]; /* a call with all around it, by round */
    uint32_t call_ns[CALLS];    /* the calls of the last round */
};

struct rank {
    struct shared *shared;
    ncoll_context *ctx;
    pthread_mutex_t lock;
    pthread_cond_t turned;
    int turn;
    uint32_t call_ns[CALLS];
    int status;
};

struct hand {
    struct rank *rank;
    int number;
};

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[n / 2];
}

static void call(struct rank *r, int turn)
{
    int64_t in = turn, out;
    uint64_t since = now_ns();

    if (r->shared->mode != EMPTY_TURNS) {
        int rc =
            ncoll_allreduce(ncoll_world(r->ctx), &in, &out, 1, NCOLL_INT64, NCOLL_SUM, NCOLL_BLOCK);
        r->status = rc != NCOLL_OK ? rc : r->status;
    }
    r->call_ns[turn] = (uint32_t)(now_ns() - since);
}

static void call_alone(struct rank *r)
{
    bool locks = r->shared->mode == LOCKED;

    for (int i = 0; i < CALLS; i++) {
        if (locks)
            pthread_mutex_lock(&r->lock);
        call(r, i);
        if (locks)
            pthread_mutex_unlock(&r->lock);
    }
}

static void *take_turns(void *arg)
{
    struct hand *h = arg;
    struct rank *r = h->rank;

    pthread_mutex_lock(&r->lock);
    while (r->turn < CALLS) {
        if (r->turn % 2 != h->number) {
            pthread_cond_wait(&r->turned, &r->lock);
            continue;
        }
        call(r, r->turn);
        r->turn++;
        pthread_cond_signal(&r->turned);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void call_in_turn(struct rank *r)
{
    struct hand hands[2] = {{r, 0}, {r, 1}};
    pthread_t other;

    r->turn = 0;
    if (pthread_create(&other, NULL, take_turns, &hands[1]) != 0)
        abort();
    take_turns(&hands[0]);
    pthread_join(other, NULL);
}

static int rank_main(const ncoll_params *params, void *arg)
{
    static struct rank r = {.lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
    ncoll_error error;

    r.shared = arg;
    if (ncoll_context_create(params, &r.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    if (r.shared->no_membarrier)
        r.ctx->has_membarrier = false;
    for (int i = 0; i < r.shared->rounds && r.status == NCOLL_OK; i++) {
        uint64_t since = now_ns();
        if (r.shared->mode == TURNS || r.shared->mode == EMPTY_TURNS)
            call_in_turn(&r);
        else
            call_alone(&r);
        if (params->rank == 0)
            r.shared->turn_ns[i] = (double)(now_ns() - since) / CALLS;
    }
    if (params->rank == 0)
        memcpy(r.shared->call_ns, r.call_ns, sizeof r.call_ns);
    if (r.status != NCOLL_OK)
        fprintf(stderr, "%s\n", ncoll_last_error(r.ctx)->text);
    ncoll_context_destroy(r.ctx);
    return r.status == NCOLL_OK ? 0 : 1;
}

/* The cost of a reading of the clock, which is in the time of each call. */
static double clock_ns(void)
{
    static double each[CALLS];

    for (int i = 0; i < CALLS; i++) {
        uint64_t since = now_ns();
        each[i] = (double)(now_ns() - since);
    }
    return median(each, CALLS);
}

int main(int argc, char **argv)
{
    static double each[CALLS];
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double clock = clock_ns();

    if (shared == MAP_FAILED)
        return EXIT_FAILURE;
    shared->rounds = 31;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-membarrier") == 0)
            shared->no_membarrier = true;
        else
            shared->rounds = atoi(argv[i]);
    }
    if (shared->rounds < 1 || shared->rounds > ROUNDS_MAX) {
        fprintf(stderr, "measure-handover [--no-membarrier] [ROUNDS], from 1 to %d\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    printf("ranks  who calls                              all, ns  the call alone, ns\n");
    for (int ranks = 1; ranks <= 2; ranks++)
        for (int mode = 0; mode < MODES; mode++) {
            shared->mode = (enum mode)mode;
            if (ncoll_fork_ranks(ranks, NULL, rank_main, shared, NULL) != NCOLL_OK)
                return EXIT_FAILURE;
            for (int i = 0; i < CALLS; i++)
                each[i] = (double)shared->call_ns[i];
            double own = median(each, CALLS) - clock;
            printf("%5d  %-36s  %8.0f  %18.0f\n", ranks, names[mode],
                   median(shared->turn_ns, shared->rounds), own > 0 ? own : 0);
        }
    return EXIT_SUCCESS;
}
