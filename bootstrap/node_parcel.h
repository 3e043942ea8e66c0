/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A parcel contains the blobs that the ranks of a node publish. They differ little from each other,
 * so for each blob the parcel has only those words (of 4 bytes) that differ from the blob before
 * it:
 *
 *     rank 4 | len 4 | for each 32 words: mask of those that differ 4 | these words
 *
 * where the numbers are lengths in bytes. The byte order is that of the machine, as it is in the
 * blobs themselves. The first blob is compared with zeros. The last word of a blob is filled up
 * with zeros.
 */
#ifndef NCOLL_BOOTSTRAP_NODE_PARCEL_H
#define NCOLL_BOOTSTRAP_NODE_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* The blob before the current one in a parcel, with which that is compared. A zeroed structure is
 * empty. */
struct last_blob {
    uint32_t *words;
    size_t n, room;
};

void ncoll__last_blob_free(struct last_blob *last);

/* Appends the blob of a rank to a parcel. Sets parcel->failed if there is no memory, or if the blob
 * is too long. */
void ncoll__node_parcel_add(struct blob *parcel, struct last_blob *last, int rank,
                            const void *bytes, size_t len);

struct parcel_reader {
    const unsigned char *bytes; /* the parcel */
    size_t len, at;
    struct last_blob last;
};

enum parcel_end { PARCEL_BLOB, PARCEL_END, PARCEL_WRONG, PARCEL_NO_MEMORY };

/* Reads the next blob of a parcel, which is valid until the next call. PARCEL_END: there is none;
 * PARCEL_WRONG: these are not the bytes of a parcel. */
enum parcel_end ncoll__node_parcel_next(struct parcel_reader *reader, int *rank, const void **bytes,
                                        size_t *len);

#endif
