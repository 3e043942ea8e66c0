/* SPDX-License-Identifier: BSD-3-Clause */
/* Keeps one blob per rank in this process until the next exchange; get() returns pointers into
 * it. */
#ifndef NCOLL_BOOTSTRAP_KEEP_H
#define NCOLL_BOOTSTRAP_KEEP_H

#include <stdbool.h>
#include <stddef.h>

struct kept {
    unsigned char *bytes; /* NULL: no blob of this rank; else not NULL, even if len is 0 */
    size_t len;
    bool is_part; /* it lies in one of `whole` */
};

/* Memory in which several blobs lie. */
struct whole {
    unsigned char *bytes;
    size_t len;
};

struct keep {
    struct kept *blobs;  /* [ranks] */
    int ranks, count;    /* count: number of ranks whose blob is kept */
    struct whole *whole; /* freed with the blobs */
    int n_whole;
};

/* Returns false if there is no memory. A zeroed keep is empty and may be freed. */
bool ncoll__keep_init(struct keep *keep, int ranks);
void ncoll__keep_free(struct keep *keep);

/* Allocates a blob of len bytes, for adopt(). Returns NULL if there is no memory. */
unsigned char *ncoll__keep_allocate(size_t len);

/* Takes over the bytes. There must be no blob of this rank yet. */
void ncoll__keep_adopt(struct keep *keep, int rank, unsigned char *bytes, size_t len);
/* Keeps a copy of a blob. Returns false if there is no memory. */
bool ncoll__keep_copy(struct keep *keep, int rank, const void *bytes, size_t len);

/* Takes over memory in which blobs lie. Returns false if there is no memory. */
bool ncoll__keep_whole(struct keep *keep, unsigned char *bytes, size_t len);
/* Keeps a blob that lies in such memory. There must be no blob of this rank yet. */
void ncoll__keep_part(struct keep *keep, int rank, const unsigned char *bytes, size_t len);

void ncoll__keep_clear(struct keep *keep);

#endif
