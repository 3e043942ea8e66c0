/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long messages to memory that another core reads.
 *
 * The receiver has read an earlier message in the same memory, so its core has the cache lines. What
 * a store to them costs depends on where that core is. Two cores that share a cache pass a line on
 * in some nanoseconds, but others take 27 ns for each line, whether ordinary stores or string moves
 * ask for it, and one after the other: 64 KiB take 1.5 to 27 us. Streaming (non-temporal) stores
 * take the line from the other core without waiting for it, and leave the data in memory: 1.4 us,
 * wherever the core is. But then the receiver has to read the data from memory.
 *
 * So the sender measures how long it takes each way, for each receiver and power of two of bytes. It
 * cannot see what the receiver's reads take. It uses streaming stores where they take less than a
 * sixth of the time, so that the receiver does not lose what the sender gains: that is so for cores
 * that share no cache. Now and then it tries the other way, since ranks, or the cores of a virtual
 * machine, may be moved.
 */
#ifndef NCOLL_TRANSPORT_PUSH_H
#define NCOLL_TRANSPORT_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/copy.h"

/* The costs of copies to one receiver, for one power of two of bytes. All 0 at first. */
struct push {
    uint32_t cached, streamed; /* ticks for a KiB, in 1/16; 0: not known */
    unsigned copies;           /* so far */
};

#define PUSH_SIZES 12u /* powers of two, from STRING_BYTES on */

struct pushes {
    struct push by_size[PUSH_SIZES];
};

static inline struct push *push_for(struct pushes *p, size_t len_bytes)
{
    unsigned size = (unsigned)(__builtin_clzll(STRING_BYTES) - __builtin_clzll(len_bytes));

    return &p->by_size[size < PUSH_SIZES ? size : PUSH_SIZES - 1];
}

/* Returns true if the next copy is to be streamed. */
bool ncoll__push_streams(const struct push *p);

/* Notes what a copy has taken. */
void ncoll__push_note(struct push *p, bool streamed, uint64_t ticks, size_t len_bytes);

/* Copies at least STRING_BYTES to memory that another core reads. The buffers do not overlap. The
 * bytes are visible before anything that the caller stores later. moves_strings:
 * ncoll__moves_strings() */
void ncoll__push(struct pushes *p, bool moves_strings, unsigned char *to, const unsigned char *from,
                 size_t len_bytes);

#endif
