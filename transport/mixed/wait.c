/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Giving up the core where messages come from two sides:
 *
 *     say on the board that this rank sleeps; look at the flags once more      (see shm/sleep.c)
 *     arm the completion queue; poll it once more                              (see verbs/wait.c)
 *     sleep until the channel or the bell can be read
 *
 * Whatever comes after it has been looked for makes one of the two readable.
 */
#include <sched.h>

#include "transport/mixed/mixed.h"

/*
 * Rounds of yielding before a rank blocks, whether ranks share cores or not. What is waited for in
 * the end comes from another node, for which a turn is long: ranks that hand the core to and fro
 * meanwhile take it from the kernel, and gain nothing. Two ranks on the one processor of each of
 * two nodes over software RoCE change turns 1 to 2 times a barrier if they block after a few
 * yields, 17 to 34 times if they go on yielding, and the barrier takes as long.
 */
#define YIELDS 16

/* Longest sleep: death of a peer of the node wakes nobody. */
#define SLEEP_NS INT64_C(50000000)

void ncoll__mixed_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                       unsigned n, unsigned round, int64_t timeout_ns)
{
    struct mixed *m = mixed_of(t);
    struct shm *s = (struct shm *)m->near;
    int64_t limit_ns = n == 0 ? SLEEP_ANYTHING_NS : SLEEP_NS;

    if (timeout_ns <= 0)
        return;
    if (round < YIELDS) {
        sched_yield();
        return;
    }
    if (ncoll__shm_fall_asleep(s, w, awaited, n))
        ncoll__verbs_sleep(verbs_of(m->far), s->bell[0],
                           timeout_ns < limit_ns ? timeout_ns : limit_ns);
    ncoll__shm_awake(s);
}
