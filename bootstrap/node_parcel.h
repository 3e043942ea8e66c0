/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A parcel has the blobs that all ranks of a node publish. They differ little from each other, so the
 * parcel has of each blob only the words (4 bytes) that differ from the blob before:
 *
 *     rank 4 | len 4 | for each 32 words: which differ 4 | these words
 *
 * in the byte order of the machine, like the blobs themselves. The first blob is compared with
 * zeros. The last word of a blob is filled up with zeros.
 */
#ifndef NCOLL_BOOTSTRAP_NODE_PARCEL_H
#define NCOLL_BOOTSTRAP_NODE_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

/* The blob before. A zeroed structure is empty. */
struct last_blob {
    uint32_t *words;
    size_t n, room;
};

void ncoll__last_blob_free(struct last_blob *last);

/* Appends a blob. parcel->failed: there was no memory. */
void ncoll__node_parcel_add(struct blob *parcel, struct last_blob *last, int rank,
                            const void *bytes, size_t len);

struct parcel_reader {
    const unsigned char *bytes; /* the parcel */
    size_t len, at;
    struct last_blob last;
};

enum parcel_end { PARCEL_BLOB, PARCEL_END, PARCEL_WRONG, PARCEL_NO_MEMORY };

/* Reads the next blob. It is valid until the next call. PARCEL_WRONG: these are not the bytes of a
 * parcel. */
enum parcel_end ncoll__node_parcel_next(struct parcel_reader *reader, int *rank, const void **bytes,
                                        size_t *len);

#endif
