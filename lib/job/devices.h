/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices are examined once a node: opening all of them takes long, and ranks of a node that do so
 * at the same time delay each other in the driver. The leader of a node, its first rank, examines
 * the devices, and leaves the result in a segment of shared memory that its mates read. Only the
 * first exchange tells which rank the leader is; so each rank makes a segment before that exchange.
 *
 * A failure here does not make a rank fail: a rank that gets nothing from its leader examines the
 * devices itself, and reports itself what is wrong with them.
 */
#ifndef NCOLL_LIB_JOB_DEVICES_H
#define NCOLL_LIB_JOB_DEVICES_H

#include "transport/shm/segment.h"

struct ncoll_context;

struct examination {
    /* segment of this rank; base NULL: it could not be made, or is not needed */
    struct segment segment;
    /* name of the segment of the leader; bytes 0: the leader has none */
    struct segment_name leader;
    int leader_rank;   /* rank of the leader; -1: not known yet */
    struct blob found; /* what the leader has found; empty: this rank examines the devices itself */
};

/* Makes the segment of this rank, if devices may be needed. Returns its name, all 0 if there is
 * none. */
struct segment_name ncoll__examination_open(struct ncoll_context *ctx, struct examination *x);
/* Fills in `found`: the leader examines the devices, and leaves the result to its mates; the mates
 * wait for it. ops: those of the transport that will be opened. */
void ncoll__examination_make(struct ncoll_context *ctx, const struct transport_ops *ops,
                             struct examination *x);
/* Frees an examination. Called when all ranks have opened their transports, or this rank has
 * failed. */
void ncoll__examination_close(struct examination *x);

#endif
