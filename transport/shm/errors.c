/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors that explain why memory cannot be shared. */
#include <errno.h>
#include <string.h>

#include "transport/shm/shm.h"

int ncoll__shm_no_memory(const struct shm *s, const char *what, size_t bytes, int error)
{
    return ncoll__segment_failed(&s->config.events, what, bytes, error);
}

int ncoll__shm_cannot_map(struct shm *s, int rank, const struct segment_name *name, int error)
{
    const struct transport_events *e = &s->config.events;

    switch (error) {
    case ESRCH:
    case ENOENT:
        if (ncoll__process_is_hidden(name->pid))
            return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_REFUSED), rank,
                           "run all ranks as the same user, with core dumps allowed "
                           "(PR_SET_DUMPABLE), mount /proc without hidepid, or set "
                           "NCOLL_TRANSPORT=verbs",
                           "rank %d (process %d) runs, but is hidden in /proc, through which ranks "
                           "share memory",
                           rank, (int)name->pid);
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), rank,
                       "see what that rank printed before it ended", "rank %d (process %d) is gone",
                       rank, (int)name->pid);
    case EMFILE:
    case ENFILE:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS), rank,
                       "raise the limit: ulimit -n 4096",
                       "no file descriptor left to connect rank %d: %s", rank, strerror(error));
    case ENOMEM:
        return e->fail(e->arg, NCOLL_ERR_MEMORY, rank,
                       "raise what this process may map (sysctl vm.max_map_count, ulimit -v), or "
                       "use fewer ranks on the node",
                       "no memory to map %llu bytes of rank %d", (unsigned long long)name->bytes,
                       rank);
    case ESTALE:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_PEER, PEER_DIED), rank,
                       "make sure that all ranks are started anew, and see the same /proc",
                       "file %d of process %d is not the memory that rank %d offered",
                       (int)name->fd, (int)name->pid, rank);
    case EACCES:
    case EPERM:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_REFUSED), rank,
                       "run all ranks as the same user, with core dumps allowed (PR_SET_DUMPABLE), "
                       "or set NCOLL_TRANSPORT=verbs",
                       "may not map the memory of rank %d (process %d): %s", rank, (int)name->pid,
                       strerror(error));
    default:
        return e->fail(e->arg, BECAUSE(NCOLL_ERR_SYSTEM, SYSTEM_CALL), rank, NULL,
                       "cannot map the memory of rank %d (process %d): %s", rank, (int)name->pid,
                       strerror(error));
    }
}
