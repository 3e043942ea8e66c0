/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program with an event loop of its own. Each rank serves a client, here a timer that writes
 * numbers to a pipe. For each number the loop starts an allreduce, and goes on serving.
 *
 * The library has no descriptor yet that poll() can wait on, and makes progress in its calls only.
 * So while a request is unfinished the loop calls it every millisecond, the shortest time that
 * poll() can sleep: a message waits for up to a millisecond at each rank on its way. With 0 in place
 * of POLL_MS it does not wait, but the loop takes a whole core. Without requests the loop sleeps.
 */
#define _POSIX_C_SOURCE 200809L
#include <ncoll.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NUMBERS  5
#define TIMER_MS 20
#define POLL_MS  1 /* while a request is unfinished */

struct loop {
    ncoll_context *ctx;
    int rank;
    int client[2]; /* the pipe */
    int64_t timer_ms;
    int sent, started, done;
    int64_t in[NUMBERS], out[NUMBERS]; /* of each request, until it is done */
    ncoll_request *requests[NUMBERS];
};

static void check(const ncoll_context *ctx, int status)
{
    const ncoll_error *error = ncoll_last_error(ctx);

    if (status == NCOLL_OK)
        return;
    fprintf(stderr, "%s\n", error->status == status ? error->text : ncoll_status_text(status));
    exit(EXIT_FAILURE);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The client: rank r sends r + 1, 2 (r + 1), ... */
static void on_timer(struct loop *l)
{
    int64_t number = (l->rank + 1) * (int64_t)(l->sent + 1);

    l->timer_ms += TIMER_MS;
    if (l->sent++ < NUMBERS && write(l->client[1], &number, sizeof number) != sizeof number)
        check(l->ctx, NCOLL_ERR_SYSTEM);
}

/* All ranks start the same calls in the same order, whenever their numbers come. */
static void on_client(struct loop *l)
{
    int k = l->started++;

    if (read(l->client[0], &l->in[k], sizeof l->in[k]) != sizeof l->in[k])
        check(l->ctx, NCOLL_ERR_SYSTEM);
    check(l->ctx, ncoll_allreduce_start(ncoll_world(l->ctx), &l->in[k], &l->out[k], 1, NCOLL_INT64,
                                        NCOLL_SUM, &l->requests[k]));
}

/* One call advances all requests; those that are done by then are ended in their order. */
static void progress(struct loop *l)
{
    check(l->ctx, ncoll_progress(l->ctx));
    for (; l->done < l->started; l->done++) {
        int status = ncoll_test(&l->requests[l->done]);
        if (status == NCOLL_TIMEOUT)
            return;
        check(l->ctx, status);
        if (l->rank == 0)
            printf("sum %d: %d\n", l->done + 1, (int)l->out[l->done]);
    }
}

static void turn(struct loop *l)
{
    struct pollfd descriptors[] = {{.fd = l->client[0], .events = POLLIN}}; /* and all others */
    int64_t left_ms = l->timer_ms - now_ms();

    if (left_ms > POLL_MS && l->started > l->done)
        left_ms = POLL_MS;
    if (poll(descriptors, 1, left_ms > 0 ? (int)left_ms : 0) > 0)
        on_client(l);
    if (now_ms() >= l->timer_ms)
        on_timer(l);
    progress(l);
}

int main(void)
{
    struct loop l = {.timer_ms = now_ms()};
    ncoll_error error;

    if (ncoll_context_create(NULL, &l.ctx, &error) != NCOLL_OK) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    l.rank = ncoll_group_rank(ncoll_world(l.ctx));
    int ranks = ncoll_group_size(ncoll_world(l.ctx));
    if (pipe(l.client) != 0)
        check(l.ctx, NCOLL_ERR_SYSTEM);
    while (l.done < NUMBERS)
        turn(&l);
    int good = l.out[NUMBERS - 1] == NUMBERS * ranks * (ranks + 1) / 2;
    ncoll_context_destroy(l.ctx);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
