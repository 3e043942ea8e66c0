/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bell: a pipe that wakes a rank which sleeps on descriptors, since poll() cannot wait for a
 * futex. With shm+verbs a rank sleeps on its bell and on the channel of its device. With shm a rank
 * has a bell only if its program sleeps in an event loop of its own (ncoll_context_fd()); peers
 * open the bell when they first wake the rank.
 *
 * Peers open the pipe by its name in /proc, as they map the memory of the rank: a system that
 * permits one also permits the other, in containers as well. An eventfd cannot be opened in this
 * way; to pass one on, every rank would need a socket to each peer before anybody sleeps. A FIFO
 * needs a directory to write to, and an abstract socket a common network namespace, which processes
 * that share memory need not have.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transport/shm/shm.h"

uint32_t ncoll__shm_bell_inode(const struct shm *s)
{
    struct stat stat;

    return s->bell[1] >= 0 && fstat(s->bell[1], &stat) == 0 ? (uint32_t)stat.st_ino : 0;
}

int ncoll__shm_make_bell(struct shm *s)
{
    return pipe2(s->bell, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : -errno;
}

void ncoll__shm_empty_bell(struct shm *s)
{
    char rung[64];

    while (read(s->bell[0], rung, sizeof rung) == sizeof rung)
        ;
}

/* Opens the pipe for reading, too: otherwise a write after its reader has ended would end this
 * process (SIGPIPE). */
int ncoll__shm_open_bell(struct shm_peer *peer, int fd, uint32_t inode)
{
    char path[64];
    struct stat stat_of;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)peer->board_name.pid, fd);
    if (stat(path, &stat_of) != 0)
        return -errno;
    if (!S_ISFIFO(stat_of.st_mode) || (uint32_t)stat_of.st_ino != inode)
        return -ESTALE;
    peer->bell = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return peer->bell < 0 ? -errno : 0;
}

/* Opens the bell that the peer's board names. If no descriptor is left, it closes s->spare to get
 * one; then *lent becomes true. */
static void find_bell(struct shm_peer *peer, bool *lent)
{
    struct shm *s = peer->owner;
    uint64_t bell = atomic_load(&peer->board->bell);
    int fd = (int)(uint32_t)bell;
    uint32_t inode = (uint32_t)(bell >> 32);

    int rc = ncoll__shm_open_bell(peer, fd, inode);
    if ((rc != -EMFILE && rc != -ENFILE) || s->spare < 0)
        return;
    close(s->spare);
    s->spare = -1;
    *lent = ncoll__shm_open_bell(peer, fd, inode) == 0;
    if (!*lent)
        s->spare = fcntl(s->board_segment.fd, F_DUPFD_CLOEXEC, 0);
}

/* If the bell cannot be opened now, this is tried again with the next message. A timer of lib/
 * wakes the peer after some time in any case. */
void ncoll__shm_ring(struct shm_peer *peer, uint32_t sleeps_for)
{
    struct shm *s = peer->owner;
    bool lent = false;

    if (peer->bell < 0)
        find_bell(peer, &lent);
    if (peer->bell < 0)
        return;
    if (atomic_compare_exchange_strong(&peer->board->sleeps_for, &sleeps_for, AWAKE_FENCED) &&
        write(peer->bell, "", 1) < 0) {
        /* If the pipe is full, it is readable, so the rank that sleeps on it wakes up. */
    }
    if (!lent)
        return;
    close(peer->bell);
    peer->bell = -1;
    s->spare = fcntl(s->board_segment.fd, F_DUPFD_CLOEXEC, 0);
}
