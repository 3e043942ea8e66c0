/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with an event loop of its own. Each rank serves a client, here a timer that sends
 * numbers. For each number the loop starts an allreduce, and goes on serving.
 *
 * The loop sleeps in epoll_wait(), and uses no processor meanwhile. A descriptor of the library wakes
 * it when messages have come. Before each sleep ncoll_context_arm() says whether there is something
 * to do first. Without the descriptor a loop would have to look from time to time, at the soonest
 * each millisecond: at the end the program measures calls of both kinds.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS  5
#define TIMER_NS 20000000
#define CALLS    200 /* that are measured */

struct loop {
    ncoll_context *ctx;
    int rank, set, client, by_timer;
    int started, done;
    int64_t in[NUMBERS], out[NUMBERS]; /* of each request, until it is done */
    ncoll_request *requests[NUMBERS];
};

static int check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK || status == NCOLL_TIMEOUT)
        return status;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void serve(struct loop *l, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0 || epoll_ctl(l->set, EPOLL_CTL_ADD, fd, &event) != 0)
        check(l->ctx, NCOLL_ERR_SYSTEM);
}

/* All ranks start the same calls in the same order, whenever their numbers come. */
static void on_client(struct loop *l)
{
    int k = l->started;
    uint64_t ticks;

    if (read(l->client, &ticks, sizeof ticks) != sizeof ticks || k == NUMBERS)
        return;
    l->in[k] = (l->rank + 1) * (int64_t)(k + 1);
    check(l->ctx, ncoll_allreduce_start(ncoll_world(l->ctx), &l->in[k], &l->out[k], 1, NCOLL_INT64,
                                        NCOLL_SUM, &l->requests[k]));
    l->started++;
}

/* Sleeps until there is something to do, and serves the client. */
static void turn(struct loop *l)
{
    struct epoll_event event;
    int sleep_ms = -1;

    if (l->by_timer)
        sleep_ms = 1;
    else if (check(l->ctx, ncoll_context_arm(l->ctx)) == NCOLL_TIMEOUT)
        sleep_ms = 0;
    if (epoll_wait(l->set, &event, 1, sleep_ms) == 1 && event.data.fd == l->client)
        on_client(l);
}

/* Serves until the requests of all numbers are done; they are ended in their order. */
static void sum_up(struct loop *l)
{
    for (; l->done < NUMBERS; turn(l)) {
        while (l->done < l->started &&
               check(l->ctx, ncoll_test(&l->requests[l->done])) == NCOLL_OK) {
            l->done++;
            if (l->rank == 0)
                printf("sum %d: %d\n", l->done, (int)l->out[l->done - 1]);
        }
    }
}

/* Rank 0 is always the first one, and waits for the others, who come half a millisecond later. */
static void measure(struct loop *l, const char *how)
{
    const struct timespec pause = {.tv_nsec = 500000};
    double waited = 0, used = 0;

    for (int i = 0; i < CALLS; i++) {
        check(l->ctx, ncoll_barrier(ncoll_world(l->ctx), NCOLL_BLOCK));
        if (l->rank > 0)
            nanosleep(&pause, NULL);
        double began = seconds(CLOCK_MONOTONIC), began_used = seconds(CLOCK_PROCESS_CPUTIME_ID);
        check(l->ctx, ncoll_barrier_start(ncoll_world(l->ctx), &l->requests[0]));
        while (check(l->ctx, ncoll_test(&l->requests[0])) == NCOLL_TIMEOUT)
            turn(l);
        waited += seconds(CLOCK_MONOTONIC) - began;
        used += seconds(CLOCK_PROCESS_CPUTIME_ID) - began_used;
    }
    if (l->rank == 0)
        printf("%s: a call that waits 500 us takes %.0f us, and %.0f us of the processor\n", how,
               waited / CALLS * 1e6, used / CALLS * 1e6);
}

int main(void)
{
    const struct itimerspec period = {{.tv_nsec = TIMER_NS}, {.tv_nsec = TIMER_NS}};
    struct loop l = {.set = epoll_create1(EPOLL_CLOEXEC)};
    ncoll_error error;
    int fd;

    if (ncoll_context_create(NULL, &l.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    l.rank = ncoll_group_rank(ncoll_world(l.ctx));
    int ranks = ncoll_group_size(ncoll_world(l.ctx));
    l.client = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    check(l.ctx, ncoll_context_fd(l.ctx, &fd));
    serve(&l, fd);
    serve(&l, l.client);
    timerfd_settime(l.client, 0, &period, NULL);
    sum_up(&l);
    int good = l.out[NUMBERS - 1] == NUMBERS * ranks * (ranks + 1) / 2;
    epoll_ctl(l.set, EPOLL_CTL_DEL, l.client, NULL);
    measure(&l, "descriptor");
    l.by_timer = 1;
    epoll_ctl(l.set, EPOLL_CTL_DEL, fd, NULL);
    measure(&l, "timer of 1 ms");
    ncoll_context_destroy(l.ctx);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
