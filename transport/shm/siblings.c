/* SPDX-License-Identifier: BSD-3-Clause */
/* This file finds out how much other ranks of the node use the processor that this rank is on. */
#include <sched.h>
#include <time.h>

#include "transport/shm/shm.h"

#define NS_PER_S UINT64_C(1000000000)

/* The most peers that are looked at in one call. */
#define LOOKED_AT 64u

static uint64_t time_of(clockid_t clock)
{
    struct timespec used;

    if (clock_gettime(clock, &used) != 0)
        return 0;
    return (uint64_t)used.tv_sec * NS_PER_S + (uint64_t)used.tv_nsec;
}

/* Returns the processor time in ns of a peer's process. If the peer is a thread of this process,
 * returns the time of all threads of the process except the calling one. */
static uint64_t used_by(const struct shm_peer *peer)
{
    clockid_t clock;

    if (peer->process.pid == 0)
        return time_of(CLOCK_PROCESS_CPUTIME_ID) - time_of(CLOCK_THREAD_CPUTIME_ID);
    return clock_getcpuclockid(peer->process.pid, &clock) == 0 ? time_of(clock) : 0;
}

uint64_t ncoll__shm_siblings_ns(struct transport *t)
{
    struct shm *s = (struct shm *)t;
    int here = sched_getcpu();
    bool threads = false;
    uint64_t sum = 0;
    unsigned looked_at = 0;

    for (struct shm_peer *peer = s->connected; peer != NULL && looked_at < LOOKED_AT;
         peer = peer->next, looked_at++) {
        uint64_t used = used_by(peer), before = peer->used_ns;
        bool is_thread = peer->process.pid == 0;
        peer->used_ns = used;
        if (used <= before || (is_thread && threads))
            continue;
        threads |= is_thread;
        if (is_thread || ncoll__process_cpu(peer->process.pid) == here)
            sum += used - before;
    }
    return sum;
}
