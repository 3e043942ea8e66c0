/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices are examined once a node: to open all of them takes each rank long, and the ranks of a node
 * get in each other's way in the driver. The leader of a node, its first rank, does it, and leaves
 * what it finds in a segment that its mates read. Only the first exchange tells which rank the leader
 * is; so each rank has made a segment before.
 *
 * None of this can fail a rank. If a rank gets nothing from its leader, it examines the devices
 * itself, and reports itself what is wrong with them.
 */
#ifndef NCOLL_LIB_JOB_DEVICES_H
#define NCOLL_LIB_JOB_DEVICES_H

#include "transport/shm/segment.h"

struct ncoll_context;

struct examination {
    struct segment segment;     /* of this rank; none: it could not be made, or is not needed */
    struct segment_name leader; /* that of the leader of the node; bytes 0: none */
    int leader_rank;            /* -1: not known yet */
    struct blob found;          /* nothing: each rank examines the devices itself */
};

/* Makes a segment, if devices may be needed. Returns its name, all 0 if there is none. */
struct segment_name ncoll__examination_open(struct ncoll_context *ctx, struct examination *x);
/* Gets `found` from the leader; the leader finds it, and leaves it for its mates. ops: of the
 * transport that will be opened. */
void ncoll__examination_make(struct ncoll_context *ctx, const struct transport_ops *ops,
                             struct examination *x);
/* Called when all ranks have opened their transports, or this rank has failed. */
void ncoll__examination_close(struct examination *x);

#endif
