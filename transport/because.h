/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An error has a status and a reason, which is more precise. Functions that record an error take
 * both packed into one int, `what`: BECAUSE(NCOLL_ERR_RESOURCE, NO_DESCRIPTORS). A bare status is
 * enough if it has only one reason: NCOLL_ERR_ARGUMENT, NCOLL_ERR_MEMORY, NCOLL_ERR_INTERNAL.
 * test/floors/reasons.py checks all calls of these functions.
 */
#ifndef NCOLL_TRANSPORT_BECAUSE_H
#define NCOLL_TRANSPORT_BECAUSE_H

#include "ncoll.h"

#define BECAUSE(status, reason) BECAUSE_OF(status, NCOLL_REASON_##reason)
/* Does the same as BECAUSE() for a reason or a status that is known only at run time. */
#define BECAUSE_OF(status, reason) ((int)(reason)*256 + 128 - (int)(status))

static inline ncoll_status because_status(int what)
{
    return (ncoll_status)(what < 256 ? what : 128 - what % 256);
}

/* Returns the reason in `what`; if `what` is a bare status, the usual reason of that status. */
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
