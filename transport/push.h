/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long messages to memory that another core reads.
 *
 * The receiver has read an earlier message in the same memory, so the cache lines are in the cache
 * of its core. The cost of a store to such a line depends on where that core is. Two cores that
 * share a cache pass a line on in some nanoseconds. Other cores take 27 ns for each line, one line
 * after the other, with ordinary stores and with string moves: 64 KiB take 1.5 to 27 us. Streaming
 * (non-temporal) stores take the lines from the other core without waiting for them, and leave the
 * data in memory: 1.4 us, wherever the core is. But then the receiver reads the data from memory.
 *
 * So the sender measures the time of ordinary and of streaming copies, for each receiver and each
 * power of two of bytes. It cannot see how long the receiver's reads take. It uses streaming stores
 * only where they take less than a sixth of the time, so that the receiver does not lose what the
 * sender gains. That is the case for cores that share no cache. Now and then the sender tries the
 * other kind of copy, since ranks, or the cores of a virtual machine, may be moved.
 */
#ifndef NCOLL_TRANSPORT_PUSH_H
#define NCOLL_TRANSPORT_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/copy.h"

/* The measured costs of copies to one receiver, for lengths from one power of two to the next. All
 * 0 at first. */
struct push {
    /* ordinary and streaming copies: ticks of the time-stamp counter for a KiB, times 16; 0: not
     * known */
    uint32_t cached, streamed;
    unsigned copies; /* number of copies so far */
};

#define PUSH_SIZES 12u /* number of powers of two, from STRING_BYTES on */

struct pushes {
    struct push by_size[PUSH_SIZES];
};

static inline struct push *push_for(struct pushes *p, size_t len_bytes)
{
    unsigned size = (unsigned)(__builtin_clzll(STRING_BYTES) - __builtin_clzll(len_bytes));

    return &p->by_size[size < PUSH_SIZES ? size : PUSH_SIZES - 1];
}

/* Returns true if the next copy is to use streaming stores. */
bool ncoll__push_streams(const struct push *p);

/* Notes the time that a copy of len_bytes has taken, in ticks of the time-stamp counter. */
void ncoll__push_note(struct push *p, bool streamed, uint64_t ticks, size_t len_bytes);

/* Copies len_bytes, at least STRING_BYTES, to memory that another core reads. The buffers do not
 * overlap. The bytes are visible before anything that the caller stores later. moves_strings: the
 * result of ncoll__moves_strings() */
void ncoll__push(struct pushes *p, bool moves_strings, unsigned char *to, const unsigned char *from,
                 size_t len_bytes);

#endif
