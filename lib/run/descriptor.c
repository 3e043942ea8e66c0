/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The descriptor on which a program sleeps in an event loop of its own: an epoll set, which the
 * program can add to its own set. The transport adds to it what wakes the program. It also has a
 * timer, since a rank that waits has to look after its peers, and a few events wake nobody.
 *
 * The program may have tested some of its calls before others have advanced and ended them. So
 * arming counts the calls that have ended: if there are more than at the last arming, the program
 * has to test all of its calls once more before it sleeps.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/run/call.h"
#include "lib/run/waiting.h"

#define NS_PER_S UINT64_C(1000000000)
/* The intervals of the timer. They are as long as the sleeps of a blocking call: NAP_NS in wait.c,
 * and SLEEP_ANYTHING_NS in transport/shm. The shorter one is multiplied by the ranks per core, as
 * it is there. */
#define TICK_NS      UINT64_C(50000000)
#define TICK_SOON_NS UINT64_C(1000000)

#define EVENTS 16

int ncoll__descriptor_open(struct ncoll_context *ctx)
{
    struct descriptor *d = &ctx->descriptor;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = WAKE_TIMER};

    if (d->open)
        return NCOLL_OK;
    if (ctx->transport->ops->arm == NULL)
        return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_UNSUPPORTED, NOT_POSSIBLE), -1,
                           "call ncoll_progress() from time to time instead",
                           "transport %s has no descriptor to wait on", ctx->transport->ops->name);
    *d = (struct descriptor){.set = epoll_create1(EPOLL_CLOEXEC),
                             .timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
    d->open = true;
    if (d->set >= 0 && d->timer >= 0 && epoll_ctl(d->set, EPOLL_CTL_ADD, d->timer, &event) == 0)
        return NCOLL_OK;
    int error = errno;
    ncoll__descriptor_close(ctx);
    return ncoll__fail(ctx, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1,
                       "raise the limit: ulimit -n 4096", "no descriptor to wait on: %s",
                       strerror(error));
}

void ncoll__descriptor_close(struct ncoll_context *ctx)
{
    struct descriptor *d = &ctx->descriptor;

    if (d->open && d->set >= 0)
        close(d->set);
    if (d->open && d->timer >= 0)
        close(d->timer);
    *d = (struct descriptor){0};
}

/* Reads what the set reports. Returns true if the timer has expired. */
static bool take_events(struct ncoll_context *ctx)
{
    const struct descriptor *d = &ctx->descriptor;
    struct epoll_event events[EVENTS];
    bool expired = false;
    uint64_t times;
    int n;

    do {
        n = epoll_wait(d->set, events, EVENTS, 0);
        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 != WAKE_TIMER)
                ctx->transport->ops->woken(ctx->transport, events[i].data.u64);
            else
                expired |= read(d->timer, &times, sizeof times) == sizeof times;
        }
    } while (n == EVENTS);
    return expired;
}

static void set_tick(struct descriptor *d, uint64_t ns)
{
    struct timespec tick = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    struct itimerspec timer = {.it_interval = tick, .it_value = tick};

    if (ns != d->tick_ns && timerfd_settime(d->timer, 0, &timer, NULL) == 0)
        d->tick_ns = ns;
}

/* Sets the timer to the interval that the rank needs. If the rank waits for nothing, the longer
 * interval stays until the timer expires once more: most calls follow each other within it, and
 * need not set the timer each time. */
static void tick(struct ncoll_context *ctx, bool expired)
{
    struct descriptor *d = &ctx->descriptor;
    uint64_t soon_ns = (uint64_t)(TICK_SOON_NS * ctx->places.here);
    bool soon, waits = ncoll__waits_for_anything(ctx, &soon);

    if (waits)
        set_tick(d, soon && soon_ns < TICK_NS ? soon_ns : TICK_NS);
    else if (expired || d->tick_ns == soon_ns)
        set_tick(d, 0);
}

int ncoll__descriptor_arm(struct ncoll_context *ctx)
{
    struct descriptor *d = &ctx->descriptor;
    struct transport *t = ctx->transport;
    bool soon, expired = take_events(ctx);
    uint64_t moved = ctx->moved;

    int came = t->ops->arm(t, d->set, ncoll__waits_for_anything(ctx, &soon));
    if (came < 0)
        return came;
    if (came == NCOLL_TIMEOUT)
        t->ops->check(t, -1);
    /* arm() asks for a look at everything that the rank waits for */
    int rc = ncoll__progress(ctx);
    if (rc != NCOLL_OK)
        return rc;
    tick(ctx, expired);
    bool news = came == NCOLL_TIMEOUT || ctx->moved != moved || ctx->ended != d->ended;
    d->ended = ctx->ended;
    return news ? NCOLL_TIMEOUT : NCOLL_OK;
}
