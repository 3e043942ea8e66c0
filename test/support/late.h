/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shm transport of a context, made to send as a network card does: what is put is read some
 * time later, inside progress(), and long puts may come from memory only that the transport knows.
 * A put from anywhere else ends the process. For one context of a process at a time.
 */
#ifndef NCOLL_TEST_LATE_H
#define NCOLL_TEST_LATE_H

#include <stdbool.h>

#include "ncoll.h"

/* Returns the parameters that ranks of a test are started with, given the name of a transport,
 * NULL: as the library chooses. "late" is shm, to be made late. Messages of all lengths are sent
 * from known memory. */
ncoll_params late_params(const char *transport, bool *is_late);

/* Right after the context was created. */
void late_install(ncoll_context *ctx, uint64_t seed);

#endif
