/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reason of an error, beside its status. Functions that record an error take both in one number,
 * `what`: BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS). A bare status will do if there is just one
 * reason for it: NCOLL_ERR_ARGUMENT, NCOLL_ERR_MEMORY, NCOLL_ERR_INTERNAL. A test looks at all places.
 */
#ifndef NCOLL_TRANSPORT_BECAUSE_H
#define NCOLL_TRANSPORT_BECAUSE_H

#include "ncoll.h"

#define BECAUSE(status, reason) BECAUSE_OF(status, NCOLL_REASON_##reason)
/* As BECAUSE(), for a reason or a status that is known only at run time. */
#define BECAUSE_OF(status, reason) ((int)(reason)*256 + 128 - (int)(status))

static inline ncoll_status because_status(int what)
{
    return (ncoll_status)(what < 256 ? what : 128 - what % 256);
}

/* Returns the reason; the usual one if none was given. */
static inline ncoll_reason because_reason(int what)
{
    if (what >= 256)
        return (ncoll_reason)(what / 256);
    switch (what) {
    case NCOLL_ERR_ARGUMENT:
        return NCOLL_REASON_BAD_ARGUMENT;
    case NCOLL_ERR_HANDLE:
        return NCOLL_REASON_BAD_HANDLE;
    case NCOLL_ERR_MEMORY:
        return NCOLL_REASON_OUT_OF_MEMORY;
    case NCOLL_ERR_INTERNAL:
        return NCOLL_REASON_BUG;
    case NCOLL_ERR_CODEC:
        return NCOLL_REASON_CODEC_FAILED;
    default:
        return what < 0 ? NCOLL_REASON_OTHER : NCOLL_REASON_NONE;
    }
}

#endif
