/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges of the bootstrap, for those who join a job: join.c, hello.c, meet.c, context.c. */
#ifndef NCOLL_LIB_JOIN_H
#define NCOLL_LIB_JOIN_H

#include <stddef.h>

struct ncoll_context;

/* One exchange, waited for. NCOLL_OK or an error. */
int ncoll__exchange(struct ncoll_context *ctx, const void *blob, size_t len);
/* This rank cannot go on, and has recorded why: it says so in the next exchange, if one may come,
 * in the place of what it would publish. Returns the status that was recorded, and still is. */
int ncoll__exchange_failure(struct ncoll_context *ctx);
/* What a rank has published in the last one, waited for; the bootstrap says for how long at most.
 * NCOLL_ERR_PEER if that is a failure, which names whose it is. */
int ncoll__get(struct ncoll_context *ctx, int rank, const void **blob, size_t *len);

/* Where every rank is. NCOLL_OK, or the error that ranks differ in what they want. */
int ncoll__learn_places(struct ncoll_context *ctx);

#endif
