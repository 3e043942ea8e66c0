/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the heaviest elements of a vector, and packs them.
 *
 * Packed elements lie side by side in the order of the vector. A message of a bcast also has the set
 * of them, 8-byte aligned behind the elements: one bit for each element of the vector, or the number
 * of each chosen element, in 4 or 8 bytes, whichever is shorter.
 */
#ifndef NCOLL_LIB_RUN_HEAVIEST_H
#define NCOLL_LIB_RUN_HEAVIEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ncoll_context;

struct heaviest {
    size_t count;     /* elements of the vector */
    size_t element;   /* bytes of an element */
    size_t chosen;    /* number of elements to choose */
    bool lists;       /* the message has the set */
    uint64_t *set;    /* bits of the chosen elements */
    void *in, *out;   /* packed; in == out in a bcast */
    size_t len_bytes; /* of each */
};

/* Allocates memory for the set and for packed elements. Returns false if there is none. */
bool ncoll__heaviest_take(struct ncoll_context *ctx, struct heaviest *h);
void ncoll__heaviest_give(struct ncoll_context *ctx, struct heaviest *h);

/* Returns the length of the packed elements and, if the message lists them, of the set. */
size_t ncoll__heaviest_bytes(const struct heaviest *h);

/* Chooses the elements of the greatest weights, of equal ones the first, among those that are not in
 * (bytes that are not 0; NULL: none are in). There are enough of them. */
void ncoll__heaviest_choose(struct heaviest *h, const double *weights, const uint8_t *in);

/* Packs the chosen elements of a vector into h->in, with their set if the message lists them. */
void ncoll__heaviest_pack(struct heaviest *h, const void *vector);
/* Puts the elements that are in h->out back to their places; with a listed set, takes that from
 * h->out first. */
void ncoll__heaviest_unpack(struct heaviest *h, void *vector);
/* Takes the set from a message. */
void ncoll__heaviest_read_set(struct heaviest *h);
/* Marks the chosen elements by 1. */
void ncoll__heaviest_mark(const struct heaviest *h, uint8_t *marks);

#endif
