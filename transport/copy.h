/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of long messages between cores.
 *
 * The destination lies in the cache of another core, which has read the previous message there.
 * Ordinary stores fetch each cache line from there before they write into it. A string move writes
 * whole lines and takes them over without their contents, which is faster where moving a line
 * between cores is expensive. What memcpy() does depends on the C library: glibc 2.36 uses string
 * moves on processors on which 2.41 does not.
 */
#ifndef NCOLL_TRANSPORT_COPY_H
#define NCOLL_TRANSPORT_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The shortest copy for which a string move is worth the time that it takes to start. */
#define STRING_BYTES 2048u

#if defined __x86_64__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#include <cpuid.h>

/* True if the processor has fast string moves (ERMS). Callers keep the result: in a virtual machine
 * the hypervisor emulates the CPUID instruction, which takes long. */
static inline bool ncoll__moves_strings(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 9 & 1) != 0;
}

/* Copies with a string move. Except for the first and the last one, it writes whole cache lines.
 * The buffers do not overlap. */
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
