/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA devices of this machine, as JSON.
 */
#ifndef NCOLL_TOOLS_DEVICES_H
#define NCOLL_TOOLS_DEVICES_H

#include <jansson.h>

/* Returns an object for each device, port and GID. `chosen` is true for the one that the verbs
 * transport would use now, and `why` has the reason. The array is empty if there is no device, or
 * if this build has no verbs. */
json_t *devices_list(void);

/* Returns the object of the chosen device, or null. */
json_t *devices_chosen(void);

#endif
