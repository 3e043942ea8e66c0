/* SPDX-License-Identifier: BSD-3-Clause */
/* A store for one blob per rank, in this process, until the next exchange. get() returns pointers
 * into this store. */
#ifndef NCOLL_BOOTSTRAP_KEEP_H
#define NCOLL_BOOTSTRAP_KEEP_H

#include <stdbool.h>
#include <stddef.h>

struct kept {
    unsigned char *bytes; /* NULL: no blob of this rank; else not NULL, even if len is 0 */
    size_t len;
    bool is_part; /* the bytes lie in one of keep.whole */
};

/* A block of memory that contains the blobs of several ranks. */
struct whole {
    unsigned char *bytes;
    size_t len;
};

struct keep {
    struct kept *blobs;  /* [ranks] the blob of each rank */
    int ranks, count;    /* count: number of ranks whose blob is kept */
    struct whole *whole; /* [n_whole] blocks, freed with the blobs */
    int n_whole;
};

/* Makes an empty store. Returns false if there is no memory. A zeroed keep is empty and may be
 * freed. */
bool ncoll__keep_init(struct keep *keep, int ranks);
void ncoll__keep_free(struct keep *keep);

/* Allocates the bytes of a blob, for ncoll__keep_adopt(). Returns NULL if there is no memory. */
unsigned char *ncoll__keep_allocate(size_t len);

/* Keeps `bytes`, which ncoll__keep_allocate() has returned, as the blob of `rank`, and owns them
 * from now on. There must be no blob of this rank yet. */
void ncoll__keep_adopt(struct keep *keep, int rank, unsigned char *bytes, size_t len);
/* Keeps a copy of a blob. Returns false if there is no memory. */
bool ncoll__keep_copy(struct keep *keep, int rank, const void *bytes, size_t len);

/* Takes over a block of memory, from malloc(), that contains blobs. Returns false if there is no
 * memory; the block is then still the caller's. */
bool ncoll__keep_whole(struct keep *keep, unsigned char *bytes, size_t len);
/* Keeps a blob that lies in a block given to ncoll__keep_whole(). There must be no blob of this
 * rank yet. */
void ncoll__keep_part(struct keep *keep, int rank, const unsigned char *bytes, size_t len);

void ncoll__keep_clear(struct keep *keep);

#endif
