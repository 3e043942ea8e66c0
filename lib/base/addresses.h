/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The addresses of all ranks, as their transports describe them. A rank needs few of them, but does
 * not know in advance which. The addresses of the ranks of a node differ in little more than the
 * number of the process, and all addresses of a job have parts in common. So the table stores of
 * each address only the words that differ from those of the previous rank. Each 16th address is
 * stored in full; a look-up begins there.
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
    uint32_t *starts;  /* offset in `bytes` of each 16th address */
    int count;         /* number of addresses in the table */
    uint32_t *one;     /* the address that was added or looked up last */
    size_t words, len; /* capacity of `one` in words; bytes of the address in it */
};

/* Adds the address of the next rank, beginning with rank 0. All addresses must be added before the
 * first look-up. Returns false if there is no memory. */
bool ncoll__address_add(struct ncoll_context *ctx, const void *address, size_t len);
/* Returns the address of a rank, valid until the next look-up, and sets *len to its bytes. NULL:
 * the rank has no address, or an empty one. */
const void *ncoll__address_of(struct ncoll_context *ctx, int rank, size_t *len);
void ncoll__addresses_free(struct ncoll_context *ctx);

#endif
