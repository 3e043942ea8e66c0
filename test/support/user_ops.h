/* SPDX-License-Identifier: BSD-3-Clause */
/* User-defined operations of all kinds that make a difference to an algorithm. */
#ifndef NCOLL_TEST_USER_OPS_H
#define NCOLL_TEST_USER_OPS_H

#include "test/support/reference.h"

#define USER_OPS 6

/* op is left 0: user_ops_register() gives the numbers that a context knows them by. */
extern const struct operation user_ops[USER_OPS];

int user_ops_register(ncoll_context *ctx, ncoll_op numbers[USER_OPS]);

#endif
