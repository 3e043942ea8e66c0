/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: memory of one rank that chosen processes can map.
 *
 * A segment is a memfd. So it has no name in any file system, and it is freed when the last process
 * that has it ends in any way. A peer opens it as /proc/<pid>/fd/<fd> of the owner, which the
 * kernel allows to the same user only. Its size is sealed, so no peer can make the others fault by
 * truncating it.
 *
 * Ranks that are threads of one process share the owner's mapping. So a race detector, which
 * compares addresses, sees that they use the same memory. The users of this mapping are counted,
 * and the last one unmaps it.
 */
#ifndef NCOLL_TRANSPORT_SHM_SEGMENT_H
#define NCOLL_TRANSPORT_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* The name by which a peer finds a segment; part of descriptions and offers. */
struct segment_name {
    int32_t pid, fd; /* process and file descriptor of the owner */
    uint64_t bytes;
    uint64_t nonce; /* also in the segment's header, so that a reused descriptor is detected */
};

/* The header of every segment; the owner's data follows. */
struct segment_header {
    uint64_t magic, nonce;
    struct segment_header *owner_base; /* address of the mapping in the owner's process */
    _Atomic uint32_t local_users;      /* users of the mapping in the owner's process */
    _Atomic uint32_t revoked;          /* 1: the owner does not need the segment any more */
};

struct segment {
    struct segment_header *base;
    size_t bytes;
    uint64_t nonce;
    int fd;     /* kept open by the owner for its peers; -1 at a peer */
    bool local; /* the owner's mapping is used, and this user is counted in local_users */
    bool huge;  /* it lies in huge pages that the system has set aside (hugetlb) */
};

/* Makes a zeroed segment of this process. Returns 0 or -errno. */
int ncoll__segment_create(struct segment *s, size_t bytes, uint64_t nonce);
/*
 * Makes a zeroed segment for the user's data. It lies in huge pages if the user wants them, and if
 * rounding up to whole ones adds no more than a quarter. This function touches the memory, so that
 * it lies near the cores on which the process runs now. It notices a lack of huge pages, and then
 * uses usual ones, so no rank gets a SIGBUS later.
 */
int ncoll__segment_create_for_user(struct segment *s, size_t bytes, uint64_t nonce,
                                   bool huge_pages);
/* Makes the system allocate the pages of memory now, if it has enough free memory. */
void ncoll__segment_touch(void *base, size_t bytes);
/* Records an error: why a segment for `what` could not be made, and how to raise the limit. Returns
 * the status. */
int ncoll__segment_failed(const struct transport_events *events, const char *what, size_t bytes,
                          int error);

struct segment_name ncoll__segment_name(const struct segment *s);

/* True if this process finds its own segment where its peers will look for it. */
bool ncoll__segment_is_visible(const struct segment *s);

/* True if the process of another rank still runs but has closed its segment, mostly by exec(). */
bool ncoll__segment_is_closed(const struct segment_name *name);

/* Maps a segment of another rank. Returns 0 or -errno; -ESTALE: the name leads to something other
 * than this segment. */
int ncoll__segment_attach(struct segment *s, const struct segment_name *name);

/* Copies bytes at offset `at` of a segment of another rank, without mapping it. Returns the same
 * values as ncoll__segment_attach(). */
int ncoll__segment_read(const struct segment_name *name, uint64_t at, void *to, size_t bytes);

/* Makes zeroed memory of this process in place of a segment of a rank that has left. Returns 0 or
 * -errno. */
int ncoll__segment_stand_in(struct segment *s, size_t bytes);

/* Called by the owner: marks the segment as unused, and gives back its memory after the first
 * `keep` bytes. No process may read that memory again, even if it has mapped it. */
void ncoll__segment_revoke(struct segment *s, size_t keep);

/* Releases a segment, at the owner or a peer. A zeroed structure is ignored. */
void ncoll__segment_release(struct segment *s);

#endif
