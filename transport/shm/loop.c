/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping in a loop of the program's, on the bell (bell.c).
 *
 * No wake-up is lost, for the same reason as in sleep.c:
 *
 *     sender:    flag = epoch         (F)      receiver:  empty the bell
 *                look at sleeps_for   (L)                 sleeps_for = BELL_..     (S)
 *                sleeps_for = awake                       membarrier
 *                write to the bell    (B)                 look at all flags        (R)
 *                                                         poll()
 *
 * S and R are in two functions, arm() and the caller's progress, and there is no flag to compare with
 * in poll(). In place of that a byte stays in the pipe until the next arm(), so B may come before
 * poll() or in it. L and R cannot both miss. A sender that has read S in L and is slow may find an S
 * of a later sleep in its exchange, and ends that sleep early. Or its B may come after the bell has
 * been emptied for a later sleep: the same. The bell is emptied before S, so no B that belongs to S
 * is taken out without the look R that follows.
 *
 * A rank that is killed between its exchange and B wakes nobody. So the ends of the peers' processes
 * are in the set as well.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "transport/shm/shm.h"

static int add(int set, int fd, uint32_t events, uint64_t source)
{
    struct epoll_event event = {.events = events, .data.u64 = source};

    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Makes the bell, if there is none, and puts it into the set. */
static int begin_to_use_bell(struct shm *s, int set)
{
    int rc = s->bell[0] < 0 ? ncoll__shm_make_bell(s) : 0;

    if (rc == 0)
        rc = add(set, s->bell[0], EPOLLIN, WAKE_BELL);
    if (rc != 0)
        return rc;
    atomic_store(&s->board->bell, (uint64_t)ncoll__shm_bell_inode(s) << 32 | (uint32_t)s->bell[1]);
    s->on_bell = true;
    return 0;
}

/* Adds the peers that have been connected since the last time: they are the first in the list. The
 * end of a process is reported once, as it lasts. What cannot be added is found by check(). */
static void add_peers(struct shm *s, int set)
{
    for (struct shm_peer *p = s->connected; p != NULL && !p->in_set; p = p->next) {
        p->in_set = true;
        if (p->process.fd >= 0)
            (void)add(set, p->process.fd, EPOLLIN | EPOLLONESHOT,
                      WAKE_PEER + (uint64_t)p->endpoint.rank);
    }
}

int ncoll__shm_arm(struct transport *t, int set, bool for_messages)
{
    struct shm *s = (struct shm *)t;
    const struct transport_events *e = &s->config.events;
    int rc = s->on_bell ? 0 : begin_to_use_bell(s, set);

    if (rc != 0)
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), -1,
                       "raise the limit: ulimit -n 4096",
                       "no pipe for peers of this node to wake rank %d: error %d", s->config.rank,
                       -rc);
    add_peers(s, set);
    ncoll__shm_announce(s, for_messages ? BELL_FOR_ANYTHING : BELL_FOR_WORDS);
    return atomic_load(&s->board->mail) == 0 ? NCOLL_OK : NCOLL_TIMEOUT;
}

void ncoll__shm_woken(struct transport *t, uint64_t source)
{
    struct shm *s = (struct shm *)t;

    if (source == WAKE_BELL)
        ncoll__shm_empty_bell(s);
    else if (source >= WAKE_PEER && s->by_rank[source - WAKE_PEER] != NULL)
        ncoll__shm_look_at(s, s->by_rank[source - WAKE_PEER], false);
}
