/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Static probes (USDT) of provider "ncoll", which bpftrace, perf and gdb find in the library. A
 * probe is one no-op instruction, and an ELF note that says where its arguments are. So arguments
 * should be in registers, or in memory at an address that is in a register anyway. ncoll.7
 * describes the probes.
 */
#ifndef NCOLL_LIB_RUN_PROBES_H
#define NCOLL_LIB_RUN_PROBES_H

#ifdef NCOLL_HAVE_SDT
#include <sys/sdt.h>
#define PROBE4(...) STAP_PROBE4(ncoll, __VA_ARGS__)
#define PROBE6(...) STAP_PROBE6(ncoll, __VA_ARGS__)
#define PROBE7(...) STAP_PROBE7(ncoll, __VA_ARGS__)
#else
#define PROBE4(...) ((void)0)
#define PROBE6(...) ((void)0)
#define PROBE7(...) ((void)0)
#endif

/* The begin and the end of a call of the user's. args: the user's arguments; bytes: the greater
 * length of IN and OUT. */
#define PROBE_CALL_BEGIN(g, c, args, bytes)                                                        \
    PROBE7(call_begin, c, (args)->collective, bytes, (args)->root, (g)->name, (g)->rank, (g)->size)
#define PROBE_CALL_END(g, c, collective, status)                                                   \
    PROBE6(call_end, c, collective, status, (g)->name, (g)->rank, (g)->size)

/* The begin and the end of a wait for a call, of the user's or of the library's, which had not
 * ended when the rank first looked. status: that of the call, or NCOLL_TIMEOUT. */
#define PROBE_WAIT_BEGIN(g, c)       PROBE4(wait_begin, c, (c)->args.collective, (g)->name, (g)->rank)
#define PROBE_WAIT_END(g, c, status) PROBE4(wait_end, c, status, (g)->name, (g)->rank)

/* The peers of a call have been connected. */
#define PROBE_WIRED(g, c, peers) PROBE4(wired, c, peers, (g)->name, (g)->rank)

#endif
