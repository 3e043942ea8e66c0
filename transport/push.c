/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/push.h"

/* The first FIRST copies use ordinary and streaming stores in turn. Later one copy in TRY_AGAIN
 * uses the kind that is not in use, to measure its cost again. */
#define FIRST     8u
#define TRY_AGAIN 128u
/* Streaming stores are used where ordinary ones take more than this many times as long. */
#define RATIO 6u

#define SCALE 16u /* costs in struct push are in 1/16 of a tick */
/* If a copy takes longer than the noted cost, the cost rises by an eighth of the difference, at
 * most by an eighth of itself: the rank may have lost its core during the copy. The cost falls at
 * once. */
#define RISE 8u

bool ncoll__push_streams(const struct push *p)
{
    if (p->copies < FIRST)
        return p->copies % 2 != 0;
    bool streams = p->cached / RATIO > p->streamed;
    return streams != (p->copies % TRY_AGAIN == 0);
}

void ncoll__push_note(struct push *p, bool streamed, uint64_t ticks, size_t len_bytes)
{
    uint32_t *cost = streamed ? &p->streamed : &p->cached;
    uint64_t now = ticks * SCALE * 1024 / len_bytes + 1;

    p->copies++;
    if (*cost == 0)
        *cost = now < UINT32_MAX / 4 ? (uint32_t)now : UINT32_MAX / 4;
    else if (now <= *cost)
        *cost = (uint32_t)now;
    else
        *cost += (uint32_t)((now < 2 * (uint64_t)*cost ? now - *cost : *cost) / RISE) + 1;
}

static void copy_cached(bool moves_strings, unsigned char *to, const unsigned char *from,
                        size_t len_bytes)
{
    if (moves_strings)
        ncoll__move_string(to, from, len_bytes);
    else
        memcpy(to, from, len_bytes);
}

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#include <emmintrin.h>
#include <x86intrin.h>

#define LINE 64u

/* Copies with streaming stores of whole cache lines, except for the first and the last one. */
static void copy_streaming(unsigned char *to, const unsigned char *from, size_t len_bytes)
{
    size_t head = -(uintptr_t)to % LINE;

    memcpy(to, from, head);
    to += head, from += head, len_bytes -= head;
    for (; len_bytes >= LINE; to += LINE, from += LINE, len_bytes -= LINE) {
        __m128i *line = (__m128i *)(void *)to;
        const __m128i *source = (const __m128i *)(const void *)from;
        __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(line, a);
        _mm_stream_si128(line + 1, b);
        _mm_stream_si128(line + 2, c);
        _mm_stream_si128(line + 3, d);
    }
    memcpy(to, from, len_bytes);
    _mm_sfence(); /* other stores may overtake streaming ones */
}

void ncoll__push(struct pushes *p, bool moves_strings, unsigned char *to, const unsigned char *from,
                 size_t len_bytes)
{
    struct push *push = push_for(p, len_bytes);
    bool streams = ncoll__push_streams(push);
    uint64_t since = __rdtsc();

    if (streams)
        copy_streaming(to, from, len_bytes);
    else
        copy_cached(moves_strings, to, from, len_bytes);
    ncoll__push_note(push, streams, __rdtsc() - since, len_bytes);
}
#else
void ncoll__push(struct pushes *p, bool moves_strings, unsigned char *to, const unsigned char *from,
                 size_t len_bytes)
{
    (void)p;
    copy_cached(moves_strings, to, from, len_bytes);
}
#endif
