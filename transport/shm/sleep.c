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
 * Each side stores and then loads, and processors may reorder these. So both sides need a full
 * fence in between. Otherwise L may miss S while R misses F: a lost wake-up. A fence in every put
 * would double the time of an exchange, whereas going to sleep is rare and slow anyway. So the
 * receiver pays for both sides. It calls membarrier(GLOBAL_EXPEDITED) between S and R. This makes
 * every running thread of every registered process execute a full fence before the call returns; a
 * thread that is not running executed one when it was switched out. If that fence falls after the
 * sender's F, R sees the message. If it falls before F, it is also before L, and L sees S, which
 * precedes the membarrier. At the sender, only the compiler must keep L after F.
 *
 * This holds if the receiver can call membarrier and the sender has registered. Each rank finds out
 * at open and tells its peers; a sender that must not rely on it (shm_peer.fenced) uses
 * sequentially consistent F and L instead. S and R are sequentially consistent in any case.
 *
 * A rank that sleeps often (`blocks`) does not call membarrier each time. Between two sleeps it
 * leaves AWAKE_FENCED in sleeps_for. A sender that reads anything but 0 in L executes a fence, and
 * reads sleeps_for once more. Before the first sleep sleeps_for is 0, so the rank calls membarrier.
 * From then on every L finds that sleeps_for is not 0, unless the sender had stored F before the
 * membarrier; then R sees the message. So for the later sleeps both sides execute a fence. A rank
 * that wakes another one sets AWAKE_FENCED, too; only the owner of the board sets 0.
 *
 * If the sleeper waits for a single slot, sleeps_for names the slot, so that other messages do not
 * wake the sleeper in vain. The sleeper may also wait for all of several slots. Then `lacks` has a
 * bit for each of them, stored before S. A sender that finds this in L clears the bit of its slot;
 * if no bit is left, it wakes the sleeper. In R the sleeper clears the bits of messages that have
 * come, and does not sleep if no bit is left. A slow sender may clear a bit of a later sleep. Then
 * that sleep ends early, or at the latest when the message for this bit comes, whose sender finds
 * no bit left. Of several senders that want to wake the sleeper, only the one that changes
 * sleeps_for does so. If a wake-up comes late, when the receiver is already awake, one later wait
 * returns early; nothing else happens.
 *
 * Control words wake a rank as well, with sequentially consistent operations on both sides.
 *
 * A sender does not know which neighbours of the receiver look at the slot, too. The receiver wakes
 * them when it has seen the flag itself: it reads F, and then looks at sleeps_for of its neighbours
 * (L). If the fence of the sleeper's membarrier falls before L, L sees S. If it falls after L, it
 * also falls after the read of F, so F happens before R. Neighbours without membarrier execute a
 * fence themselves; both accesses are then sequentially consistent with a fence in between. Such a
 * sleeper sets sleeps_for to SLEEPS_FOR_NEAR, so that messages to its own window do not wake it.
 *
 * A rank that waits until a peer has got a single copy sets SLEEPS_FOR_NEAR, too. The peer's store
 * to `got` in the peer's own window takes the place of F, and the peer wakes the rank as the sender
 * of a message does.
 */
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "transport/shm/shm.h"

/*
 * The number of yields before a rank blocks. Where ranks outnumber cores a yield lets another rank
 * run. As long as some rank is runnable, a yield costs a tenth of sleeping and waking: a
 * dissemination barrier of 4 and 8 ranks on 2 cores takes 2.8 and 10 us with 8 yields or more, 42
 * and 137 us with none. More than 8 yields help if another rank computes for about 100 us.
 */
#define YIELDS_ALONE          64
#define YIELDS_OVERSUBSCRIBED 256

#define NS_PER_S INT64_C(1000000000)
/* The longest sleep. The death of a peer wakes nobody, so check() must be called from time to
 * time. */
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

    if (sleeps_for == BELL_FOR_ANYTHING || sleeps_for == BELL_FOR_WORDS) {
        ncoll__shm_ring(peer, sleeps_for);
        return;
    }
    if (!atomic_compare_exchange_strong(&board->sleeps_for, &sleeps_for, AWAKE_FENCED))
        return;
    if (!peer->no_futex)
        syscall(SYS_futex, &board->sleeps_for, FUTEX_WAKE, 1, NULL, NULL, 0);
    else if (write(peer->bell, "", 1) < 0) {
        /* If the pipe is full, it is readable, so the rank that sleeps on it wakes up. */
    }
}

__attribute__((cold, noinline)) uint32_t ncoll__shm_look_again(const struct shm_peer *peer)
{
    atomic_thread_fence(memory_order_seq_cst);
    /* acquire: the caller may use `lacks` next, which was stored before */
    return atomic_load_explicit(&peer->board->sleeps_for, memory_order_acquire);
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
        if (sleeps_for != 0)
            sleeps_for = ncoll__shm_look_again(peer);
        if (sleeps_for_anything(sleeps_for) || sleeps_for == SLEEPS_FOR_NEAR)
            ncoll__shm_wake(peer, sleeps_for);
    }
}

static bool has_come(const struct window *w, const struct awaited *awaited, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (awaited_raised(w, &awaited[i]))
            return true;
    return false;
}

