/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of file sizes (ulimit -f). It also holds for files in memory (memfd). */
#ifndef NCOLL_TRANSPORT_FILE_LIMIT_H
#define NCOLL_TRANSPORT_FILE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

/* True if a file of `bytes` bytes would exceed the limit. An attempt to make it would then not just
 * fail: the kernel would end the process by a signal (SIGXFSZ). */
static inline bool ncoll__file_is_too_long(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           bytes > limit.rlim_cur;
}

#endif
