/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: memory of one rank that chosen processes can map.
 *
 * A segment is a memfd, so it has no name in any file system and is gone with the last process that
 * has it, however that ends. A peer reaches it as /proc/<pid>/fd/<fd> of the owner, which the
 * kernel allows to the same user only. It is sealed against change of size: no peer can make the
 * others fault by cutting it off.
 *
 * Ranks that are threads of one process use the owner's mapping instead of a second one, so that a
 * race detector, which knows addresses, sees them share it. Those users are counted, and the last
 * one unmaps.
 */
#ifndef NCOLL_TRANSPORT_SHM_SEGMENT_H
#define NCOLL_TRANSPORT_SHM_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* How a peer finds a segment. Travels in descriptions and offers. */
struct segment_name {
    int32_t pid, fd; /* of the owner */
    uint64_t bytes;
    uint64_t nonce; /* in the header too: an fd that was reused is seen */
};

/* At the start of every segment; what the owner keeps in it follows. */
struct segment_header {
    uint64_t magic, nonce;
    struct segment_header *owner_base; /* where the owner has it; for the owner's process only */
    _Atomic uint32_t local_users;      /* mappings' users in the owner's process */
    _Atomic uint32_t revoked;          /* the owner needs it no more */
};

struct segment {
    struct segment_header *base;
    size_t bytes;
    uint64_t nonce;
    int fd;     /* the owner keeps it open for its peers; -1 at a peer */
    bool local; /* counted in local_users */
    bool huge;  /* of huge pages that are set aside for it (hugetlb) */
};

/* A zeroed segment of this process. 0 or -errno. */
int ncoll__segment_create(struct segment *s, size_t bytes, uint64_t nonce);
/*
 * The same for the user's data: in huge pages, if these are wanted and can be had without growing
 * by more than a quarter, and touched by this process, so that it lies near the cores that it runs
 * on now, whoever writes there first. Any lack of huge pages is found here, and no error: nobody
 * gets a SIGBUS later.
 */
int ncoll__segment_create_for_user(struct segment *s, size_t bytes, uint64_t nonce,
                                   bool huge_pages);
/* Touches memory of a segment; best effort. */
void ncoll__segment_touch(void *base, size_t bytes);
/* Reports why one could not be made: which limit, and how to raise it. */
int ncoll__segment_failed(const struct transport_events *events, const char *what, size_t bytes,
                          int error);

struct segment_name ncoll__segment_name(const struct segment *s);

/* Whether this process finds its own segment where its peers will look for it. */
bool ncoll__segment_is_visible(const struct segment *s);

/* Maps a segment of another rank. 0 or -errno; -ESTALE: what is found there is something else. */
int ncoll__segment_attach(struct segment *s, const struct segment_name *name);

/* Copies bytes that lie `at` in a segment of another rank, which is not mapped for it. The same. */
int ncoll__segment_read(const struct segment_name *name, uint64_t at, void *to, size_t bytes);

/* For the owner: says that it is of no more use, and gives back what lies behind the first `keep`
 * bytes, which no one may look at again, however many have it mapped. */
void ncoll__segment_revoke(struct segment *s, size_t keep);

/* For the owner and for peers; a zeroed segment is ignored. */
void ncoll__segment_release(struct segment *s);

#endif
