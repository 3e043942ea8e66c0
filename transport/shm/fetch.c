/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fetching: copies out of memory that a peer has not mapped for others, by process_vm_readv(), or,
 * of a thread of this process, as it is.
 *
 * Whether the kernel allows it, for this process and that one, is tried once, when they connect, if
 * the user wants it at all, and told to the peer, which lends nothing before it has heard. Every
 * read begins with the nonce of the peer's board, as that has it in its own memory: so nothing is
 * ever taken from another process that has come to its number.
 */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "transport/shm/shm.h"

/* 0 or -errno; -ESRCH: that process is not there any more. */
static int read_peer(const struct shm_peer *peer, void *to, const void *at, size_t len_bytes)
{
    uint64_t identity = 0;

    for (size_t done = 0;;) {
        struct iovec here[] = {{&identity, sizeof identity}, {(char *)to + done, len_bytes - done}};
        struct iovec there[] = {{(void *)(uintptr_t)peer->identity, sizeof identity},
                                {(char *)(uintptr_t)at + done, len_bytes - done}};
        ssize_t n = process_vm_readv(peer->process.pid, here, 2, there, 2, 0);
        if (n < 0) /* nothing, not even the nonce */
            return errno == EFAULT ? -ESRCH : -errno;
        if ((size_t)n < sizeof identity || identity != peer->board_segment.nonce)
            return -ESRCH;
        done += (size_t)n - sizeof identity;
        if (done == len_bytes)
            return 0;
        if ((size_t)n == sizeof identity)
            return -EFAULT;
    }
}

void ncoll__shm_try_fetching(struct shm *s, struct shm_peer *peer)
{
    const struct transport_events *e = &s->config.events;
    bool tries = s->config.fetches && peer->process.pid != 0;
    int error = tries ? -read_peer(peer, NULL, NULL, 0) : 0;

    if (error != 0 && !s->refused) {
        s->refused = true;
        e->log(
            e->arg, NCOLL_LOG_INFO,
            "shm: rank %d may not read the memory of rank %d (process_vm_readv: %s), so that long "
            "messages are copied twice; sysctl kernel.yama.ptrace_scope=0, or a seccomp profile "
            "that allows it, would help",
            s->config.rank, peer->endpoint.rank, strerror(error));
    }
    atomic_store_explicit(&peer->board->boxes[s->config.rank].lending,
                          s->config.fetches && error == 0 ? LENDING_ALLOWED : LENDING_REFUSED,
                          memory_order_release);
}

enum lending ncoll__shm_lending(struct transport *t, const struct endpoint *to)
{
    const struct shm *s = (const struct shm *)t;

    return (enum lending)atomic_load_explicit(&s->board->boxes[to->rank].lending,
                                              memory_order_acquire);
}

/* Release: the reads come before what the sender does in its memory next. As a put, it looks
 * whether the sender sleeps: see sleep.c. */
static void tell(struct shm_peer *from, struct window *w, uint64_t epoch, unsigned slot)
{
    _Atomic uint64_t *word = &w->fetched[slot_index(epoch, slot)];
    uint32_t sleeps_for;

    if (!from->fenced) {
        atomic_store_explicit(word, epoch, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        sleeps_for = atomic_load_explicit(&from->board->sleeps_for, memory_order_relaxed);
    } else {
        atomic_store(word, epoch);
        sleeps_for = atomic_load(&from->board->sleeps_for);
    }
    if (sleeps_for == SLEEPS_FOR_ANYTHING || sleeps_for == SLEEPS_FOR_NEAR)
        ncoll__shm_wake(from, sleeps_for);
}

int ncoll__shm_fetch(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                     unsigned slot, size_t len_bytes, void *to)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *peer = (struct shm_peer *)from;
    const void *at = /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        (const void *)(uintptr_t)window_slot(w, epoch, slot)->shown.words[3];
    int error = 0;

    if (peer->process.pid == 0)
        memcpy(to, at, len_bytes);
    else
        error = -read_peer(peer, to, at, len_bytes);
    if (error == EFAULT)
        return NCOLL_ERR_ARGUMENT;
    if (error == ESRCH) {
        s->next_look_ns = 0; /* it may have said why */
        ncoll__shm_check(t, from->rank);
        return NCOLL_ERR_PEER;
    }
    if (error != 0) {
        const struct segment_name name = {.pid = peer->process.pid};
        return ncoll__shm_cannot_map(s, from->rank, &name, error);
    }
    tell(peer, w, epoch, slot);
    return NCOLL_OK;
}
