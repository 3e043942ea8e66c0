/* SPDX-License-Identifier: BSD-3-Clause */
/* The check of arguments. */
#ifndef NCOLL_LIB_API_CHECK_H
#define NCOLL_LIB_API_CHECK_H

#include "lib/base/group.h"

/* Checks the arguments. Returns NCOLL_OK or an error, which is recorded. */
int ncoll__check_args(struct ncoll_group *g, const struct call_args *args);

#endif
