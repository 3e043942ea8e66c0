/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of elements. */
#ifndef NCOLL_LIB_TYPE_H
#define NCOLL_LIB_TYPE_H

#include <stdbool.h>

#include "ncoll.h"

#define TYPES_END (NCOLL_DOUBLE_INT64 + 1)
#define OPS_END   (NCOLL_SUM_REPRODUCIBLE + 1)

#define TYPE_USER 32u  /* the first number that ncoll_type_create() gives */
#define TYPES_MAX 200u /* types that a context can create: all numbers fit in 8 bits */

/* Returns true if arithmetic on the type may round: for floating-point numbers, alone or in pairs,
 * and for all types that the user has created. */
bool ncoll__type_is_float(ncoll_type type);

/* Returns a name such as "int64"; "user-defined" from TYPE_USER on; "unknown" otherwise. */
const char *ncoll__type_name(unsigned type);

/* Returns advice for a user who used an operation that is not defined for the type. */
const char *ncoll__type_advice(ncoll_type type);

#endif
