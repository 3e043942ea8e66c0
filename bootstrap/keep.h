/* SPDX-License-Identifier: BSD-3-Clause */
/* One blob per rank, held in this process until the next exchange: what get() points into. */
#ifndef NCOLL_BOOTSTRAP_KEEP_H
#define NCOLL_BOOTSTRAP_KEEP_H

#include <stdbool.h>
#include <stddef.h>

struct kept {
    unsigned char *bytes; /* NULL: nothing kept for this rank; else at least one byte */
    size_t len;
};

struct keep {
    struct kept *blobs; /* [ranks] */
    int ranks, count;   /* count: ranks that something is kept for */
};

/* false: no memory. A zeroed keep is empty and may be freed. */
bool ncoll__keep_init(struct keep *keep, int ranks);
void ncoll__keep_free(struct keep *keep);

/* Memory for a blob of len bytes, for adopt(); NULL: no memory. */
unsigned char *ncoll__keep_allocate(size_t len);

/* Takes bytes over. Nothing may be kept for the rank yet. */
void ncoll__keep_adopt(struct keep *keep, int rank, unsigned char *bytes, size_t len);
/* The same with a copy; false: no memory. */
bool ncoll__keep_copy(struct keep *keep, int rank, const void *bytes, size_t len);

void ncoll__keep_clear(struct keep *keep);

#endif
