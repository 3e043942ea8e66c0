/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives up the core. Everything that may wake a rank is a completion in the completion queue, or in
 * that of the second card, which is treated in the same way. So a rank that blocks asks the queue
 * for an event, and sleeps on the queue's channel:
 *
 *     arm the queue; poll it once more; sleep
 *
 * The second poll sees completions from before the queue was armed; a later completion makes the
 * channel readable. The queue stays armed: a rank that does not sleep in the end need not arm it
 * again. The price is an occasional wake-up that comes too early.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "transport/verbs/rail.h"

/*
 * The number of yields before a rank blocks. Blocking and being woken takes four system calls, so
 * it pays only when nothing else wants the core: 4 ranks on 2 processors over software RoCE took
 * 260 us a barrier by yielding and 470 us by blocking; one rank on each of two single-processor
 * nodes, 960 us and 800 us.
 */
#define YIELDS_ALONE          16
#define YIELDS_OVERSUBSCRIBED 1000

/* Events are acknowledged in batches, since each acknowledgement takes a lock. */
#define ACK_BATCH 128u

#define NS_PER_S INT64_C(1000000000)

void ncoll__verbs_ack_events(struct verbs *v)
{
    if (v->events_unacked > 0)
        ibv_ack_cq_events(v->cq, v->events_unacked);
    v->events_unacked = 0;
}

static void take_event(struct verbs *v)
{
    struct ibv_cq *cq;
    void *context;

    if (ibv_get_cq_event(v->channel, &cq, &context) != 0)
        return; /* not readable: the channel is non-blocking */
    v->armed = false;
    if (++v->events_unacked >= ACK_BATCH)
        ncoll__verbs_ack_events(v);
}

/* Asks both queues for an event, and polls them. Returns false if something has completed. */
static bool arm(struct verbs *v)
{
    uint64_t before = v->completions;

    if (v->armed && ncoll__rail_is_armed(v))
        return true;
    v->armed = v->armed || ibv_req_notify_cq(v->cq, 0) == 0;
    ncoll__rail_arm(v);
    ncoll__verbs_progress(&v->transport);
    return v->completions == before && v->armed && ncoll__rail_is_armed(v);
}

void ncoll__verbs_sleep(struct verbs *v, int other_fd, int64_t timeout_ns)
{
    struct pollfd pollfds[3] = {{.fd = v->channel->fd, .events = POLLIN},
                                {.fd = other_fd, .events = POLLIN},
                                {.fd = ncoll__rail_wake_fd(v), .events = POLLIN}};
    struct timespec timeout = {.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S};

    if (!arm(v))
        return;
    v->sleeps++;
    if (ppoll(pollfds, 3, &timeout, NULL) <= 0)
        return;
    if (pollfds[0].revents != 0)
        take_event(v);
    if (pollfds[2].revents != 0)
        ncoll__rail_take_event(v);
}

bool ncoll__verbs_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                       unsigned n, unsigned round, int64_t timeout_ns)
{
    struct verbs *v = verbs_of(t);

    (void)w, (void)awaited, (void)n;
    if (timeout_ns <= 0)
        return false;
    if (round < (v->config.ranks_per_core > 1 ? YIELDS_OVERSUBSCRIBED : YIELDS_ALONE)) {
        sched_yield();
        return false;
    }
    ncoll__verbs_sleep(v, -1, timeout_ns);
    return true;
}

/* ------------------------------------------------------------------ the program's loop -------- */

static int add(struct verbs *v, int set, int fd, uint64_t source)
{
    const struct transport_events *e = &v->config.events;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = source};

    if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0)
        return NCOLL_OK;
    return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1, NULL,
                   "the channel of device %s cannot be polled: %s", v->where.device,
                   strerror(errno));
}

int ncoll__verbs_arm(struct transport *t, int set, bool for_messages)
{
    struct verbs *v = verbs_of(t);
    int rail = ncoll__rail_wake_fd(v), rc = NCOLL_OK;

    (void)for_messages; /* a completion queue does not distinguish messages from words */
    if (!v->in_set && (rc = add(v, set, v->channel->fd, WAKE_CHANNEL)) == NCOLL_OK)
        rc = add(v, set, v->device->async_fd, WAKE_DEVICE);
    v->in_set = v->in_set || rc == NCOLL_OK;
    if (rc == NCOLL_OK && rail >= 0 && !v->rail_in_set)
        v->rail_in_set = (rc = add(v, set, rail, WAKE_RAIL)) == NCOLL_OK;
    if (rc != NCOLL_OK)
        return rc;
    return arm(v) ? NCOLL_OK : NCOLL_TIMEOUT;
}

void ncoll__verbs_woken(struct transport *t, uint64_t source)
{
    struct verbs *v = verbs_of(t);

    if (source == WAKE_CHANNEL)
        take_event(v);
    else if (source == WAKE_RAIL)
        ncoll__rail_take_event(v);
    else if (source == WAKE_DEVICE)
        ncoll__verbs_read_events(v);
}
