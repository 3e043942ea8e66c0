/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective once, on a group of any size, with results that each rank can check serially. */
#ifndef NCOLL_TEST_SIM_EVERY_H
#define NCOLL_TEST_SIM_EVERY_H

#include "ncoll.h"

/* Makes all calls and checks them. Calls with a root have the rank `root`. Returns NULL, or the name
 * of the first call whose result is wrong or that has failed. */
const char *every_call(ncoll_group *group, int root);

/* Frees what calls on groups of all sizes have in common. */
void every_free(void);

#endif
