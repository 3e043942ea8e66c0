/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reference is the right result of a reduction, found serially in rank order, one element at a
 * time and in wider arithmetic than the library's kernels: 128-bit integers, long double.
 *
 * Floating-point sums and products round, so there a result is right within a bound: both sides
 * round ranks - 1 times, each time by at most half an ulp of a partial result, and no partial
 * result exceeds the sum (product) of the magnitudes. Everything else must be equal bit by bit.
 */
#ifndef NCOLL_TEST_REFERENCE_H
#define NCOLL_TEST_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "ncoll.h"
#include "test/support/seed.h"

/* An operation on a type. */
struct operation {
    const char *name;
    ncoll_type type;                  /* 0: the user's own, until it is created */
    size_t size;                      /* of an element */
    ncoll_op op;                      /* built in; 0: user-defined */
    const ncoll_op_def *def;          /* user-defined */
    uint64_t (*value)(uint64_t bits); /* user-defined: what a random word becomes; NULL: itself */
    bool rounds;
};

struct reference {
    const struct operation *operation;
    size_t count;
    unsigned ranks;                 /* added so far */
    unsigned char *exact;           /* [count] elements, unless it rounds */
    long double *value, *magnitude; /* [count], or two for a complex number, if it rounds */
    bool lent;                      /* the memory is not its own */
};

/* Every built-in operation on every type it is defined for. Returns how many there are; fills in at
 * most capacity. */
unsigned reference_operations(struct operation *out, unsigned capacity);

void reference_open(struct reference *ref, const struct operation *operation, size_t count);
void reference_close(struct reference *ref);
/* In memory that is lent to it, of reference_bytes(). */
void reference_open_in(struct reference *ref, const struct operation *operation, size_t count,
                       void *memory);
size_t reference_bytes(const struct operation *operation, size_t count);
/* Returns the part of a reference for some of its elements: what is added to it is in the whole. */
struct reference reference_part(const struct reference *whole, size_t first, size_t count);
/* Adds the next rank's vector. */
void reference_add(struct reference *ref, const void *vector);
/* The first element of result that is wrong; count if none is. */
size_t reference_wrong(const struct reference *ref, const void *result);

/*
 * Fills a vector with values that tell this operation's results apart: zeros and ones for the
 * logical ones, NaNs and signed zeros for floating-point minima, magnitudes that round for sums.
 * These are `count` elements from `first` on.
 */
void reference_values(const struct operation *operation, void *vector, size_t first, size_t count,
                      struct random random);

#endif
