/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the memory of a peer's process, and checks that this is still the process that connected.
 * Every read begins with the nonce of the peer's board, of which the peer keeps a copy in its own
 * memory. So no data is taken from another process that has got the same number, or from another
 * program in the same process.
 */
#include <errno.h>
#include <sys/uio.h>

#include "transport/shm/shm.h"

int ncoll__shm_read_peer(const struct shm_peer *peer, void *to, const void *at, size_t len_bytes)
{
    uint64_t identity = 0;

    for (size_t done = 0;;) {
        struct iovec here[] = {{&identity, sizeof identity}, {(char *)to + done, len_bytes - done}};
        struct iovec there[] = {{(void *)(uintptr_t)peer->identity, sizeof identity},
                                {(char *)(uintptr_t)at + done, len_bytes - done}};
        ssize_t n = process_vm_readv(peer->process.pid, here, 2, there, 2, 0);
        if (n < 0) /* nothing was read, not even the nonce */
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

int ncoll__shm_identify(const struct shm_peer *peer)
{
    return ncoll__shm_read_peer(peer, NULL, NULL, 0);
}
