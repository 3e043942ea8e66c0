/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parcels: the blobs of many ranks in the body of one frame, so that an exchange takes one frame
 * for each connection instead of one for each blob. A parcel is a sequence of entries:
 *
 *     rank 4 | len 4 | the blob, len bytes
 *
 * with little-endian numbers. Blobs that are too much for one parcel are sent in several.
 */
#ifndef NCOLL_BOOTSTRAP_TCP_PARCEL_H
#define NCOLL_BOOTSTRAP_TCP_PARCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bootstrap/keep.h"

#define TCP_ENTRY_HEAD 8
#define TCP_BLOB_MAX   (UINT32_C(64) << 20)
#define TCP_PARCEL_MAX (TCP_BLOB_MAX + TCP_ENTRY_HEAD)

struct parcel {
    unsigned char *bytes;
    size_t len;
};

struct parcels {
    struct parcel *list;
    int count;
};

/* Packs all blobs that are kept. Returns false if there is no memory; there are no parcels then. */
bool ncoll__parcels_pack(struct parcels *parcels, const struct keep *keep);
void ncoll__parcels_free(struct parcels *parcels);

/* A blob in a parcel. */
struct parcel_entry {
    uint32_t rank, len;
    const unsigned char *blob;
};

/* Reads the entry at offset *at and moves *at behind it. Returns false if there is none: then *at
 * is len if all bytes were entries, and less if the rest is not valid. */
bool ncoll__parcel_next(const unsigned char *bytes, size_t len, size_t *at,
                        struct parcel_entry *entry);

#endif
