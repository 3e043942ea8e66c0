/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of collectives and operations. */
#ifndef NCOLL_LIB_NAMES_H
#define NCOLL_LIB_NAMES_H

#include <stdbool.h>

#include "algos/schedule.h"
#include "ncoll.h"

/* Returns a name such as "allreduce"; NULL for an unknown number. */
const char *ncoll__collective_name(enum collective collective);

/* Returns true if the operation exists for some type. */
bool ncoll__op_known(ncoll_op op);

/* Returns a name such as "sum"; "user-defined" from OP_USER on; "unknown" otherwise. */
const char *ncoll__op_name(unsigned op);

#endif