/* True if this rank waits for all of several slots. */
static bool is_for_all(const struct awaited *awaited, unsigned n)
{
    return n == 1 && awaited->word == NULL && awaited->also != 0;
}

/* Returns the bits of all slots that this rank waits for. */
static uint64_t all_of(const struct awaited *awaited)
{
    return awaited->also | UINT64_C(1) << awaited->slot;
}

static uint32_t target_of(const struct window *w, const struct awaited *awaited, unsigned n)
{
    if (is_for_all(awaited, n))
        return sleeps_for_all(w->shape.id, awaited->epoch);
    if (n == 1 && awaited->word != NULL)
        return SLEEPS_FOR_NEAR;
    return n == 1 ? sleeps_for_slot(w->shape.id, awaited->epoch, awaited->slot)
                  : SLEEPS_FOR_ANYTHING;
}

/* Clears in `lacks` the bits of messages that have come. Returns true if no bit is left: senders
 * clear bits as well. */
static bool all_have_come(struct board *board, const struct window *w,
                          const struct awaited *awaited)
{
    uint64_t come = 0;

    for (uint64_t left = all_of(awaited); left != 0; left &= left - 1) {
        unsigned slot = (unsigned)__builtin_ctzll(left);
        if (awaited_raised(w, &(struct awaited){.epoch = awaited->epoch, .slot = slot}))
            come |= UINT64_C(1) << slot;
    }
    return (atomic_fetch_and(&board->lacks, ~come) & ~come) == 0;
}

void ncoll__shm_announce(struct shm *s, uint32_t sleeps_for)
{
    _Atomic uint32_t *own = &s->board->sleeps_for;
    bool fenced = atomic_load_explicit(own, memory_order_relaxed) != 0;

    atomic_store(own, sleeps_for);
    if (s->membarrier && !fenced)
        syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

bool ncoll__shm_fall_asleep(struct shm *s, struct window *w, const struct awaited *awaited,
                            unsigned n)
{
    struct board *board = s->board;
    bool for_all = is_for_all(awaited, n);

    if (for_all)
        atomic_store_explicit(&board->lacks, all_of(awaited), memory_order_relaxed);
    ncoll__shm_announce(s, target_of(w, awaited, n));
    bool come = for_all ? all_have_come(board, w, awaited) : has_come(w, awaited, n);
    return !come && atomic_load(&board->mail) == 0;
}

void ncoll__shm_blocks(struct transport *t, bool blocks)
{
    struct shm *s = (struct shm *)t;
    uint32_t awake = AWAKE_FENCED;

    s->blocks = blocks;
    if (!blocks)
        atomic_compare_exchange_strong(&s->board->sleeps_for, &awake, 0);
}

void ncoll__shm_awake(struct shm *s)
{
    atomic_store_explicit(&s->board->sleeps_for, s->blocks ? AWAKE_FENCED : 0,
                          memory_order_relaxed);
    if (s->bell[0] >= 0)
        ncoll__shm_empty_bell(s);
}

static void sleep_on(struct shm *s, int64_t timeout_ns)
{
    uint32_t target = atomic_load_explicit(&s->board->sleeps_for, memory_order_relaxed);

    if (target == 0 || target == AWAKE_FENCED)
        return;
    s->sleeps++;
    futex_wait(&s->board->sleeps_for, target, timeout_ns);
}

/*
 * Sleeps for any event. There is no single flag to look at in R, so the caller calls this function
 * twice. The first call sets sleeps_for; then the caller looks for all that it waits for; the
 * second call sleeps, unless something has woken the rank in the meantime.
 */
static void block_for_anything(struct shm *s, struct window *w, int64_t timeout_ns)
{
    int64_t limit_ns = shm_sleep_anything_ns(s);

    if (!s->announced) {
        s->announced = true;
        ncoll__shm_fall_asleep(s, w, NULL, 0);
        return;
    }
    s->announced = false;
    if (atomic_load(&s->board->mail) == 0)
        sleep_on(s, timeout_ns < limit_ns ? timeout_ns : limit_ns);
    ncoll__shm_awake(s);
}

static void block(struct shm *s, struct window *w, const struct awaited *awaited, unsigned n,
                  int64_t timeout_ns)
{
    /* the rank looks at a neighbour's window; the sender of the message does not know that */
    bool looks = n == 1 && awaited->word != NULL;
    int64_t limit_ns = looks ? shm_sleep_anything_ns(s) : SLEEP_NS;

    if (n == 0) {
        block_for_anything(s, w, timeout_ns);
        return;
    }
    s->announced = false;
    if (ncoll__shm_fall_asleep(s, w, awaited, n))
        sleep_on(s, timeout_ns < limit_ns ? timeout_ns : limit_ns);
    ncoll__shm_awake(s);
}

bool ncoll__shm_wait(struct transport *t, struct window *w, const struct awaited *awaited,
                     unsigned n, unsigned round, int64_t timeout_ns)
{
    struct shm *s = (struct shm *)t;

    if (timeout_ns <= 0)
        return false;
    if (round < (s->config.ranks_per_core > 1 ? YIELDS_OVERSUBSCRIBED : YIELDS_ALONE)) {
        sched_yield();
        return false;
    }
    block(s, w, awaited, n, timeout_ns);
    return true;
}
