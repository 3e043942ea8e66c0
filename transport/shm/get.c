/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gets, for single copies: this rank copies a message from memory of a peer that it cannot map. It
 * uses process_vm_readv(), or memcpy() if the peer is a thread of this process.
 *
 * If the user wants single copies, each rank tries once for each peer, when it connects, to read
 * the peer's memory, and tells the peer if the kernel allows this. The peer sends no message as a
 * single copy before it knows the result.
 */
#include <errno.h>
#include <string.h>

#include "transport/shm/shm.h"

void ncoll__shm_try_single_copy(struct shm *s, struct shm_peer *peer)
{
    const struct transport_events *e = &s->config.events;
    bool tries = s->config.single_copies && peer->process.pid != 0;
    int error = tries ? -ncoll__shm_identify(peer) : 0;

    if (error != 0 && !s->refused) {
        s->refused = true;
        e->log(
            e->arg, NCOLL_LOG_INFO,
            "shm: rank %d may not read the memory of rank %d (process_vm_readv: %s), so that long "
            "messages are copied twice; sysctl kernel.yama.ptrace_scope=0, or a seccomp profile "
            "that allows it, would help",
            s->config.rank, peer->endpoint.rank, strerror(error));
    }
    atomic_store_explicit(&peer->board->boxes[s->config.rank].single_copy,
                          s->config.single_copies && error == 0 ? SINGLE_COPY_ALLOWED
                                                                : SINGLE_COPY_REFUSED,
                          memory_order_release);
}

enum single_copy ncoll__shm_single_copy(struct transport *t, const struct endpoint *to)
{
    const struct shm *s = (const struct shm *)t;

    return (enum single_copy)atomic_load_explicit(&s->board->boxes[to->rank].single_copy,
                                                  memory_order_acquire);
}

/* Tells the sender that its message was read. Release: the reads come before anything that the
 * sender writes to this memory next. As in a put, this rank checks if the sender sleeps: see
 * sleep.c. */
static void tell(struct shm_peer *from, struct window *w, uint64_t epoch, unsigned slot)
{
    _Atomic uint64_t *word = &w->got[slot_index(epoch, slot)];
    uint32_t sleeps_for;

    if (!from->fenced) {
        atomic_store_explicit(word, epoch, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        sleeps_for = atomic_load_explicit(&from->board->sleeps_for, memory_order_relaxed);
        if (sleeps_for != 0)
            sleeps_for = ncoll__shm_look_again(from);
    } else {
        atomic_store(word, epoch);
        sleeps_for = atomic_load(&from->board->sleeps_for);
    }
    if (sleeps_for_anything(sleeps_for) || sleeps_for == SLEEPS_FOR_NEAR)
        ncoll__shm_wake(from, sleeps_for);
}

int ncoll__shm_get(struct transport *t, struct endpoint *from, struct window *w, uint64_t epoch,
                   unsigned slot, size_t len_bytes, void *to)
{
    struct shm *s = (struct shm *)t;
    struct shm_peer *peer = (struct shm_peer *)from;
    const void *at = /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        (const void *)(uintptr_t)window_slot(w, epoch, slot)->source.words[3];
    int error = 0;

    if (peer->identity == NULL) /* the peer left before it was connected */
        error = ESRCH;
    else if (peer->process.pid == 0)
        memcpy(to, at, len_bytes);
    else
        error = -ncoll__shm_read_peer(peer, to, at, len_bytes);
    if (error == EFAULT)
        return NCOLL_ERR_ARGUMENT;
    if (error == ESRCH) {
        s->next_look_ns = s->next_program_ns = 0; /* check now: the peer may have told a reason */
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
