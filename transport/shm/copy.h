/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TRANSPORT_SHM_COPY_H
#define NCOLL_TRANSPORT_SHM_COPY_H

#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * Copies into memory that another core has read and will read next. Ordinary stores would fetch
 * each line from that core's cache first, one round trip for each: 2 GB/s between two cores that
 * share no cache. Stores past the caches need not know what was there: 10 GB/s. `to` is aligned to
 * a line. What was stored is seen by whoever acquires a flag that is released afterwards.
 */
static inline void ncoll__copy_across(unsigned char *to, const unsigned char *from,
                                      size_t len_bytes)
{
#ifdef __SSE2__
    size_t at = 0;

    for (; at + 64 <= len_bytes; at += 64) {
        const __m128i *src = (const __m128i *)(const void *)(from + at);
        __m128i *dst = (__m128i *)(void *)(to + at);
        __m128i a = _mm_loadu_si128(src), b = _mm_loadu_si128(src + 1);
        __m128i c = _mm_loadu_si128(src + 2), d = _mm_loadu_si128(src + 3);
        _mm_stream_si128(dst, a);
        _mm_stream_si128(dst + 1, b);
        _mm_stream_si128(dst + 2, c);
        _mm_stream_si128(dst + 3, d);
    }
    memcpy(to + at, from + at, len_bytes - at);
    _mm_sfence(); /* a release orders ordinary stores only */
#else
    memcpy(to, from, len_bytes);
#endif
}

#endif
