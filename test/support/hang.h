/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time limits of tests. A limit ends what hangs; it must not end what is slow because other work has
 * most of the machine. Limits are written as what is plenty on two quiet cores, and are multiplied
 * by HANG_FACTOR. Those of Meson's tests are multiplied in test/meson.build.
 */
#ifndef NCOLL_TEST_HANG_H
#define NCOLL_TEST_HANG_H

#include <unistd.h>

#define HANG_FACTOR 10

/* The process ends by SIGALRM if it is not done by then. 0: it never does. */
static inline void hang_after(unsigned seconds)
{
    alarm(seconds * HANG_FACTOR);
}

#endif
