/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges of the bootstrap, and the stages of joining: join.c, hello.c, meet.c, context.c. */
#ifndef NCOLL_LIB_JOIN_H
#define NCOLL_LIB_JOIN_H

#include <stddef.h>

#include "lib/base/startup.h"
#include "ncoll.h"

struct ncoll_context;

/* Counts the time from now on for a stage of creation. Returns the stage before it. */
enum startup_stage ncoll__begin_stage(struct ncoll_context *ctx, enum startup_stage stage);

/* Makes one exchange, and waits for it. Returns NCOLL_OK or an error. */
int ncoll__exchange(struct ncoll_context *ctx, const void *blob, size_t len);
/* Publishes the recorded error of this rank in the next exchange, if there is one, in place of
 * data. Returns the status of that error, which stays recorded. */
int ncoll__exchange_failure(struct ncoll_context *ctx);
/* Begins to fetch what several ranks have published in the last exchange, so that the time does not
 * grow with their number. */
void ncoll__ask(struct ncoll_context *ctx, const int *ranks, unsigned n);
/* Gets what a rank has published in the last exchange. Waits at most as long as the bootstrap
 * allows. NCOLL_ERR_PEER: that rank failed. */
int ncoll__get(struct ncoll_context *ctx, int rank, const void **blob, size_t *len);

/* Finds the places of all ranks, and who examines the devices of this node. Returns NCOLL_OK, or an
 * error if ranks have different settings. */
struct examination;
int ncoll__learn_places(struct ncoll_context *ctx, struct examination *x);

/* Tells ranks that are threads that this one has failed before it could join. */
void ncoll__miss(const ncoll_params *params);
/* Opens bootstrap and transport, and learns the place of each rank. */
int ncoll__join(struct ncoll_context *ctx, const ncoll_params *params);
/* Makes the world group, and connects its base peers. */
int ncoll__meet(struct ncoll_context *ctx);
void ncoll__leave(struct ncoll_context *ctx);
/* exchange.c: reports that ranks did not come in time. Returns NCOLL_ERR_BOOTSTRAP. */
int ncoll__nobody_came(struct ncoll_context *ctx);

#endif
