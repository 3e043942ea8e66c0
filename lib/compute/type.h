/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of elements. */
#ifndef NCOLL_LIB_TYPE_H
#define NCOLL_LIB_TYPE_H

#include <stdbool.h>

#include "ncoll.h"

#define TYPE_USER 32u  /* the first number that ncoll_type_create() gives */
#define TYPES_MAX 200u /* types that a context can create: all numbers fit in 8 bits */

/* Sizes of the types that a context has created, from TYPE_USER on. */
struct type_table {
    size_t *sizes; /* [TYPES_MAX]; NULL: none so far */
    unsigned count;
};

/* Whether arithmetic on it rounds, or may: floating-point numbers, alone or in pairs, and whatever
 * a user's type holds. */
bool ncoll__type_is_float(ncoll_type type);

/* "int64"; "user-defined" from TYPE_USER on; "unknown" otherwise. */
const char *ncoll__type_name(unsigned type);

/* What to say to somebody who used an operation that is not defined for the type. */
const char *ncoll__type_advice(ncoll_type type);

#endif
