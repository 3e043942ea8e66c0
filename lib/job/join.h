/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of the bootstrap, and the stages of joining: join.c, hello.c, meet.c, context.c. */
#ifndef NCOLL_LIB_JOIN_H
#define NCOLL_LIB_JOIN_H

#include <stddef.h>

#include "lib/base/startup.h"
#include "ncoll.h"

struct ncoll_context;

/* Begins a stage of creation: from now on time counts for this stage. Returns the stage before. */
enum startup_stage ncoll__begin_stage(struct ncoll_context *ctx, enum startup_stage stage);

/* Makes one exchange, and waits for it. Returns NCOLL_OK or an error. */
int ncoll__exchange(struct ncoll_context *ctx, const void *blob, size_t len);
/* Publishes the recorded error of this rank in the next exchange, if there is one, in place of
 * data. Returns the status of that error, which stays recorded. */
int ncoll__exchange_failure(struct ncoll_context *ctx);
/* Begins to fetch what these ranks have published in the last exchange, so that the time for
 * several ncoll__get() does not grow with their number. */
void ncoll__ask(struct ncoll_context *ctx, const int *ranks, unsigned n);
/* Gets what a rank has published in the last exchange. Waits at most as long as the bootstrap
 * allows. NCOLL_ERR_PEER: that rank failed. */
int ncoll__get(struct ncoll_context *ctx, int rank, const void **blob, size_t *len);

/* Learns the node and the cores of every rank, and which rank examines the devices of this node.
 * Returns NCOLL_OK, or an error, such as settings that differ between ranks. */
struct examination;
int ncoll__learn_places(struct ncoll_context *ctx, struct examination *x);

/* If the ranks are threads: tells the others that this one has failed before it could join. */
void ncoll__miss(const ncoll_params *params);
/* Opens bootstrap and transport, and learns the node, cores and address of each rank. Returns
 * NCOLL_OK or an error. */
int ncoll__join(struct ncoll_context *ctx, const ncoll_params *params);
/* Makes the world group, and connects its base peers. */
int ncoll__meet(struct ncoll_context *ctx);
void ncoll__leave(struct ncoll_context *ctx);
/* exchange.c: records the error that some ranks did not come in time. Returns
 * NCOLL_ERR_BOOTSTRAP. */
int ncoll__nobody_came(struct ncoll_context *ctx);

#endif
