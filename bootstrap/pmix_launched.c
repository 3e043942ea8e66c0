/* SPDX-License-Identifier: BSD-3-Clause */
/* This function has a file of its own, so that a library built without PMIx can still tell the user
 * that PMIx support is missing. */
#include <stdlib.h>

#include "bootstrap/bootstrap.h"

int ncoll__pmix_launched(void)
{
    return getenv("PMIX_RANK") != NULL && getenv("PMIX_NAMESPACE") != NULL;
}
