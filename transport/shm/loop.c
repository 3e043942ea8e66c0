/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sleeping in the program's event loop, on the bell (bell.c).
 *
 * No wake-up is lost, for the same reason as in sleep.c:
 *
 *     sender:    flag = epoch         (F)      receiver:  empty the bell
 *                look at sleeps_for   (L)                 sleeps_for = BELL_..     (S)
 *                sleeps_for = awake                       membarrier
 *                write to the bell    (B)                 look at all flags        (R)
 *                                                         poll()
 *
 * S is in arm(), and R in the caller's progress. Unlike a futex, poll() does not compare a word
 * before it sleeps. But the byte of B stays in the pipe until the bell is emptied, so B may come
 * before poll() or during it. L and R cannot both miss. A slow sender that has read sleeps_for in L
 * may exchange the value of a later sleep, and end that sleep early. Its B may also come after the
 * bell was emptied for a later sleep, and end that one early. The bell is emptied before S, so if
 * the byte of a B that belongs to S is taken out, the look R follows.
 *
 * A sender that is killed between its exchange of sleeps_for and B wakes nobody. So the pidfds of
 * the peers, which report the ends of their processes, are in the epoll set as well.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "transport/shm/shm.h"

static int add(int set, int fd, uint32_t events, uint64_t source)
{
    struct epoll_event event = {.events = events, .data.u64 = source};

    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

/* Makes the bell, if there is none, and adds it to the epoll set. Returns 0 or -errno. */
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

/* Adds the peers that have been connected since the last call: they are the first in the list. The
 * set reports the end of a process once, as the pidfd stays readable. The end of a process that
 * cannot be added is noticed by check(). */
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
