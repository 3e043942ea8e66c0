/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the heaviest elements of a vector, and packs them.
 *
 * Packed elements lie side by side in the order of the vector. A message of a bcast also says which
 * elements they are. This set begins at the next multiple of 8 bytes behind the elements. It is one
 * bit for each element of the vector, or the index of each chosen element in 4 or 8 bytes,
 * whichever is shorter.
 */
#ifndef NCOLL_LIB_RUN_HEAVIEST_H
#define NCOLL_LIB_RUN_HEAVIEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ncoll_context;

struct heaviest {
    size_t count;     /* number of elements of the vector */
    size_t element;   /* bytes of an element */
    size_t chosen;    /* number of elements to choose */
    bool lists;       /* the message has the set, as in a bcast */
    uint64_t *set;    /* one bit for each element: 1 if it is chosen */
    void *in, *out;   /* packed elements to send, and to receive; the same memory in a bcast */
    size_t len_bytes; /* bytes of `in`, and of `out` */
};

/* Allocates memory for the set and for packed elements. Returns false if there is no memory. */
bool ncoll__heaviest_take(struct ncoll_context *ctx, struct heaviest *h);
void ncoll__heaviest_give(struct ncoll_context *ctx, struct heaviest *h);

/* Returns the length of the packed elements and, if the message lists them, of the set. */
size_t ncoll__heaviest_bytes(const struct heaviest *h);

/* Chooses the h->chosen elements with the greatest weights; of equal weights the first ones. in[i]
 * != 0: element i was delivered by earlier calls, and is not chosen; in NULL: none was. At least
 * h->chosen other elements must be there. */
void ncoll__heaviest_choose(struct heaviest *h, const double *weights, const uint8_t *in);

/* Packs the chosen elements of a vector into h->in, with their set if the message lists them. */
void ncoll__heaviest_pack(struct heaviest *h, const void *vector);
/* Copies the packed elements in h->out to their places in a vector, by h->set. If the message lists
 * the set, call ncoll__heaviest_read_set() first. */
void ncoll__heaviest_unpack(struct heaviest *h, void *vector);
/* Reads h->set from the message in h->out. */
void ncoll__heaviest_read_set(struct heaviest *h);
/* Sets marks[i] to 1 for each chosen element i. */
void ncoll__heaviest_mark(const struct heaviest *h, uint8_t *marks);

#endif
