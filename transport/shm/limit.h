/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TRANSPORT_SHM_LIMIT_H
#define NCOLL_TRANSPORT_SHM_LIMIT_H

#include <stdint.h>

/* Returns the most memory in bytes that this process can ever have: the least of the machine's
 * memory with its swap space, the limits of the process's control groups, and its limit of address
 * space (RLIMIT_AS). */
uint64_t ncoll__memory_limit(void);

#endif
