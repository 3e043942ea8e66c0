/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined operations of all kinds that make a difference to an algorithm. */
#ifndef NCOLL_TEST_USER_OPS_H
#define NCOLL_TEST_USER_OPS_H

#include "test/support/reference.h"

#define USER_OPS 8

/* op is left 0, and so is the type if it is the user's own, too: user_ops_register() gives the
 * numbers that a context knows them by. */
extern const struct operation user_ops[USER_OPS];

/* An operation, as a context knows it. */
struct user_op {
    ncoll_op op;
    ncoll_type type;
};

int user_ops_register(ncoll_context *ctx, struct user_op numbers[USER_OPS]);

#endif
