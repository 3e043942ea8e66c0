/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for events that no transport reports, with sleeps that grow longer. */
#include <sched.h>
#include <time.h>

#include "lib/base/system.h"

void ncoll__backoff(unsigned *times)
{
    if ((*times)++ < 20) {
        sched_yield();
        return;
    }
    unsigned doublings = *times / 20 < 6 ? *times / 20 : 6;
    struct timespec nap = {.tv_nsec = 15625 << doublings};
    nanosleep(&nap, NULL);
}
