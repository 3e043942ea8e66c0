/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of calls: the operation and the bytes that follow from them, and the arguments of the
 * library's own calls. */
#ifndef NCOLL_LIB_PLAN_ARGUMENTS_H
#define NCOLL_LIB_PLAN_ARGUMENTS_H

#include "lib/base/group.h"
#include "lib/compute/op.h"

/* Fills in *out with the operation `op` on elements of this type. Returns NCOLL_OK, or
 * NCOLL_ERR_ARGUMENT with the error recorded. */
int ncoll__op_resolve(struct ncoll_context *ctx, ncoll_op op, ncoll_type type, struct op *out);

/* Returns the bytes that one element of the call has in messages. */
size_t ncoll__element_bytes(const struct ncoll_context *ctx, const struct call_args *args);
/* Returns the bytes from the start of IN to its end, on a rank that has IN. */
size_t ncoll__in_bytes(struct ncoll_group *g, const struct call_args *args);

/* Returns the arguments of one of the library's own calls, which uses the base peers only. Its
 * messages carry `purpose` as their signature. */
struct call_args ncoll__base_call(enum collective collective, const void *in, void *out,
                                  size_t words, struct signature purpose);

#endif
