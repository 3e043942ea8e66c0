/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long messages between cores.
 *
 * What is written lies in the cache of another core, which has read there what came before.
 * Ordinary stores fetch each line from there to write into it. A string move writes whole lines,
 * and takes them over without what they hold, which pays where lines are dear between cores. What
 * memcpy() does is up to the C library: glibc 2.36 moves strings on processors on which 2.41 does
 * not.
 */
#ifndef NCOLL_TRANSPORT_COPY_H
#define NCOLL_TRANSPORT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Shorter ones have been copied before a string move has begun. */
#define STRING_BYTES 2048u

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#include <cpuid.h>

/* Whether string moves are made for that (ERMS). Asks the processor, which a hypervisor may have to
 * answer for: once. */
static inline bool ncoll__moves_strings(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 9 & 1) != 0;
}

/* To whole lines, but for the first and the last. No overlap. */
static inline void ncoll__move_string(unsigned char *to, const unsigned char *from,
                                      size_t len_bytes)
{
    size_t head = -(uintptr_t)to % 64;

    memcpy(to, from, head);
    to += head, from += head, len_bytes -= head;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(len_bytes) : : "memory");
}
#else
static inline bool ncoll__moves_strings(void)
{
    return false;
}

static inline void ncoll__move_string(unsigned char *to, const unsigned char *from,
                                      size_t len_bytes)
{
    memcpy(to, from, len_bytes);
}
#endif

#endif
