/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of vectors of every type, loaded and stored one at a time in wider types. */
#ifndef NCOLL_TEST_ELEMENT_H
#define NCOLL_TEST_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "ncoll.h"

typedef __int128 wide;

enum element_kind { ELEMENT_INTEGER, ELEMENT_FLOAT, ELEMENT_COMPLEX, ELEMENT_PAIR, ELEMENT_USER };
enum element_kind element_kind(ncoll_type type);

/* Returns the type of a complex number's parts, or of a pair's value; of others, the type
 * itself. */
ncoll_type element_part(ncoll_type type);
/* Arithmetic on it rounds: a float or a complex number. */
bool element_rounds(ncoll_type type);
/* Twice the greatest relative error of rounding to a floating-point type. */
long double element_epsilon(ncoll_type type);

/* Integers; storing keeps the low bits, whatever the sign. */
wide load_integer(ncoll_type type, const void *vector, size_t i);
void store_integer(ncoll_type type, void *vector, size_t i, wide value);

/* Floats; storing rounds to the nearest, ties to even, and NaNs become the canonical one. */
long double load_float(ncoll_type type, const void *vector, size_t i);
void store_float(ncoll_type type, void *vector, size_t i, long double value);

/* Pairs. */
struct pair {
    wide integer;        /* the value, if it is an integer */
    long double floated; /* the value, if it is a float */
    int64_t index;
};
struct pair load_pair(ncoll_type type, const void *vector, size_t i);
void store_pair(ncoll_type type, void *vector, size_t i, struct pair pair);

#endif
