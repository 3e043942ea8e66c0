/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates. Memory has no rate of its own, so all ports are as fast as a core copies. With
 * FABRIC_RATE=N a port sends N MB/s: a request of PACED_LEAST bytes or more leaves when the port
 * has sent those before it, and arrives when it would be through. A thread carries it then, as a
 * card does without its process.
 */
#include "test/fabric/fabric.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PACED_LEAST 4096u
#define IDLE_NS     200000u

static pid_t has_thread; /* the process that has one; a child has none */

static uint64_t rate(void)
{
    static uint64_t mb_per_s = UINT64_MAX;

    if (mb_per_s == UINT64_MAX) {
        const char *text = getenv("FABRIC_RATE");
        mb_per_s = text != NULL ? strtoull(text, NULL, 10) : 0;
    }
    return mb_per_s;
}

static void *carry_on(void *unused)
{
    (void)unused;
    prctl(PR_SET_TIMERSLACK, 1ul);
    for (;;) {
        fabric_enter();
        fabric_go_on();
        uint64_t next_ns = fabric_next_ns(), now_ns = fabric_now_ns();
        fabric_leave();
        uint64_t wait_ns = next_ns <= now_ns ? IDLE_NS : next_ns - now_ns;
        wait_ns = wait_ns < IDLE_NS ? wait_ns : IDLE_NS;
        nanosleep(&(struct timespec){.tv_nsec = (long)wait_ns}, NULL);
    }
    return NULL;
}

static void start_thread(void)
{
    pthread_t thread;

    if (has_thread == getpid())
        return;
    has_thread = getpid();
    if (pthread_create(&thread, NULL, carry_on, NULL) == 0)
        pthread_detach(thread);
}

uint64_t fabric_pace(const struct qp *q, size_t bytes)
{
    if (bytes < PACED_LEAST || rate() == 0)
        return 0;
    struct shared_port *p = fabric_shared_port(q->device, q->attr.port_num);
    uint64_t before = atomic_load(&p->busy_until_ns), end, now = fabric_now_ns();

    do
        end = (before > now ? before : now) + bytes * 1000 / rate();
    while (!atomic_compare_exchange_weak(&p->busy_until_ns, &before, end));
    start_thread();
    return end;
}
