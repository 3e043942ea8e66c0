/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to the root of a tcp bootstrap that a test makes by hand, frame by frame. */
#ifndef NCOLL_TEST_BOOTSTRAP_VISITOR_H
#define NCOLL_TEST_BOOTSTRAP_VISITOR_H

#include "bootstrap/tcp_link.h"
#include "bootstrap_ranks.h"

/* A socket that is connected to the port of the root at 127.0.0.1; tries again until one listens. */
int visitor_connect(const struct side *side);

/* Waits for a frame, for at most 10 s. False: none comes, or the connection is closed. The body is
 * the caller's. */
bool visitor_hears(struct tcp_link *link, struct tcp_frame *frame, unsigned char **body);

/* Joins as the side's rank. spoil (or NULL) may change what is sent: the frame and its body. */
typedef void (*visitor_spoil)(struct side *side, struct tcp_frame *frame, unsigned char *body);
bool visitor_joins(struct side *side, struct tcp_link *link, visitor_spoil spoil);

#endif
