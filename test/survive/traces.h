/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks for things that the library may leave behind on a machine. */
#ifndef NCOLL_TEST_TRACES_H
#define NCOLL_TEST_TRACES_H

#include <stdbool.h>

struct traces {
    int files;       /* in /dev/shm */
    int held;        /* the library's memory, in this process or any */
    int sysv;        /* lines in /proc/sysvipc */
    long shared_kib; /* on the machine */
};

/* Counts links of /proc/<pid>/fd and lines of /proc/<pid>/maps that name the library's memory, and pipes
 * and sockets besides the standard streams, so that a bell or a device's channel would count. */
int traces_held(const char *pid, bool everything);

/* alone: nothing else goes on on the machine, so all of it is looked at. */
struct traces traces_look(bool alone);
/* Says in words what is there that was not there before; NULL: nothing. */
const char *traces_left(const struct traces *before, bool alone);

#endif
