/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of all ranks, as their transports describe them. Few of them are ever needed, but
 * which is not known before. Ranks of a node differ in little more than their process, and all ranks
 * of a job have something in common, so of an address there are only the words that differ from
 * those of the rank before. Each 16th is whole, and is where the search begins.
 */
#ifndef NCOLL_LIB_ADDRESSES_H
#define NCOLL_LIB_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ncoll_context;

struct addresses {
    unsigned char *bytes;
    size_t used, room;
    uint32_t *starts;  /* where each 16th begins */
    int count;         /* ranks whose addresses are here */
    uint32_t *one;     /* the address that was added or found last */
    size_t words, len; /* room in `one`; bytes of that address */
};

/* Adds the address of the next rank; the first one is rank 0. All are added before one is asked for.
 * Returns false if there is no memory. */
bool ncoll__address_add(struct ncoll_context *ctx, const void *address, size_t len);
/* Returns the address of a rank, and its length. It is valid until the next one is asked for. NULL:
 * it has no bytes. */
const void *ncoll__address_of(struct ncoll_context *ctx, int rank, size_t *len);
void ncoll__addresses_free(struct ncoll_context *ctx);

#endif
