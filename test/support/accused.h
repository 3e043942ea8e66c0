/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs that are correct: that the library does not say that ranks made different calls. */
#ifndef NCOLL_TEST_ACCUSED_H
#define NCOLL_TEST_ACCUSED_H

#include <stdbool.h>

#include "ncoll.h"

/* Has a context that is made with these parameters log warnings to standard error, and sets *accused
 * if one of them is that ranks called different collectives before they destroyed their contexts. */
void accused_watch(ncoll_params *params, bool *accused);

#endif
