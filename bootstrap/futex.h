/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeps until a word of memory changes, and wakes those that sleep. The word may be in memory that
 * several processes have mapped. */
#ifndef NCOLL_BOOTSTRAP_FUTEX_H
#define NCOLL_BOOTSTRAP_FUTEX_H

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Wakes all threads that sleep on a word. To be called after the word has changed. */
static inline void ncoll__futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Sleeps until the word differs from `seen`, but at most for ns nanoseconds. */
static inline void ncoll__futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
    struct timespec timeout = {.tv_sec = (time_t)(ns / 1000000000u),
                               .tv_nsec = (long)(ns % 1000000000u)};

    syscall(SYS_futex, word, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

#endif
