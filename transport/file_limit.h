/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of file sizes (ulimit -f), which holds for memory in files as well. */
#ifndef NCOLL_TRANSPORT_FILE_LIMIT_H
#define NCOLL_TRANSPORT_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* True if a file of so many bytes would exceed the limit. The kernel would then not only refuse it,
 * but end the process by a signal. */
static inline bool ncoll__file_is_too_long(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

#endif
