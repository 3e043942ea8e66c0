/* SPDX-License-Identifier: BSD-3-Clause */
/* The reason why a job cannot start. Rank 0 keeps it, and tells it to the ranks that have come. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bootstrap/tcp_root.h"

/* Returns the reason in `what`; JOB_REFUSED if `what` is a bare status. */
static ncoll_reason reason_of(int what)
{
    return what == (int)because_status(what) ? NCOLL_REASON_JOB_REFUSED : because_reason(what);
}

void ncoll__tcp_refuse(struct root *root, int what, int rank, const char *cause, ...)
{
    va_list args;

    if (root->join.refusal.status != 0)
        return;
    root->join.refusal.status = because_status(what);
    root->join.refusal.reason = reason_of(what);
    root->join.refusal.rank = rank;
    va_start(args, cause);
    vsnprintf(root->join.refusal.cause, sizeof root->join.refusal.cause, cause, args);
    va_end(args);
}

void ncoll__tcp_send_refusal(struct tcp_link *link, int what, int rank, const char *cause)
{
    const struct tcp_frame frame = {
        .type = TCP_REFUSED,
        .how = (unsigned)-because_status(what),
        .rank = rank,
        .len = (uint32_t)strlen(cause),
        .number = (uint64_t)reason_of(what),
    };

    if (link->fd < 0 || !ncoll__tcp_link_idle(link))
        return;
    ncoll__tcp_link_send(link, &frame, cause);
    ncoll__tcp_link_flush(link);
}
