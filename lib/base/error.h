/* SPDX-License-Identifier: BSD-3-Clause */
/* Error records and the log. */
#ifndef NCOLL_LIB_BASE_ERROR_H
#define NCOLL_LIB_BASE_ERROR_H

#include "ncoll.h"
#include "transport/because.h"

struct ncoll_context;

/* Records an error on the context, and logs it. what: the status, together with the reason if
 * BECAUSE() is used (see because.h). remedy: NULL: the usual remedy for that status. Returns the
 * status. */
int ncoll__fail(struct ncoll_context *ctx, int what, int peer, const char *remedy,
                const char *cause, ...) __attribute__((format(printf, 5, 6)));
void ncoll__log(struct ncoll_context *ctx, ncoll_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
