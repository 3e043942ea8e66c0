/* SPDX-License-Identifier: BSD-3-Clause */
/* Apart from pmix.c, so that a library built without PMIx can still tell what it lacks. */
#include <stdlib.h>

#include "bootstrap/bootstrap.h"

int ncoll__pmix_launched(void)
{
    return getenv("PMIX_RANK") != NULL && getenv("PMIX_NAMESPACE") != NULL;
}
