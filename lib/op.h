/* SPDX-License-Identifier: BSD-3-Clause */
/* Types, operations and their kernels. */
#ifndef NCOLL_LIB_OP_H
#define NCOLL_LIB_OP_H

#include <stdbool.h>

#include "ncoll.h"

/* What the rest of the library must know of an operation on a type. */
struct op {
    ncoll_op_fn combine;
    ncoll_op_fn inverse; /* NULL: none */
    void *arg;
    bool commutative;
    bool idempotent;
    bool exact; /* the result does not depend on the order of the operands */
};

/* A built-in operation; false if the operation is unknown or not defined for the type. */
bool ncoll__op_builtin(ncoll_op op, ncoll_type type, struct op *out);

bool ncoll__type_is_float(ncoll_type type);

/* "int64", "sum"; "user-defined" from OP_USER on; "unknown" otherwise. */
const char *ncoll__type_name(unsigned type);
const char *ncoll__op_name(unsigned op);

#endif
