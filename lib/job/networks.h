/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Networks of a job. Its nodes may have several, and not all the same: the ranks tell each other
 * what their nodes have, before any of them chooses a port (transport/verbs/network.h).
 */
#ifndef NCOLL_LIB_JOB_NETWORKS_H
#define NCOLL_LIB_JOB_NETWORKS_H

#include "lib/job/devices.h"
#include "transport/transport.h"

/* Collective over a job on several nodes. Sets config->networks, which the caller releases. ops: of the
 * transport that will be opened. Returns NCOLL_OK or an error. */
int ncoll__networks_share(struct ncoll_context *ctx, const struct transport_ops *ops,
                          const struct examination *x, struct transport_config *config);

#endif
