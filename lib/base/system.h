/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocator and the clock of a context, and a way to wait for events that no transport
 * reports. */
#ifndef NCOLL_LIB_BASE_SYSTEM_H
#define NCOLL_LIB_BASE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

struct ncoll_context;

/* Returns zeroed memory; NULL: there is none. */
void *ncoll__allocate(struct ncoll_context *ctx, size_t bytes);
void ncoll__release(struct ncoll_context *ctx, void *memory);
uint64_t ncoll__now_ns(struct ncoll_context *ctx);

/* Waits for a short time, longer with each call, up to a millisecond. *times is zero at first. */
void ncoll__backoff(unsigned *times);

#endif
