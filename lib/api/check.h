/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of arguments. */
#ifndef NCOLL_LIB_API_CHECK_H
#define NCOLL_LIB_API_CHECK_H

#include "lib/base/group.h"

/* Checks the arguments of a collective. Returns NCOLL_OK or an error, which is recorded. */
int ncoll__check_args(struct ncoll_group *g, const struct call_args *args);
/* Checks that two buffers of this many bytes are the same, or do not overlap; and that they are not
 * NULL unless bytes is 0. Returns NCOLL_OK or NCOLL_ERR_ARGUMENT. */
int ncoll__check_apart(struct ncoll_group *g, const void *in, const void *out, size_t bytes);
/* Returns NCOLL_OK, or NCOLL_ERR_ARGUMENT if the time-out is negative. */
int ncoll__check_timeout(struct ncoll_group *g, int64_t timeout_ns);

#endif
