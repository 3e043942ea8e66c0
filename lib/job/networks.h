/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The networks of a job. A node may be on several networks, and not all nodes on the same ones. So
 * ranks tell each other the networks of their nodes, before any of them chooses a port
 * (transport/verbs/network.h).
 */
#ifndef NCOLL_LIB_JOB_NETWORKS_H
#define NCOLL_LIB_JOB_NETWORKS_H

#include "lib/job/devices.h"
#include "transport/transport.h"

/* Exchanges the networks of the nodes; collective in a job on several nodes. Sets config->networks,
 * which the caller releases. ops: those of the transport that will be opened. Returns NCOLL_OK or
 * an error. */
int ncoll__networks_share(struct ncoll_context *ctx, const struct transport_ops *ops,
                          const struct examination *x, struct transport_config *config);

#endif
