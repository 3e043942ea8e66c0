/* SPDX-License-Identifier: BSD-3-Clause */
/* The built-in operations: the types that they are defined for, and their algebraic properties. */
#ifndef NCOLL_LIB_OP_H
#define NCOLL_LIB_OP_H

#include <stdbool.h>

#include "lib/base/names.h"
#include "lib/base/type.h"
#include "ncoll.h"

/* The properties of an operation on a type. */
struct op {
    ncoll_op_fn combine;
    ncoll_op_fn inverse; /* NULL: none */
    void *arg;
    bool commutative;
    bool idempotent;
    bool exact; /* the result does not depend on the order of the operands */
};

/* Finds a built-in operation; returns false if it is unknown or not defined for the type. */
bool ncoll__op_builtin(ncoll_op op, ncoll_type type, struct op *out);

#endif
