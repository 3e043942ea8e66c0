/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long calls of short data take, by a model like LogP: rounds * latency + messages * overhead,
 * with what the transport says that these cost.
 */
#ifndef NCOLL_LIB_ESTIMATE_H
#define NCOLL_LIB_ESTIMATE_H

#include "lib/plan/plan.h"

struct ncoll_context;

/* What it costs to hand the core to another rank. */
#define SWITCH_NS 1500.0
/* What a message in shared memory costs its receiver, beyond the sender's part, where ranks share a
 * core: its line comes from another core's cache, and nothing else goes on meanwhile. */
#define LINE_NS 100.0
/* Each byte of a long block that is copied. */
#define COPY_BYTE_NS 0.1

/* What a message costs between any two ranks of the group, and between two of a node or domain. */
struct transport_cost ncoll__far_cost(const struct ncoll_group *g);
struct transport_cost ncoll__near_cost(const struct ncoll_group *g);

/* From a put to the end of the wait for it. */
double ncoll__wait_ns(const struct ncoll_context *ctx);

/* Nanoseconds of a call with the shape's radix. bytes: of a message, or of the
 * longest block. */
double ncoll__estimate_with(const struct ncoll_group *g, const struct algorithm *algorithm,
                            const struct shape *shape, size_t bytes);

/* The same by an algorithm that goes by the radix: the least over all radices that exist, -1 if
 * there is none; *best is that radix. */
double ncoll__estimate(const struct ncoll_group *g, const struct algorithm *algorithm,
                       struct shape shape, size_t bytes, unsigned *best);

#endif
