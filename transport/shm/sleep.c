/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Giving up the core, and being woken.
 *
 * A sender must see that its receiver sleeps, or the receiver must see the message before it falls
 * asleep:
 *
 *     sender:    flag = epoch         (F)      receiver:  sleeps_for = slot    (S)
 *                look at sleeps_for   (L)                 look at flag         (R)
 *
 * Each side stores and then loads, which processors reorder, so both sides need a full fence in
 * between or L may miss S while R misses F: a lost wake-up. A fence in every put would double the
 * time of an exchange, while going to sleep is rare and slow anyway. So the receiver pays for both:
 * it calls membarrier(GLOBAL_EXPEDITED) between S and R, which makes every running thread of every
 * process that has registered execute a full fence before the call returns (one that is not running
 * has had one when it was switched out). That fence falls either after the sender's F, then R sees
 * the message; or before F, then it is before L, and L sees S, which precedes the membarrier. The
 * sender needs no more than that the compiler keeps L behind F.
 *
 * This holds if the receiver can call membarrier and the sender has registered. Each rank finds out
 * at open and tells its peers; a sender that must not rely on it (shm_peer.fenced) uses
 * sequentially consistent F and L instead. S and R are sequentially consistent in any case.
 *
 * sleeps_for names the slot that is waited for, if it is one, so other messages do not wake the
 * sleeper, which would find nothing and sleep again. Of several that want to wake, the one that
 * takes sleeps_for back to 0 does. A wake-up that comes late, to a receiver that is already on its
 * way, does no more than let one later wait return early.
 *
 * Mail (control words) wakes as well, with sequentially consistent operations on both sides.
 *
 * A rank that looks at a neighbour's slot is not known to the sender. The receiver wakes it, when
 * it has seen the flag itself: it reads F and then looks, as L, at sleeps_for of its neighbours. If
 * the fence that the sleeper brings about falls before L, L sees S; if after L, it falls after the
 * read of F, too, so that F happens before R. With neighbours that fence themselves both are
 * sequentially consistent, and a fence is in between. Such a sleeper has a target of its own, so
 * that what comes to itself meanwhile does not wake it.
 *
 * A rank that waits for a peer to fetch what it has lent it sleeps with the same target. The peer,
 * whose word in its own window is F, wakes it as the sender of a message does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transport/shm/shm.h"

/*
 * Rounds of yielding before a rank blocks. Where ranks outnumber cores a yield lets another rank
 * run, for a tenth of what sleeping and waking cost while somebody is runnable: a dissemination
 * barrier of 4 and 8 ranks on 2 cores takes 2.8 and 10 us with 8 yields or more, 42 and 137 us with
 * none. The rest is patience with a rank that computes for 100 us or so.
 */
#define YIELDS_ALONE   64
#define YIELDS_CROWDED 256

#define NS_PER_S INT64_C(1000000000)
/* Longest sleep: death of a peer wakes nobody, so check() has to come by. */
#define SLEEP_NS INT64_C(50000000)

bool ncoll__shm_register_membarrier(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S};

    syscall(SYS_futex, word, FUTEX_WAIT, expected, &timeout, NULL, 0);
}

void ncoll__shm_wake(struct shm_peer *peer, uint32_t sleeps_for)
{
    struct board *board = peer->board;

    if (!atomic_compare_exchange_strong(&board->sleeps_for, &sleeps_for, 0))
        return;
    if (peer->bell < 0)
        syscall(SYS_futex, &board->sleeps_for, FUTEX_WAKE, 1, NULL, NULL, 0);
    else if (write(peer->bell, "", 1) < 0) {
        /* It is full of them: whoever sleeps on it wakes. */
    }
}

void ncoll__shm_wake_watchers(struct transport *t)
{
    struct shm *s = (struct shm *)t;

    if (s->membarrier)
        atomic_signal_fence(memory_order_seq_cst);
    else
        atomic_thread_fence(memory_order_seq_cst);
    for (struct shm_peer *peer = s->connected; peer != NULL; peer = peer->next) {
        if (peer->fenced && s->membarrier)
            atomic_thread_fence(memory_order_seq_cst);
        uint32_t sleeps_for = atomic_load_explicit(&peer->board->sleeps_for, memory_order_relaxed);
        if (sleeps_for == SLEEPS_FOR_ANYTHING || sleeps_for == SLEEPS_FOR_NEAR)
            ncoll__shm_wake(peer, sleeps_for);
    }
}

int ncoll__shm_make_bell(struct shm *s)
{
    return pipe2(s->bell, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : -errno;
}

static bool has_come(const struct window *w, const struct awaited *awaited, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (awaited_raised(w, &awaited[i]))
            return true;
    return false;
}

bool ncoll__shm_fall_asleep(struct shm *s, struct window *w, const struct awaited *awaited,
                            unsigned n)
{
    uint32_t target = SLEEPS_FOR_ANYTHING;

    if (n == 1 && awaited->near != NULL)
        target = SLEEPS_FOR_NEAR;
    else if (n == 1)
        target = sleeps_for_slot(w->shape.id, awaited->epoch, awaited->slot);

    atomic_store(&s->board->sleeps_for, target);
    if (s->membarrier)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
    return !has_come(w, awaited, n) && atomic_load(&s->board->mail) == 0;
}

void ncoll__shm_awake(struct shm *s)
{
    char rung[64];

    atomic_store_explicit(&s->board->sleeps_for, 0, memory_order_relaxed);
    while (s->bell[0] >= 0 && read(s->bell[0], rung, sizeof rung) == sizeof rung)
        ;
}

static void block(struct shm *s, struct window *w, const struct awaited *awaited, unsigned n,
                  int64_t timeout_ns)
{
    bool looks = n == 1 && awaited->near != NULL; /* the sender does not see who looks there */
    int64_t limit_ns = n == 0 || looks ? SLEEP_ANYTHING_NS : SLEEP_NS;

    if (ncoll__shm_fall_asleep(s, w, awaited, n)) {
        uint32_t target = atomic_load_explicit(&s->board->sleeps_for, memory_order_relaxed);
        s->sleeps++;
        if (target != 0)
            futex_wait(&s->board->sleeps_for, target,
                       timeout_ns < limit_ns ? timeout_ns : limit_ns);
    }
    ncoll__shm_awake(s);
}

void ncoll__shm_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns)
{
    struct shm *s = (struct shm *)t;

    if (timeout_ns <= 0)
        return;
    if (round < (s->config.oversubscribed ? YIELDS_CROWDED : YIELDS_ALONE))
        sched_yield();
    else
        block(s, w, awaited, n, timeout_ns);
}
