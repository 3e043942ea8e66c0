/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RDMA devices of this machine, as JSON.
 */
#ifndef NCOLL_TOOLS_DEVICES_H
#define NCOLL_TOOLS_DEVICES_H

#include <jansson.h>

/* An object for each device, port and GID, with `chosen` true for the one that the verbs transport
 * would take now, and `why`. Empty if there is none, or this build has no verbs. */
json_t *devices_list(void);

/* The chosen one, or null. */
json_t *devices_chosen(void);

#endif
