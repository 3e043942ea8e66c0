/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in operations: what is defined for which type, and what the rest may rely on. */
#ifndef NCOLL_LIB_OP_H
#define NCOLL_LIB_OP_H

#include <stdbool.h>

#include "lib/compute/type.h"
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

/* Whether there is such an operation on any type. */
bool ncoll__op_known(ncoll_op op);

/* "sum"; "user-defined" from OP_USER on; "unknown" otherwise. */
const char *ncoll__op_name(unsigned op);

#endif
