/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives up the core when messages may come from two transports:
 *
 *     set sleeps_for on the board; look at the flags once more                 (see shm/sleep.c)
 *     arm the completion queue; poll it once more                              (see verbs/wait.c)
 *     sleep until the channel or the bell can be read
 *
 * An event that comes later makes the channel or the bell readable.
 */
#include <sched.h>

#include "transport/shm_verbs/shm_verbs.h"

/*
 * The number of yields before a rank blocks, even if ranks share cores. The message that the rank
 * waits for depends on another node, to which a round trip takes long. Ranks that pass the core on
 * to each other meanwhile take time from the kernel and gain nothing. Example: two ranks on the
 * only processor of each of two nodes, over software RoCE. They switch 1 to 2 times per barrier if
 * they block after a few yields, and 17 to 34 times if they go on yielding; the barrier takes the
 * same time.
 */
#define YIELDS 16

/* The longest sleep. The death of a peer on the node wakes nobody. */
#define SLEEP_NS INT64_C(50000000)

bool ncoll__shm_verbs_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                           unsigned n, unsigned round, int64_t timeout_ns)
{
    struct shm_verbs *m = shm_verbs_of(t);
    struct shm *s = (struct shm *)m->shm;
    /* the rank looks at a neighbour's window; the sender of the message does not know that */
    bool looks = n == 1 && awaited->word != NULL;
    int64_t limit_ns = n == 0 || looks ? shm_sleep_anything_ns(s) : SLEEP_NS;

    if (timeout_ns <= 0)
        return false;
    if (round < YIELDS) {
        sched_yield();
        return false;
    }
    if (ncoll__shm_fall_asleep(s, w, awaited, n))
        ncoll__verbs_sleep(verbs_of(m->verbs), s->bell[0],
                           timeout_ns < limit_ns ? timeout_ns : limit_ns);
    ncoll__shm_awake(s);
    return true;
}

int ncoll__shm_verbs_arm(struct transport *t, int set, bool for_messages)
{
    struct shm_verbs *m = shm_verbs_of(t);
    int rc = ncoll__shm_arm(m->shm, set, for_messages);
    int other = rc >= 0 ? ncoll__verbs_arm(m->verbs, set, for_messages) : rc;

    return other < 0 || rc == NCOLL_OK ? other : rc;
}

void ncoll__shm_verbs_woken(struct transport *t, uint64_t source)
{
    struct shm_verbs *m = shm_verbs_of(t);

    if (source == WAKE_BELL || source >= WAKE_PEER)
        ncoll__shm_woken(m->shm, source);
    else
        ncoll__verbs_woken(m->verbs, source);
}
